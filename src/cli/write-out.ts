import { writeAtomically } from '../files.ts';
import { printAll, printTexts, safeText, say } from './print.ts';

interface Out {
  /** The file; standard output where none is named. */
  readonly output: string | undefined;
  /** A summary is for people, all else for programs. */
  readonly format: string;
}

/** Data into a file, said with its name, or on standard output where none is named. */
export async function writeOut({ output, format }: Out, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  if (output === undefined) return await (format === 'summary' ? printTexts(chunks) : printAll(chunks));
  await writeAtomically(output, chunks);
  say(`wrote ${safeText(output)}`);
}
