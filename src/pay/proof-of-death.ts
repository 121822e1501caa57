import { CAPABILITIES } from '../config.ts';
import { PAYOUT_TRIED_MS_MAX, type Payout, QUOTES_PER_PAYOUT_MAX } from '../payout.ts';

/** What a proof of death rests on, beside the payout itself. */
export interface DeathRules {
  readonly quoteGraceMs: number;
  readonly notFoundGapMs: number;
  /** Capabilities that are verified, given or assumed, less those that were seen not to hold. */
  readonly capabilities: ReadonlySet<string>;
  /** Fingerprint of the credentials under which the look-up was made. */
  readonly credentials: string;
}

/**
 * What a well-formed "not found" proves (design 3, rule 8):
 * `dead` the quote can never be paid any more · `first` this is the first of two answers that count ·
 * `early` it came too early, or too soon after the first, to count · `never` nothing can prove this quote dead.
 */
export type DeathVerdict = 'dead' | 'first' | 'early' | 'never';

export function judgeNotFound(payout: Payout, date: number | null, rules: DeathRules): DeathVerdict {
  if (!canBeProvenDead(payout, rules) || date === null || payout.quoteExpiresAt === null) return 'never';
  if (payout.credentials !== rules.credentials) return 'early';
  if (date <= payout.quoteExpiresAt + rules.quoteGraceMs) return 'early';
  if (payout.notFoundAt === null) return 'first';
  return date - payout.notFoundAt >= rules.notFoundGapMs ? 'dead' : 'early';
}

/** Whether anything could ever prove the payout's quote dead. */
export function canBeProvenDead(payout: Payout, rules: DeathRules): boolean {
  return (
    payout.quoteExpiresAt !== null &&
    !payout.seen2xx &&
    CAPABILITIES.every((capability) => rules.capabilities.has(capability))
  );
}

/** Why a payout whose quote is dead, or that goes on being unknown, gets no further quote; undefined while it may. */
export function triedEnough(payout: Payout, now: number): string | undefined {
  if (payout.quotes >= QUOTES_PER_PAYOUT_MAX) return `${QUOTES_PER_PAYOUT_MAX} quotes were tried`;
  const first = payout.history.find(({ to }) => to === 'armed')?.at ?? payout.armedAt ?? undefined;
  return first !== undefined && now - first >= PAYOUT_TRIED_MS_MAX ? 'it was tried for 24 hours' : undefined;
}
