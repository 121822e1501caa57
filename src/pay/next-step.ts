import type { PayoutReading } from '../ledger/payouts/acts.ts';
import { ARMINGS_PER_QUOTE_MAX, type Payout } from '../payout.ts';

/** A quote with less life left than this is not armed: its payment request would come too late. */
export const QUOTE_LIFE_MS_MIN = 500;

/** What a worker does with a payout that it was woken for. */
export type NextStep =
  | { readonly kind: 'nothing' }
  /** Everything is halted. */
  | { readonly kind: 'stop' }
  /** The service asked everybody to wait. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'quote'; readonly payout: Payout }
  | { readonly kind: 'arm-again'; readonly payout: Payout; readonly quoteId: string }
  /** Nobody knows any more what came of its payment request. */
  | { readonly kind: 'mark-unknown'; readonly payout: Payout; readonly reason: string };

/** Decides by the payout's state alone; whether it may really be armed is the ledger's to say. */
export function nextStep(
  reading: PayoutReading,
  self: { owner: string; armDeadlineMs: number; credentials: string },
): NextStep {
  const { payout, now } = reading;
  if (payout === undefined) return { kind: 'nothing' };
  if (payout.state === 'armed') {
    return isLeftArmed(payout, { now, ...self })
      ? { kind: 'mark-unknown', payout, reason: 'armed by a process that did not come back' }
      : { kind: 'nothing' };
  }
  if (payout.state !== 'ready' && payout.state !== 'quoted') return { kind: 'nothing' };
  if (payout.state === 'quoted' && !mayBeArmedAgain(payout, { now, ...self })) {
    return {
      kind: 'mark-unknown',
      payout,
      reason: 'the quote ended, was armed often enough, or was sent under other credentials',
    };
  }
  if (reading.halt !== null) return { kind: 'stop' };
  if (reading.waitMs > 0) return { kind: 'wait', ms: reading.waitMs };
  return payout.state === 'quoted' && payout.quoteId !== null
    ? { kind: 'arm-again', payout, quoteId: payout.quoteId }
    : { kind: 'quote', payout };
}

function mayBeArmedAgain(payout: Payout, { now, credentials }: { now: number; credentials: string }): boolean {
  return (
    payout.credentials === credentials &&
    payout.quoteExpiresAt !== null &&
    now < payout.quoteExpiresAt - QUOTE_LIFE_MS_MIN &&
    payout.armings < ARMINGS_PER_QUOTE_MAX
  );
}

/** Whether a payout stays armed for longer than its armer could still be about to send (architecture.md, rule 5). */
export function isLeftArmed(payout: Payout, self: { owner: string; armDeadlineMs: number; now: number }): boolean {
  return payout.armedBy !== self.owner && isArmedFor(payout, self.now, self.armDeadlineMs);
}

/**
 * Whether a payout was armed longer ago than that, by the clock of Redis. If it was armed in the future, that clock stepped back,
 * and nobody knows how long ago it was: to look it up too early does no harm.
 */
export function isArmedFor({ armedAt }: Pick<Payout, 'armedAt'>, now: number, ms: number): boolean {
  return Math.abs(now - (armedAt ?? 0)) > ms;
}
