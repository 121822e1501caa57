import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { EXIT } from '../../src/cli/exit-code.ts';
import { withApp } from '../../src/cli/open.ts';
import { keepMemoryFlat } from '../../src/cli/run/memory.ts';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { peakBytesOf } from './payrun-process.ts';

/*
 * One reading of a payout file in a process of its own: `node intake-task.js KIND FILE` sends how long it took, without the
 * start of the process, and its highest memory.
 */

export type IntakeKind = 'parse' | 'validate' | 'record';

export interface IntakeTaken {
  readonly rows: number;
  readonly ms: number;
  readonly peakBytes: number;
  /** The run that was recorded. */
  readonly runId?: string;
}

/** The limit: nothing but csv-parse, as its stream is read fastest. */
async function parseOnly(file: string): Promise<number> {
  const parser = createReadStream(file).pipe(parse());
  let rows = 0;
  parser.on('readable', () => {
    while (parser.read() !== null) rows++;
  });
  await new Promise((done, fail) => parser.once('end', done).once('error', fail));
  return rows - 1;
}

async function validate(file: string): Promise<number> {
  const { rows, valid } = await checkPayoutFile(file);
  if (valid !== rows) throw new Error(`${rows - valid} rows are refused`);
  return rows;
}

async function timed(task: () => Promise<number>): Promise<Omit<IntakeTaken, 'peakBytes'>> {
  const started = performance.now();
  const rows = await task();
  return { rows, ms: performance.now() - started };
}

async function record(file: string): Promise<Omit<IntakeTaken, 'peakBytes'>> {
  let taken: Omit<IntakeTaken, 'peakBytes'> = { rows: 0, ms: 0 };
  await withApp({ logLevel: 'error' }, async (app) => {
    let runId = '';
    taken = await timed(async () => {
      const submitted = await submitRun(app, { path: file, actor: 'bench', skipInvalid: false });
      if (submitted.kind === 'refused') throw new Error('the file is refused');
      runId = submitted.run.id;
      return submitted.run.rows;
    });
    taken = { ...taken, runId };
    return EXIT.ok;
  });
  return taken;
}

const [kind, file = ''] = process.argv.slice(2);
// As src/cli/main.ts does; the limit keeps what V8 gives it.
if (kind !== 'parse') keepMemoryFlat();
const taken =
  kind === 'record' ? await record(file) : await timed(() => (kind === 'parse' ? parseOnly(file) : validate(file)));
process.send?.({ ...taken, peakBytes: peakBytesOf(process.pid) ?? 0 } satisfies IntakeTaken, () => process.exit(0));
