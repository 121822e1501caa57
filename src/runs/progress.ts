import type { Run } from '../payout.ts';
import { fileTotals, sumOutcomes } from '../report/totals.ts';
import { hasEnded } from './decide/control.ts';

/** Rows of which it is known what became of them: paid, or not. One that is under way or waits for a person is not done. */
export function rowsDone({ counts }: Pick<Run, 'counts'>): number {
  const { completed, failed, returned, rejected, cancelled, refused } = counts;
  return completed + failed + returned + rejected + cancelled + refused;
}

/** Rows that workers have nothing more to send for: what the rate and the time left of a run are about. */
export function rowsTaken({ counts }: Pick<Run, 'counts'>): number {
  const { ready, armed, quoted, unknown } = counts;
  return rowsCounted({ counts }) - ready - armed - quoted - unknown;
}

/** Rows of which nobody knows whether they were paid. */
function rowsInDoubt({ counts }: Pick<Run, 'counts'>): number {
  return counts.armed + counts.quoted + counts.unknown;
}

/** Rows for which a payment request may have left. */
export function rowsSent({ counts }: Pick<Run, 'counts'>): number {
  return rowsInDoubt({ counts }) + counts.accepted + counts.completed + counts.failed + counts.returned;
}

/** How far runs are together, for who is told that they wait. */
export interface Work {
  readonly rows: number;
  readonly sent: number;
  /** Of those that were sent. */
  readonly inDoubt: number;
  readonly waiting: number;
}

export function workOf(runs: readonly Pick<Run, 'rows' | 'counts'>[]): Work {
  const sum = (of: (run: Pick<Run, 'rows' | 'counts'>) => number): number =>
    runs.reduce((total, run) => total + of(run), 0);
  return {
    rows: sum(({ rows }) => rows),
    sent: sum(rowsSent),
    inDoubt: sum(rowsInDoubt),
    waiting: sum(({ counts }) => counts.ready),
  };
}

/** A sentence; empty where there is nothing to pay. */
export function workWords({ rows, sent, inDoubt, waiting }: Work): string {
  if (rows === 0) return '';
  const doubt = inDoubt === 0 ? '' : ` (of ${countText(inDoubt)} nobody knows yet whether they were paid)`;
  return `${countText(sent)} of ${countText(rows)} rows were sent${doubt}, ${countText(waiting)} wait.`;
}

/** A number of rows for people, such as `60,000`. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** Rows that have a record. */
export function rowsCounted({ counts }: Pick<Run, 'counts'>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Payments of a run that is over settle within seconds: so long they are waited for. */
export const SETTLING_MS = 10_000;

/** Whether the payments that are under way can all be looked at within the time that is waited for them. */
export function maySettle({ counts }: Pick<Run, 'counts'>, tracksPerSecond: number): boolean {
  return counts.accepted > 0 && counts.accepted <= (tracksPerSecond * SETTLING_MS) / 1000;
}

/** Whether the run's counters account for each row and all money of its file (architecture.md, rule 10). */
export function doCountersTie(run: Pick<Run, 'rows' | 'counts' | 'fileTotals' | 'amounts'>): boolean {
  const totals = fileTotals(run.fileTotals, run.amounts);
  return rowsCounted(run) === run.rows && totals.every(({ file, outcomes }) => sumOutcomes(outcomes) === file);
}

/** Whether nothing of the run changes any more by itself: it is over, its payments have ended, and its report is written. */
export function isStill(run: Run): boolean {
  return hasEnded(run) && run.counts.accepted === 0 && run.reportedChanges === run.changes;
}

/** How many rows of a run were taken at a time: of the monotonic clock, or of Redis's where the ledger keeps it. */
export type Sample = Run['samples'][number];

const WINDOW_MS = 10_000;
const SPAN_MS_MIN = 500;
const KEPT_MS_MAX = 60_000;

/** The samples with one more; of the older ones those that a rate over the last ten seconds needs, at most a minute old. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const kept = samples.filter(({ atMs }) => sample.atMs - atMs <= KEPT_MS_MAX);
  const first = Math.max(
    0,
    kept.findLastIndex(({ atMs }) => sample.atMs - atMs >= WINDOW_MS),
  );
  return [...kept.slice(first), sample];
}

/**
 * The samples of a run with one of now, counted from when the work moves: over a time in which nothing could be sent, because
 * something is away or a stage is over, they tell nothing of its rate.
 */
export function withMove(
  samples: readonly Sample[],
  run: Run,
  now: { atMs: number; isCut: boolean },
): readonly Sample[] {
  const sample = { atMs: now.atMs, done: rowsTaken(run) };
  const [first, ...more] = now.isCut || !maySend(run) ? [] : samples;
  return withSample(first === undefined || (more.length === 0 && first.done === sample.done) ? [] : samples, sample);
}

/** Whether its workers may have something to send. */
function maySend(run: Pick<Run, 'state' | 'stages' | 'counts'>): boolean {
  const { state, stages } = run;
  return state === 'paying' && rowsTaken(run) < (stages?.ends[stages.at]?.rows ?? Number.POSITIVE_INFINITY);
}

/** A rate over less tells nothing of the time that is left. */
const RATE_SPAN_MS_MIN = 5000;

/** Rows a second over the last seconds; 0 before there are enough of them. */
export function steadyRateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < RATE_SPAN_MS_MIN) return 0;
  return perSecondOf(samples) ?? 0;
}

/** Notes that are older tell nothing of now: nobody sweeps any more, or the run is not being paid. */
const NOTED_MS_MAX = 15_000;

/** Rows a second of a run by what the sweeper noted lately, 0 where none moved; null where that is not known. */
export function notedRateOf({ samples }: Pick<Run, 'samples'>, nowMs: number): number | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || Math.abs(nowMs - last.atMs) > NOTED_MS_MAX) return null;
  return last.atMs - first.atMs < RATE_SPAN_MS_MIN ? null : steadyRateOf(samples);
}

/** Rows a second between the first and the last sample; null when they tell nothing yet. */
export function perSecondOf(samples: readonly Sample[]): number | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < SPAN_MS_MIN) return null;
  return Math.max(0, ((last.done - first.done) * 1000) / (last.atMs - first.atMs));
}
