import { writeAtomically } from '../files.ts';
import { printAll, safeText, say } from './print.ts';

/** Data into a file, said with its name, or on standard output where none is named. */
export async function writeOut(output: string | undefined, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  if (output === undefined) return await printAll(chunks);
  await writeAtomically(output, chunks);
  say(`wrote ${safeText(output)}`);
}
