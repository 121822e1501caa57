import { CAPABILITIES } from '../../config/config.ts';
import type { PayoutReading } from '../../ledger/payouts/acts.ts';
import { PAYOUT_TRIED_MS_MAX, type Payout, QUOTES_PER_PAYOUT_MAX } from '../../payout.ts';
import type { PayDeps } from '../deps.ts';

/** What a proof of death rests on, beside the payout itself. */
export interface DeathRules {
  /** As set, and by how much the service's clock was seen to differ from ours. */
  readonly quoteGraceMs: number;
  readonly notFoundGapMs: number;
  /** Capabilities that are verified, given or assumed, less those that were seen not to hold. */
  readonly capabilities: ReadonlySet<string>;
  /** Fingerprint of the credentials under which the look-up was made. */
  readonly credentials: string;
  /** Redis's time in milliseconds since 1970. */
  readonly now: number;
}

/** What a proof of death rests on, at the moment of a reading. */
export function deathRules(
  deps: Pick<PayDeps, 'rules' | 'service'>,
  reading: Pick<PayoutReading, 'now' | 'disproved'>,
): DeathRules {
  const { notFoundGapMs } = deps.rules;
  const quoteGraceMs = deps.rules.quoteGraceMs + deps.service.clockDifferenceMs();
  const capabilities = new Set([...deps.rules.capabilities].filter((name) => !reading.disproved.includes(name)));
  return { quoteGraceMs, notFoundGapMs, capabilities, credentials: deps.service.fingerprint, now: reading.now };
}

/**
 * What a well-formed "not found" proves (architecture.md, rule 8):
 * `dead` the quote can never be paid any more · `first` this is the first of two answers that count ·
 * `early` it came too early, or too soon after the first, to count · `never` nothing can prove this quote dead.
 */
export type DeathVerdict = 'dead' | 'first' | 'early' | 'never';

export function judgeNotFound(payout: Payout, date: number | null, rules: DeathRules): DeathVerdict {
  if (!canBeProvenDead(payout, rules) || date === null || payout.quoteExpiresAt === null) return 'never';
  if (payout.credentials !== rules.credentials) return 'early';
  if (!isQuoteOver(payout, { ...rules, date })) return 'early';
  if (payout.notFoundAt === null) return 'first';
  return date - payout.notFoundAt >= rules.notFoundGapMs ? 'dead' : 'early';
}

/**
 * Whether the quote's end and grace are past, by the answer's own date and also by the time that went by since it was armed:
 * a service's clock that is wrong for a while must not bring a proof forward.
 */
export function isQuoteOver(
  { quoteExpiresAt, quoteLifeMs, armedAt }: Pick<Payout, 'quoteExpiresAt' | 'quoteLifeMs' | 'armedAt'>,
  { date, now, quoteGraceMs }: { date: number; now: number; quoteGraceMs: number },
): boolean {
  if (quoteExpiresAt === null || armedAt === null) return false;
  // By the service's clock when it gave the quote, and by Redis's: whichever of the two is wrong must not bring it forward.
  const lifeMs = Math.max(quoteLifeMs ?? 0, quoteExpiresAt - armedAt);
  return date > quoteExpiresAt + quoteGraceMs && now - armedAt > lifeMs + quoteGraceMs;
}

/** Whether anything could ever prove the payout's quote dead. */
export function canBeProvenDead(payout: Payout, rules: DeathRules): boolean {
  return (
    payout.quoteExpiresAt !== null &&
    !payout.seen2xx &&
    CAPABILITIES.every((capability) => rules.capabilities.has(capability))
  );
}

/** Why a payout whose quote is dead gets no further one; undefined while it may. */
export function triedEnough(payout: Payout, now: number): string | undefined {
  if (payout.quotes >= QUOTES_PER_PAYOUT_MAX) return `${QUOTES_PER_PAYOUT_MAX} quotes were tried`;
  const first = payout.history.find(({ to }) => to === 'armed')?.at ?? payout.armedAt;
  return isTriedLong(first, now) ? 'it was tried for 24 hours' : undefined;
}

/** Whether it was armed so long ago that a person decides. */
export function isTriedLong(armedAt: number | null, now: number): boolean {
  return armedAt !== null && now - armedAt >= PAYOUT_TRIED_MS_MAX;
}
