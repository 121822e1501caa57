import { withoutTrailing } from './trailing.ts';

/**
 * Amounts as bigint minor units with a currency. The only file that turns amounts into text and text into amounts.
 * A floating-point number appears in one place, `decimalOfNumber`, because the service's replies carry JSON numbers.
 */

export interface Money {
  /** Whole minor units: cents for USD, yen for JPY, fils for BHD. */
  readonly minor: bigint;
  /** ISO 4217 alphabetic code in upper case. */
  readonly currency: string;
  /** Digits of `minor` where they are more than the currency's; only of fees, which are kept as they were told (architecture.md). */
  readonly digits?: number;
}

/** The day on which `MINOR_DIGITS` was compared with ISO 4217, list one (funds, metals and testing codes left out). */
export const CURRENCY_TABLE_DATE = '2026-01-01';

const NO_DIGITS = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF';
const TWO_DIGITS = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE
  CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR
  KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB
  PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY
  TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`;
const THREE_DIGITS = 'BHD IQD JOD KWD LYD OMR TND';

const MINOR_DIGITS: ReadonlyMap<string, number> = new Map(
  [NO_DIGITS, '', TWO_DIGITS, THREE_DIGITS].flatMap((codes, digits) =>
    codes
      .split(/\s+/)
      .filter((code) => code !== '')
      .map((code) => [code, digits] as const),
  ),
);

/** Smallest and largest amount of one payout in whole units of its currency. */
export const AMOUNT_MIN_UNITS = 1n;
export const AMOUNT_MAX_UNITS = 100_000_000n;

/** What is wrong with an amount's text: not a plain decimal, more digits than the currency has, or out of limits. */
export type AmountFault = 'syntax' | 'scale' | 'range';

const PLAIN_DECIMAL = /^(0|[1-9][0-9]{0,23})(?:\.([0-9]{1,24}))?$/;

/** All currencies that a payout may name, in alphabetic order. */
export function currencies(): string[] {
  return [...MINOR_DIGITS.keys()].toSorted();
}

/** Decimal digits of a currency's minor unit (ISO 4217), or undefined for a code that is not in the table. */
export function digitsOf(currency: string): number | undefined {
  return MINOR_DIGITS.get(currency);
}

/**
 * A payout file's amount: a plain decimal (no sign, no grouping, no leading zeros) with no more digits than the
 * currency has, from 1 to 100,000,000 units.
 */
export function parseAmount(text: string, currency: string): Money | AmountFault {
  const digits = digitsOf(currency);
  const match = PLAIN_DECIMAL.exec(text);
  if (digits === undefined || match === null) return 'syntax';
  const fraction = match[2] ?? '';
  if (fraction.length > digits) return 'scale';
  const minor = BigInt(`${match[1] ?? ''}${fraction.padEnd(digits, '0')}`);
  const unit = 10n ** BigInt(digits);
  if (minor < AMOUNT_MIN_UNITS * unit || minor > AMOUNT_MAX_UNITS * unit) return 'range';
  return { minor, currency };
}

/**
 * A reply's decimal text as money. Trailing zeros beyond the currency's digits are no digits; anything else beyond
 * them, a sign, or an unknown currency gives undefined: the caller holds the payout (architecture.md).
 */
export function moneyOfDecimal(text: string, currency: string): Money | undefined {
  const digits = digitsOf(currency);
  const match = PLAIN_DECIMAL.exec(text);
  if (digits === undefined || match === null) return undefined;
  const fraction = withoutTrailing(match[2] ?? '', '0');
  if (fraction.length > digits) return undefined;
  return { minor: BigInt(`${match[1] ?? ''}${fraction.padEnd(digits, '0')}`), currency };
}

const EXACT_DECIMAL = /^(-?)([0-9]{1,400})(?:\.([0-9]{1,400}))?$/;

/** A fee's decimal text, exact however many digits it has and whatever its currency; undefined for what is no decimal. */
export function exactMoney(text: string, currency: string): Money | undefined {
  const match = EXACT_DECIMAL.exec(text);
  if (match === null) return undefined;
  const fraction = withoutTrailing(match[3] ?? '', '0');
  const digits = Math.max(fraction.length, digitsOf(currency) ?? 0);
  return withDigits({ minor: BigInt(`${match[1]}${match[2]}${fraction.padEnd(digits, '0')}`), currency }, digits);
}

/** The exact sum of two amounts in one currency. */
export function addMoney(one: Money, other: Money): Money {
  const digits = Math.max(digitsIn(one), digitsIn(other));
  return withDigits({ minor: scaledTo(one, digits) + scaledTo(other, digits), currency: one.currency }, digits);
}

/** Which of two amounts in one currency is larger: above 0 for the first, below 0 for the other one. */
export function compareMoney(one: Money, other: Money): number {
  const digits = Math.max(digitsIn(one), digitsIn(other));
  const [first, second] = [scaledTo(one, digits), scaledTo(other, digits)];
  return Number(first > second) - Number(first < second);
}

/** Exact sums, one a currency. */
export function sumMoney(amounts: readonly Money[]): Money[] {
  const sums = new Map<string, Money>();
  for (const amount of amounts) {
    const sum = sums.get(amount.currency);
    sums.set(amount.currency, sum === undefined ? amount : addMoney(sum, amount));
  }
  return [...sums.values()];
}

/** The amount in minor units of its currency; what is finer counts as one more. */
export function minorRoundedUp(money: Money): bigint {
  const unit = 10n ** BigInt(digitsIn(money) - (digitsOf(money.currency) ?? 0));
  const whole = money.minor / unit;
  return money.minor > whole * unit ? whole + 1n : whole;
}

function digitsIn({ currency, digits }: Money): number {
  return digits ?? digitsOf(currency) ?? 0;
}

function scaledTo(money: Money, digits: number): bigint {
  return money.minor * 10n ** BigInt(digits - digitsIn(money));
}

function withDigits(money: Money, digits: number): Money {
  return digits === (digitsOf(money.currency) ?? 0) ? money : { ...money, digits };
}

/** The amount as a decimal with exactly the currency's digits, or its own where it has more: 1234.50, 1000, 1.000. */
export function formatAmount(money: Money): string {
  const digits = digitsIn(money);
  const sign = money.minor < 0n ? '-' : '';
  const text = (money.minor < 0n ? -money.minor : money.minor).toString().padStart(digits + 1, '0');
  if (digits === 0) return sign + text;
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/**
 * A JSON number as plain decimal text by its shortest form, without an exponent (architecture.md): 2438.19, 0.0000001.
 * Undefined for what is no finite number.
 */
export function decimalOfNumber(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  const shortest = String(value);
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?e([+-][0-9]+)$/.exec(shortest);
  if (match === null) return shortest;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  const point = whole.length + Number.parseInt(exponentText, 10);
  const all = `${whole}${fraction}`;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${all}`;
  if (point >= all.length) return `${sign}${all.padEnd(point, '0')}`;
  return `${sign}${all.slice(0, point)}.${all.slice(point)}`;
}

/** What is to be there in one currency before a run: source amounts, and the fees that the service names in it. */
export interface FundsNeeded {
  readonly currency: string;
  readonly amount: bigint;
  /** What is finer than a minor unit counts as one in each corridor. */
  readonly fees: bigint;
  readonly isEstimate: boolean;
  /** What the service says can be paid from; null where it did not tell, left out where it was not asked. */
  readonly balance?: bigint | null;
}

/** What a run needs before it is paid, by quotes that were never armed. */
export interface RunFunds {
  /** When the service was asked, in milliseconds since 1970. */
  readonly at: number;
  /** Payouts that waited to be paid then. */
  readonly payouts: number;
  /** Of those: of so many no quote told what they cost. */
  readonly unpriced: number;
  /** In alphabetic order of currencies. */
  readonly needed: readonly FundsNeeded[];
}
