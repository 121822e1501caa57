import type { Clock } from '../clock.ts';
import type { Run } from '../payout.ts';
import { isOver } from '../runs/control.ts';

/** Final states of accepted payments are waited for this long (design 9). */
const SETTLING_MS = 10_000;

/** Tells when waiting any longer for a run would not help. */
export interface Patience {
  isOver(run: Run): boolean;
}

/**
 * A run is waited for until it has settled, or is stopped with nothing in flight. Payouts of which nobody knows whether
 * they were paid are waited for `unknownMs`, but not in a run that was stopped; payments that are under way for 10 s.
 */
export function openPatience(clock: Clock, unknownMs: number): Patience {
  const unknown = openTimer(clock);
  const settling = openTimer(clock);
  return {
    isOver(run) {
      if (run.state === 'awaiting-approval') return true;
      const isStopped = run.state === 'paused' || run.state === 'cancelled';
      if (isInFlight(run, isStopped)) {
        unknown.reset();
        return false;
      }
      if (run.counts.unknown > 0) return unknown.hasPassed(isStopped ? Math.min(unknownMs, SETTLING_MS) : unknownMs);
      if (isStopped) return true;
      return isOver(run) && (run.counts.accepted === 0 || settling.hasPassed(SETTLING_MS));
    },
  };
}

function isInFlight({ counts }: Run, isStopped: boolean): boolean {
  return counts.armed + counts.quoted > 0 || (!isStopped && counts.ready > 0);
}

/** Starts at its first question. */
function openTimer(clock: Clock): { hasPassed(ms: number): boolean; reset(): void } {
  let since: number | undefined;
  return {
    hasPassed(ms) {
      since ??= clock.monotonic();
      return clock.monotonic() - since >= ms;
    },
    reset() {
      since = undefined;
    },
  };
}
