import type { Clock } from '../../clock.ts';
import type { Run } from '../../payout.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { maySettle, SETTLING_MS } from '../../runs/progress.ts';

export interface WaitLimits {
  readonly unknownMs: number;
  /** Look-ups of accepted payments in a second. */
  readonly tracksPerSecond: number;
}

/** How long a run is worth waiting for. */
export interface WaitLimit {
  isReached(run: Run): boolean;
}

/**
 * A run is waited for until it has settled, or is stopped with nothing in flight. Payouts of which nobody knows whether
 * they were paid are waited for `unknownMs`, but not in a run that was stopped; payments that are under way for 10 s, or not
 * at all where so many cannot even be looked at in that time.
 */
export function openWaitLimit(clock: Clock, { unknownMs, tracksPerSecond }: WaitLimits): WaitLimit {
  const unknown = openTimer(clock);
  const settling = openTimer(clock);
  return {
    isReached(run) {
      if (run.state === 'awaiting-approval') return true;
      const isStopped = run.state === 'paused' || run.state === 'cancelled';
      if (isInFlight(run, isStopped)) {
        unknown.reset();
        return false;
      }
      if (run.counts.unknown > 0) return unknown.hasPassed(isStopped ? Math.min(unknownMs, SETTLING_MS) : unknownMs);
      if (isStopped) return true;
      return hasEnded(run) && (!maySettle(run, tracksPerSecond) || settling.hasPassed(SETTLING_MS));
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
