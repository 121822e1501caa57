import type { Run } from '../../payout.ts';
import type { Zone } from '../../zone.ts';
import { rowsBecame } from '../run/run-status.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 30;

/** What became of the rows that were handed in on one day. */
export interface Day {
  /** Its beginning on the clock of its place, in milliseconds since 1970. */
  readonly at: number;
  readonly paid: number;
  /** On the way, not started, or not known yet. */
  readonly open: number;
  readonly held: number;
  readonly failed: number;
}

/** The last 30 days in a zone, the oldest first. */
export function lastDays(runs: readonly Run[], now: number, zone: Zone): Day[] {
  const today = dayOf(now, zone);
  const days = Array.from({ length: DAYS }, (_, index) => {
    return { at: today - (DAYS - 1 - index) * DAY_MS, paid: 0, open: 0, held: 0, failed: 0 };
  });
  for (const run of runs) {
    const began = dayOf(run.createdAt, zone);
    const day = days.find(({ at }) => at === began);
    if (day === undefined) continue;
    const { paid, onTheWay, notStarted, unknown, needYou, notPaid } = rowsBecame(run);
    day.paid += paid;
    day.open += onTheWay + notStarted + unknown;
    day.held += needYou;
    day.failed += notPaid;
  }
  return days;
}

/** The beginning of yesterday in a zone, in milliseconds since 1970. */
export function yesterday(now: number, zone: Zone): number {
  return zone.instantAt(dayOf(now, zone) - DAY_MS);
}

/** The beginning of a moment's day, on the clock of the place. */
function dayOf(at: number, zone: Zone): number {
  const wall = zone.wallAt(at);
  return wall - (wall % DAY_MS);
}
