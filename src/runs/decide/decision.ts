import type { Decision, Payout, PayoutState } from '../../payout.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The year 9999: of a payout of which nothing is known it is never said. */
const FAR_MS = 253_370_764_800_000;

/** States in which a person may say that the payment of a payout that was sent exists: all from which a fact moves it. */
const MAY_BE_PAID: readonly PayoutState[] = ['armed', 'quoted', 'unknown', 'held', 'rejected'];

/** A dropped row may be handed in again: its reference is free. */
const MAY_BE_PAID_ELSEWHERE =
  'the lost host may have sent it, and a row that is dropped may be paid again. Leave it held where the service has its payment; where it has none, settle it as not paid a day later';

/** Its payment ties to no quote that is known. */
const PAID_BY_LOST =
  'no quote of it is known here: leave it held where the service has its payment, until the lost host comes back';

export const WHY_NOT_YET =
  'Redis was restarted, and not every host has said what it sent; try again once the workers run';

/** Why people may not decide this of the payout as it stands; undefined when they may (architecture.md, rule 9). */
export function whyNotDecided(payout: Payout, decision: Decision): string | undefined {
  if (decision === 'paid') return whyNotPaid(payout);
  if (decision === 'not-paid' && isUnconfirmed(payout)) return undefined;
  if (payout.state !== 'held') return `it is ${payout.state}, not held`;
  const wasSent = payout.quoteId !== null;
  const isInDoubt = payout.reasonCode === 'E_DIR_LOST';
  if (decision === 'not-paid') return wasSent || isInDoubt ? undefined : 'it was never sent: allow it or drop it';
  if (decision === 'drop' && isInDoubt) return MAY_BE_PAID_ELSEWHERE;
  return wasSent ? 'a payment request for it may have been sent: settle whether it was paid' : undefined;
}

function whyNotPaid({ quoteId, state, reasonCode, attempts }: Payout): string | undefined {
  if (quoteId === null && reasonCode === 'E_DIR_LOST') return PAID_BY_LOST;
  if (quoteId === null && reasonCode === 'E_NOT_PAID')
    return 'two people settled it as not paid, and no quote of it is known here';
  if (quoteId === null)
    return attempts === 0 ? 'it was never sent' : 'each quote of it was never sent, or is proven dead';
  return MAY_BE_PAID.includes(state) ? undefined : `it is ${state}`;
}

/** Refused by the service for good, and no look-up could say that it was not paid all the same. */
function isUnconfirmed({ state, quoteId, rejectionConfirmed }: Payout): boolean {
  return state === 'rejected' && quoteId !== null && !rejectionConfirmed;
}

/**
 * From when on people may decide this of a payout, in milliseconds since 1970; undefined: at any time. What a lost host may
 * have sent is sent anew only when no request of that host can be under way any more.
 */
export function decidableFrom(payout: Payout, decision: Decision, rules: { quoteGraceMs: number }): number | undefined {
  const waits = decision === 'not-paid' || (decision === 'allow' && payout.reasonCode === 'E_DIR_LOST');
  return waits ? notPaidFrom(payout, rules) : undefined;
}

/**
 * When people may first say that a payout was not paid, in milliseconds since 1970: after its quote's end and grace, or
 * 24 hours after it was armed where the quote has no end (architecture.md, rule 9). Of a quote that a breach brought to light
 * neither is known: it was armed before the payout was held. Of one that a lost host may have sent the last quote is not known
 * either: a day after it was held, if its own quote has ended. A clock of Redis that stepped back meanwhile does not shorten that.
 */
function notPaidFrom(payout: Payout, rules: { quoteGraceMs: number }): number {
  const heldAt = payout.history.length === 0 ? FAR_MS : Math.max(...payout.history.map(({ at }) => at));
  const own = quoteEnds(payout, rules) ?? (payout.armedAt ?? heldAt) + DAY_MS;
  return payout.reasonCode === 'E_DIR_LOST' ? Math.max(own, (payout.armedAt ?? 0) + DAY_MS, heldAt + DAY_MS) : own;
}

/** Undefined for a quote without an end. */
function quoteEnds(payout: Payout, rules: { quoteGraceMs: number }): number | undefined {
  // By the service's clock when it gave the quote, and by Redis's: whichever of the two is wrong must not bring it forward.
  const { armedAt, quoteLifeMs, quoteExpiresAt } = payout;
  if (quoteExpiresAt === null) return undefined;
  const end = armedAt === null || quoteLifeMs === null ? 0 : armedAt + quoteLifeMs;
  return Math.max(quoteExpiresAt, end) + rules.quoteGraceMs;
}
