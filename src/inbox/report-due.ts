import type { Run } from '../payout.ts';
import { hasEnded } from '../runs/decide/control.ts';
import { maySettle, SETTLING_MS } from '../runs/progress.ts';

/** Dead quotes are looked up once more before the report; a service that does not answer keeps it no longer than this. */
const LAST_LOOK_MS = 60_000;

/** Whether a run has come to its end, and its report would not be another one in a moment. */
export function isReportDue(
  run: Run,
  { nowMs, trackRatePerSecond }: { nowMs: number; trackRatePerSecond: number },
): boolean {
  if (!hasEnded(run)) return false;
  const overMs = nowMs - (run.finishedAt ?? 0);
  const isLookedUp = run.deadQuotes === 0 || run.deadQuotesFound !== null || overMs >= LAST_LOOK_MS;
  return isLookedUp && (!maySettle(run, trackRatePerSecond) || overMs >= SETTLING_MS);
}
