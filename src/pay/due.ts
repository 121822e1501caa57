import type { Random } from '../clock.ts';
import type { Payout } from '../payout.ts';

/** An unknown payout is first looked up after this long. */
export const FIRST_LOOK_UP_MS = 500;
const LOOK_UP_EVERY_MS_MAX = 30_000;
const QUOTE_AGAIN_MS_MIN = 500;
const QUOTE_AGAIN_MS_MAX = 60_000;
/** An HTTP `Date` has whole seconds: a look-up a little after the second is the first that can count. */
const DATE_STEP_MS = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Quote requests that may fail in a row before a payout is held (architecture.md). */
export const QUOTE_FAILURES_MAX = 8;

/** Accepted payments are first looked at after this long. */
export const FIRST_TRACK_MS = 2000;

/** Held payouts that were sent, and returns of completed payments, are looked at daily (architecture.md). */
export const LOOK_DAILY_MS = DAY_MS;

/**
 * Milliseconds until the next look-up of a payout whose payment may exist. `now` is milliseconds since 1970 and only
 * decides when to ask; what the answer proves is decided by its own `Date`.
 */
export function nextLookUpMs(
  payout: Pick<Payout, 'quoteExpiresAt' | 'notFoundAt' | 'lookUps'>,
  rules: { now: number; quoteGraceMs: number; notFoundGapMs: number },
): number {
  const step = Math.min(FIRST_LOOK_UP_MS * 2 ** Math.min(payout.lookUps, 10), LOOK_UP_EVERY_MS_MAX);
  if (payout.notFoundAt !== null) return Math.max(rules.notFoundGapMs, FIRST_LOOK_UP_MS);
  if (payout.quoteExpiresAt === null) return step;
  const provableAt = payout.quoteExpiresAt + rules.quoteGraceMs + DATE_STEP_MS;
  if (rules.now >= provableAt) return Math.min(step, 5000);
  return Math.min(step, provableAt - rules.now);
}

/** Milliseconds until a quote is asked for again after `failures` in a row: doubling, capped, half of it jittered. */
export function nextQuoteMs(failures: number, random: Random): number {
  const full = Math.min(QUOTE_AGAIN_MS_MIN * 2 ** Math.max(0, failures - 1), QUOTE_AGAIN_MS_MAX);
  return full / 2 + (full / 2) * random.fraction();
}
