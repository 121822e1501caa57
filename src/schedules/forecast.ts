import type { Calendars } from '../config/calendars.ts';
import type { Run } from '../payout.ts';
import { cutOffOf } from './calendar.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** A run that will not end before its cut-off. */
export interface LateRun {
  readonly run: Run;
  /** Of the cut-off, in milliseconds since 1970. */
  readonly cutOffAt: number;
  /** Payments that will leave after it, as far as can be foreseen. */
  readonly rows: number;
  /** For people: `will miss the 16:00 cut-off of EUR by 12 min: 4,100 rows`. */
  readonly words: string;
}

interface Pace {
  readonly perSecond: number;
  readonly nowMs: number;
}

/**
 * When the last row of a run will have been sent, at this rate of payments. Runs that are paid at a time take turns, so before one
 * ends as many rows of each other one leave as it has itself, or all that the other one has.
 */
export function foreseeEnd(run: Run, runs: readonly Run[], { perSecond, nowMs }: Pace): number {
  const { ready } = run.counts;
  const before = runs.filter(isSending).reduce((sum, { counts }) => sum + Math.min(ready, counts.ready), 0);
  return nowMs + (before * SECOND_MS) / perSecond;
}

/** Whether payments of the run are leaving. */
export function isSending({ state, counts }: Run): boolean {
  return state === 'paying' && counts.ready > 0;
}

/** Which of the runs will miss a cut-off at this rate of payments. */
export function foreseeLate(
  runs: readonly Run[],
  { calendars, ...pace }: Pace & { readonly calendars: Calendars },
): LateRun[] {
  const { nowMs } = pace;
  return runs.filter(isSending).flatMap((run) => {
    const late = lateRun(run, { calendars, nowMs, endsAt: foreseeEnd(run, runs, pace) });
    return late === undefined ? [] : [late];
  });
}

/** A run that is being paid and will have been sent at a time; undefined where that is before its cut-off. */
export function lateRun(
  run: Run,
  { calendars, nowMs, endsAt }: { readonly calendars: Calendars; readonly nowMs: number; readonly endsAt: number },
): LateRun | undefined {
  const cutOff = cutOffOf(calendars, { currencies: run.currencies, nowMs });
  if (cutOff === undefined || endsAt <= cutOff.atMs) return undefined;
  const { ready } = run.counts;
  const share = Math.max(0, cutOff.atMs - nowMs) / (endsAt - nowMs);
  const rows = ready - Math.floor(ready * share);
  const minutes = Math.ceil((endsAt - cutOff.atMs) / MINUTE_MS);
  const by = `${minutes.toLocaleString('en')} min: ${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`;
  const words = `will miss the ${cutOff.time} cut-off of ${cutOff.currency} by ${by}`;
  return { run, cutOffAt: cutOff.atMs, rows, words };
}
