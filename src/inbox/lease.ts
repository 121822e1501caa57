import type { Clock } from '../clock.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';

/** After this long another watcher takes over from one that was killed. */
const LEASE_MS = 15_000;

export interface LeaseDeps {
  readonly ledger: { readonly state: Pick<LedgerState, 'takeTurn' | 'endTurn'> };
  readonly clock: Clock;
}

/**
 * Does the work unless another watcher is at it. The lease only saves work twice: who stalls past its end does what is
 * done again meanwhile, and that must be harmless.
 */
export async function underLease(
  { ledger: { state: head }, clock }: LeaseDeps,
  what: string,
  { work, leaseMs = LEASE_MS }: { work: () => Promise<void>; leaseMs?: number | undefined },
): Promise<void> {
  if (!(await head.takeTurn(what, leaseMs))) return;
  const ended = new AbortController();
  let heldSinceMs = clock.monotonic();
  const isHeld = (): boolean => clock.monotonic() - heldSinceMs < leaseMs;
  const renewing = (async () => {
    await clock.sleep(leaseMs / 3, ended.signal);
    while (!ended.signal.aborted && isHeld()) {
      await head.endTurn(what);
      if (!(await head.takeTurn(what, leaseMs))) return;
      heldSinceMs = clock.monotonic();
      await clock.sleep(leaseMs / 3, ended.signal);
    }
  })();
  // Without Redis it cannot be renewed; the work meets the same fault.
  renewing.catch(() => {});
  try {
    await work();
  } finally {
    ended.abort();
    await renewing.catch(() => {});
    if (isHeld()) await head.endTurn(what);
  }
}
