import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { HAPPENINGS } from './happenings.ts';
import { replay, runSchedules } from './run-schedules.ts';

/*
 * npm run simulate -- [--seed N] [--schedules N] [--threads N]
 * Runs the schedules of consecutive seeds on all cores; one that fails is run again with its trace.
 */

const USAGE = 'usage: npm run simulate -- [--seed N] [--schedules N] [--threads N], each a whole number';
/** A schedule lives for a millisecond: with room enough, all of it is gone before anything has to be cleared away. */
const YOUNG_MB = 96;
/** Traces that are shown; of further failures only the seeds are. */
const TRACES_MAX = 3;

interface Share {
  readonly from: number;
  readonly count: number;
}

interface Report {
  readonly steps: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly failed: readonly number[];
}

async function runShare({ from, count }: Share): Promise<Report> {
  const { steps, counts, failures } = await runSchedules({ from, count }, { failuresMax: count });
  return { steps, counts, failed: failures.map(({ seed }) => seed) };
}

function inThread(share: Share): Promise<Report> {
  return new Promise((resolve, reject) => {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB };
    const worker = new Worker(new URL(import.meta.url), { workerData: share, resourceLimits });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function readOptions(): Share & { readonly threads: number } {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      schedules: { type: 'string', default: '100000' },
      threads: { type: 'string', default: String(availableParallelism()) },
    },
  });
  const [from = 0, count = 0, threads = 0] = [values.seed, values.schedules, values.threads].map((text) =>
    /^[0-9]{1,9}$/.test(text) ? Number.parseInt(text, 10) : Number.NaN,
  );
  if (!(from >= 0 && count >= 1 && threads >= 1)) throw new Error(USAGE);
  return { from, count, threads };
}

/** Consecutive seeds, each in one share, whatever the number of threads. */
function sharesOf({ from, count }: Share, threads: number): Share[] {
  const each = Math.ceil(count / threads);
  const firsts = Array.from({ length: Math.ceil(count / each) }, (_, index) => from + index * each);
  return firsts.map((first) => ({ from: first, count: Math.min(each, from + count - first) }));
}

async function main(): Promise<void> {
  const { from, count, threads } = readOptions();
  const shares = sharesOf({ from, count }, threads);
  const started = performance.now();
  const before = process.cpuUsage();
  const reports = await Promise.all(shares.map(inThread));
  const minutes = (performance.now() - started) / 60_000;
  const { user, system } = process.cpuUsage(before);
  const steps = reports.reduce((sum, report) => sum + report.steps, 0);
  const failed = reports.flatMap((report) => report.failed);
  console.log(`seeds ${from} to ${from + count - 1}: ${count} schedules, ${steps} steps, ${failed.length} failures`);
  console.log(
    `${shares.length} threads, ${(minutes * 60).toFixed(1)} s: ${Math.round(count / minutes)} schedules a minute, ` +
      `${((user + system) / 1000 / count).toFixed(2)} ms of processor time each`,
  );
  for (const what of HAPPENINGS) {
    const number = reports.reduce((sum, { counts }) => sum + (counts[what] ?? 0), 0);
    console.log(`  ${String(number).padStart(8)}  ${what}`);
  }
  await tell(failed);
}

async function tell(failed: readonly number[]): Promise<void> {
  for (const seed of failed.slice(0, TRACES_MAX)) {
    const { trace, failure } = await replay(seed);
    console.log(`\n${trace.join('\n')}\n\nseed ${seed} failed: ${failure?.rule}: ${failure?.text}`);
  }
  if (failed.length === 0) return;
  console.log(`\nseeds that failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}

if (isMainThread) await main();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, not a window's
else parentPort?.postMessage(await runShare(workerData as Share));
