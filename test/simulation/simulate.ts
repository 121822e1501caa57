import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Batch, replay, runSchedules } from './run-schedules.ts';

/*
 * npm run simulate -- [--seed N] [--schedules N]
 * Runs schedules of consecutive seeds on all cores; a schedule that fails is run again with its trace.
 */

interface Share {
  readonly from: number;
  readonly count: number;
}

type Report = Omit<Batch, 'failures'> & { readonly failed: readonly number[] };

async function runShare({ from, count }: Share): Promise<Report> {
  const { failures, ...batch } = await runSchedules({ from, count });
  return { ...batch, failed: failures.map(({ seed }) => seed) };
}

function inWorker(share: Share): Promise<Report> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function readOptions(): Share {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      schedules: { type: 'string', default: '100000' },
    },
  });
  const from = Number.parseInt(values.seed, 10);
  const count = Number.parseInt(values.schedules, 10);
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(count) || count < 1)
    throw new Error('whole numbers, please');
  return { from, count };
}

async function main(): Promise<void> {
  const { from, count } = readOptions();
  const workers = Math.min(availableParallelism(), count);
  const each = Math.ceil(count / workers);
  const started = performance.now();
  const reports = await Promise.all(
    Array.from({ length: workers }, (_, index) => {
      const first = from + index * each;
      return inWorker({ from: first, count: Math.min(each, from + count - first) });
    }),
  );
  const minutes = (performance.now() - started) / 60_000;
  const counts = new Map<string, number>();
  let schedules = 0;
  let steps = 0;
  for (const report of reports) {
    schedules += report.schedules;
    steps += report.steps;
    for (const [what, number] of Object.entries(report.counts)) counts.set(what, (counts.get(what) ?? 0) + number);
  }
  console.log(
    `seed ${from}, ${schedules} schedules, ${steps} steps, ${Math.round(schedules / minutes)} schedules a minute`,
  );
  for (const [what, number] of [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    console.log(`  ${what}: ${number}`);
  const failed = reports.flatMap((report) => report.failed);
  for (const seed of failed) {
    const { trace, failure } = await replay(seed);
    console.log(`\n${trace.join('\n')}\n\nseed ${seed} failed: ${failure?.rule}: ${failure?.text}`);
  }
  if (failed.length > 0) process.exitCode = 1;
}

if (isMainThread) await main();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, not a window's
else parentPort?.postMessage(await runShare(workerData as Share));
