import type { Run } from '../../payout.ts';
import { rowsBecame } from '../runs/run-status.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 30;

/** What became of the rows that were handed in on one day, in UTC. */
export interface Day {
  /** Its beginning, in milliseconds since 1970. */
  readonly at: number;
  readonly paid: number;
  /** On the way, not started, or not known yet. */
  readonly open: number;
  readonly held: number;
  readonly failed: number;
}

/** The last 30 days, the oldest first. */
export function lastDays(runs: readonly Run[], now: number): Day[] {
  const today = now - (now % DAY_MS);
  const days = Array.from({ length: DAYS }, (_, index) => {
    return { at: today - (DAYS - 1 - index) * DAY_MS, paid: 0, open: 0, held: 0, failed: 0 };
  });
  for (const run of runs) {
    const day = days.find(({ at }) => run.createdAt >= at && run.createdAt < at + DAY_MS);
    if (day === undefined) continue;
    const { paid, onTheWay, notStarted, unknown, needYou, notPaid } = rowsBecame(run);
    day.paid += paid;
    day.open += onTheWay + notStarted + unknown;
    day.held += needYou;
    day.failed += notPaid;
  }
  return days;
}

/** The beginning of yesterday in UTC, in milliseconds since 1970. */
export function yesterday(now: number): number {
  return now - (now % DAY_MS) - DAY_MS;
}
