import { digitsOf, type Money } from '../../money.ts';

const RATE_DIGITS = 8;
/** Digits of a quoted rate that count. */
const QUOTED_DIGITS = 12;
const SCALE = 10n ** BigInt(QUOTED_DIGITS);

/** Amounts, each times the rate that was quoted for it; null once a rate was not told. */
export type QuotedSum = bigint | null;

/** Adds a payment to the sum; a rate is decimal text, as the service told it. */
export function addQuoted(sum: QuotedSum, { minor }: Money, rate: string | null): QuotedSum {
  const [, whole = '', fraction = ''] = /^([0-9]{1,30})(?:\.([0-9]{1,100}))?$/.exec(rate ?? '') ?? [];
  if (sum === null || whole === '') return null;
  return sum + minor * BigInt(whole + fraction.slice(0, QUOTED_DIGITS).padEnd(QUOTED_DIGITS, '0'));
}

/**
 * The mean of the quoted rates, weighted by what was debited: exact to eight digits, rounded down. Null where a rate was not
 * told, or one side is not in one currency.
 */
export function quotedRateOf(sum: QuotedSum, paid: readonly Money[], arrived: readonly Money[]): string | null {
  const [from] = paid;
  if (sum === null || from === undefined || paid.length > 1 || arrived.length !== 1 || from.minor === 0n) return null;
  return rateText((sum * 10n ** BigInt(RATE_DIGITS)) / (from.minor * SCALE));
}

/** What arrived for one unit of what was paid: exact to eight digits, rounded down; null where one side is not in one currency. */
export function rateOf(paid: readonly Money[], arrived: readonly Money[]): string | null {
  const [from, ...more] = paid;
  const [to, ...others] = arrived;
  if (from === undefined || to === undefined || more.length + others.length > 0 || from.minor === 0n) return null;
  const scale = 10n ** BigInt(RATE_DIGITS + digitsIn(from));
  return rateText((to.minor * scale) / (from.minor * 10n ** BigInt(digitsIn(to))));
}

function rateText(scaled: bigint): string {
  const text = scaled.toString().padStart(RATE_DIGITS + 1, '0');
  return `${text.slice(0, -RATE_DIGITS)}.${text.slice(-RATE_DIGITS)}`;
}

function digitsIn({ currency, digits }: Money): number {
  return digits ?? digitsOf(currency) ?? 0;
}
