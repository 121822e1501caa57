import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Figure, figure, median, type Target } from '../figures.ts';
import type { IntakeTaken } from '../intake-task.ts';
import { runRate } from '../pay-rounds.ts';
import { purge, settled } from '../purge.ts';
import { queueBytes, usedBytes } from '../queue-bytes.ts';
import type { ReportTaken } from '../report-task.ts';
import { openRig, PREFIX, type Rig } from '../rig.ts';
import type { Section } from '../section.ts';

const MB = 1e6;
const RSS_MB_MAX = 180;
/** To follow a million payments to their end takes longer than to pay them; the section `million` does it. */
const FOLLOWED_ROWS_MAX = 100_000;
const WINDOW_LOOKS = 20;
const LOOK_MS = 250;
const WARM_ROWS = 10_000;

/** One run of one size, from its file to its purge. */
interface Grown {
  readonly intakeUs: number;
  readonly payUs: number;
  readonly reportUs: number;
  readonly intakeMb: number;
  readonly workerMb: number;
  readonly reportMb: number;
  readonly windowBytes: number;
  readonly restBytes: number;
  readonly settledBytes?: number;
  readonly purgedBytes?: number;
}

/** The same run at three sizes: time per row, memory of each process, bytes in Redis. */
export const growth: Section = {
  name: 'growth',
  title: 'Cost growth and memory',
  async measure({ isQuick, pick, rounds, say }) {
    const sizes = pick([1000, 3000, 9000], [10_000, 100_000, 1_000_000]);
    const largest = sizes.at(-1) ?? 0;
    const grown = new Map<number, Grown[]>(sizes.map((rows) => [rows, []]));
    for (let round = 1; round <= (isQuick ? 1 : rounds); round++) {
      for (const [rows, found] of grown) {
        // The largest takes as long as all others together.
        if (rows === largest && round > 1) continue;
        found.push(await growTo(rows, { isFollowed: round === 1 && rows <= FOLLOWED_ROWS_MAX }));
        say(`${rows} rows, round ${round}: ${describe(found.at(-1))}`);
      }
    }
    return {
      figures: [...timeFigures(grown), ...memoryFigures(grown), ...redisFigures(grown)],
      notes: [
        `A Redis of its own for each run. Intake records; the worker is warm (${WARM_ROWS} rows before); the report is both files. The largest size is run once; the others are followed to their end and purged in their first round, the largest in \`million\`. The targets of time are for what gets dearer; a row of a small run costs more, as its processes are hardly warm.`,
        'Peaks are VmHWM. The worker writes its report when the run ends, so that its peak is that of both.',
        "Redis: `used_memory` above what it was before, by rows, with the ledger's indexes and histories. At rest: everything is paid and followed at 5 a second. Settled: every payment is COMPLETED. The window: all keys of all queues, the most of some looks while the run is paid.",
      ],
    };
  },
};

function describe(grown: Grown | undefined): string {
  return Object.entries(grown ?? {})
    .map(([name, value]) => `${name} ${Math.round(value as number)}`)
    .join(', ');
}

async function growTo(rows: number, { isFollowed }: { isFollowed: boolean }): Promise<Grown> {
  const rig = await openRig();
  try {
    const { redis } = rig.redis;
    const path = await rig.file('grown', rows);
    const first = await rig.worker();
    await runRate(rig, 'warm', WARM_ROWS);
    const before = await usedBytes(redis);
    await rig.service.reset();
    const intake = await rig.child('intake-task', ['record', path], rig.env()).told<IntakeTaken>();
    const runId = intake.runId ?? '';
    const [counts, windowBytes] = await Promise.all([rig.service.paid(rows), largestWindow(rig, rows)]);
    await rig.finished(runId);
    const workerMb = megabytes(first.peakBytes());
    const restBytes = (await usedBytes(redis)) - before;
    const folder = join(rig.folder, 'written');
    mkdirSync(folder);
    const report = await rig.child('report-task', ['files', runId, folder], rig.env()).told<ReportTaken>();
    await first.kill('SIGTERM');
    const end = isFollowed ? await endOf(rig, runId, before) : undefined;
    return {
      intakeUs: (intake.ms * 1000) / rows,
      payUs: ((counts.lastPaymentAt - counts.firstPaymentAt) * 1000) / rows,
      reportUs: (report.ms * 1000) / rows,
      intakeMb: megabytes(intake.peakBytes),
      workerMb: Math.max(workerMb, end?.workerMb ?? 0),
      reportMb: megabytes(report.peakBytes),
      windowBytes: windowBytes / rows,
      restBytes: restBytes / rows,
      ...(end === undefined ? {} : { settledBytes: end.settledBytes / rows, purgedBytes: end.purgedBytes / rows }),
    };
  } finally {
    await rig.close();
  }
}

function megabytes(bytes: number | undefined): number {
  return (bytes ?? Number.NaN) / MB;
}

/** What is left of the run when all its payments are settled, and when it is purged. */
async function endOf(
  rig: Rig,
  runId: string,
  before: number,
): Promise<{ workerMb: number; settledBytes: number; purgedBytes: number }> {
  const worker = await rig.worker({ PAYRUN_TRACK_RATE: '20000', PAYRUN_WATCH_RETURNS: '0ms' });
  await settled(rig, runId);
  const settledBytes = (await usedBytes(rig.redis.redis)) - before;
  await purge(rig);
  const purgedBytes = (await usedBytes(rig.redis.redis)) - before;
  const workerMb = megabytes(worker.peakBytes());
  await worker.kill('SIGTERM');
  return { workerMb, settledBytes, purgedBytes };
}

/** Looks some times while the run is paid, evenly as far as it can be known. */
async function largestWindow(rig: Rig, rows: number): Promise<number> {
  let most = 0;
  for (let look = 1; look <= WINDOW_LOOKS; look++) {
    for (;;) {
      const { payments } = await rig.service.counts();
      if (payments >= rows) return most;
      if (payments >= (rows * look) / (WINDOW_LOOKS + 1)) break;
      await delay(LOOK_MS / 5);
    }
    most = Math.max(most, await queueBytes(rig.redis.redis, PREFIX));
  }
  return most;
}

type ByRows = ReadonlyMap<number, readonly Grown[]>;

const rowsText = (rows: number): string => `${rows.toLocaleString('en')} rows`;

function timeFigures(grown: ByRows): Figure[] {
  const series = [
    ['intake', (one: Grown) => one.intakeUs],
    ['paying', (one: Grown) => one.payUs],
    ['report', (one: Grown) => one.reportUs],
  ] as const;
  const sizes = [...grown.keys()];
  return series.flatMap(([name, take]) => [
    ...[...grown].map(([rows, found]) => ({
      ...figure({ name: `${name}, ${rowsText(rows)}`, unit: 'µs per row' }, found.map(take)),
      point: { series: name, rows },
    })),
    ...pairsOf(sizes).map(([smaller, rows]) => {
      const least = median((grown.get(smaller) ?? []).map(take));
      const times = (grown.get(rows) ?? []).map((one) => take(one) / least);
      const about = { name: `${name}, a row of ${rowsText(rows)}`, unit: `of one of ${rowsText(smaller)}` };
      return figure({ ...about, target: { by: 'value', atMost: 1.1 } }, times);
    }),
  ]);
}

/** Each size beside each smaller one. */
function pairsOf(sizes: readonly number[]): (readonly [number, number])[] {
  return sizes.flatMap((rows, at) => sizes.slice(0, at).map((smaller) => [smaller, rows] as const));
}

function memoryFigures(grown: ByRows): Figure[] {
  const processes = [
    ['intake', (one: Grown) => one.intakeMb],
    ['worker', (one: Grown) => one.workerMb],
    ['report', (one: Grown) => one.reportMb],
  ] as const;
  const sizes = [...grown.keys()];
  const [smallest = 0, largest = 0] = [sizes[0], sizes.at(-1)];
  return processes.flatMap(([name, take]) => [
    ...[...grown].map(([rows, found]) =>
      figure(
        {
          name: `peak of ${name}, ${rowsText(rows)}`,
          unit: 'MB',
          target: { by: 'value', atMost: RSS_MB_MAX, always: true },
        },
        found.map(take),
      ),
    ),
    figure(
      {
        name: `peak of ${name}, ${rowsText(largest)}`,
        unit: `of that at ${rowsText(smallest)}`,
        target: { by: 'value', atMost: 1.2, always: true },
      },
      (grown.get(largest) ?? []).map((one) => take(one) / median((grown.get(smallest) ?? []).map(take))),
    ),
  ]);
}

function redisFigures(grown: ByRows): Figure[] {
  const largest = [...grown.keys()].at(-1);
  const kinds: readonly (readonly [
    string,
    (one: Grown) => number | undefined,
    (rows: number) => Target | undefined,
  ])[] = [
    ['the window', (one) => one.windowBytes, (rows) => (rows === largest ? { by: 'value', atMost: 20 } : undefined)],
    ['at rest', (one) => one.restBytes, () => ({ by: 'value', atMost: 450 })],
    ['settled', (one) => one.settledBytes, () => undefined],
    ['after purge', (one) => one.purgedBytes, () => undefined],
  ];
  return kinds.flatMap(([name, take, targetOf]) =>
    [...grown].flatMap(([rows, found]) => {
      const bytes = found.flatMap((one) => take(one) ?? []);
      const about = { name: `Redis, ${name}, ${rowsText(rows)}`, unit: 'bytes per payout', target: targetOf(rows) };
      return bytes.length === 0 ? [] : [figure(about, bytes)];
    }),
  );
}
