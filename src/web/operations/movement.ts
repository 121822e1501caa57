import type { Clock } from '../../clock.ts';

/** So long may nothing move while payouts are due. */
export const STILL_MS_MAX = 2 * 60_000;

/** What one look saw. */
export interface Seen {
  /** Payouts that could be taken. */
  readonly due: number;
  /** Grows with each move. */
  readonly changes: number;
}

/** Tells from one look to the next whether what is due is taken: false once nothing moved for two minutes. */
export function openMovement(clock: Pick<Clock, 'monotonic'>): (seen: Seen) => boolean {
  let changesBefore = -1;
  let stillSince = clock.monotonic();
  return ({ due, changes }) => {
    const now = clock.monotonic();
    if (due === 0 || changes !== changesBefore) stillSince = now;
    changesBefore = changes;
    return now - stillSince < STILL_MS_MAX;
  };
}
