import type { Clock } from '../clock.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';
import type { Log } from '../log.ts';
import type { Brake } from '../service/brake.ts';

/** The brake of this process, and what it learns of the brakes of others. */
export interface SharedBrake extends Brake {
  /** The ledger said that everybody waits for this long. */
  learn(ms: number): void;
}

/** A 429 that one process meets makes all of them wait: it is written to the ledger, which every step reads. */
export function openSharedBrake(head: Pick<LedgerState, 'hold'>, deps: { clock: Clock; log: Log }): SharedBrake {
  let until = Number.NEGATIVE_INFINITY;
  const learn = (ms: number): void => {
    if (ms > 0) until = Math.max(until, deps.clock.monotonic() + ms);
  };
  return {
    learn,
    remainingMs: () => Math.max(0, until - deps.clock.monotonic()),
    hold(ms) {
      learn(ms);
      deps.log.warn('the service asked to wait', { ms });
      head.hold(ms).catch((error: unknown) => deps.log.warn('the wait could not be shared', { error }));
    },
  };
}
