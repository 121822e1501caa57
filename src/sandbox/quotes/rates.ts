import { createHash } from 'node:crypto';
import { decimalOfNumber, digitsOf, formatAmount, type Money } from '../../money.ts';
import { withoutTrailing } from '../../trailing.ts';

/** What one US dollar buys. Simulated; a currency that is not listed gets a figure made from its code. */
const PER_DOLLAR_LIST = `
  AED 3.6725 ARS 1050 AUD 1.53 BDT 121.5 BHD 0.376 BRL 5.62 CAD 1.37 CHF 0.82 CLP 945 CNY 7.18 COP 4080 CZK 21.5
  DKK 6.42 EGP 48.6 EUR 0.86 GBP 0.75 GHS 10.4 HKD 7.83 HUF 342 IDR 16250 ILS 3.38 INR 87.2 ISK 122 JOD 0.709 JPY 147.6
  KES 129.2 KRW 1385 KWD 0.3056 LKR 302 MAD 9.02 MXN 18.75 MYR 4.23 NGN 1532 NOK 10.1 NPR 139.6 NZD 1.7 OMR 0.3845
  PEN 3.55 PHP 57.3 PKR 281.8 PLN 3.66 QAR 3.64 RON 4.35 SAR 3.75 SEK 9.55 SGD 1.28 THB 32.4 TND 2.9 TRY 41.1 TWD 30.1
  UAH 41.4 UGX 3560 USD 1 UYU 40.1 VND 26250 XAF 564 XOF 564 ZAR 17.7`;
const PER_DOLLAR: ReadonlyMap<string, Decimal> = new Map(
  [...PER_DOLLAR_LIST.matchAll(/([A-Z]{3}) ([0-9.]+)/g)].map(([, currency = '', units = '']) => [
    currency,
    decimalOf(units),
  ]),
);

const RATE_DIGITS = 8;
const BASIS_POINTS = 10_000n;
const SPREAD_POINTS = { min: 20, max: 80 };
const SERVICE_FEE_POINTS = { min: 10, max: 60 };
const CORRIDOR_FEE_CENTS = { min: 25, max: 300 };

/** A decimal without floating point: `value / 10^scale`. */
interface Decimal {
  readonly value: bigint;
  readonly scale: number;
}

export interface Fee {
  readonly name: string;
  readonly description: string;
  readonly amount: Money;
}

/** What a quote says about money. */
export interface Terms {
  readonly source: Money;
  readonly destination: Money;
  /** Destination per source as a plain decimal with eight significant digits. */
  readonly rate: string;
  /** On top of the source amount, in its currency. */
  readonly fees: readonly Fee[];
}

export interface TermsRequest {
  /** In source or destination currency, as `amountType` says. */
  readonly amount: number;
  readonly amountType: 'SOURCE_AMOUNT' | 'DESTINATION_AMOUNT';
  /** ISO 4217, known to the table of currencies. */
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
}

/**
 * Rate, both amounts and fees of a corridor. The amounts tie: the one that was not asked for is the other times (or
 * divided by) the rate, rounded HALF_UP to its currency's digits.
 */
export function termsOf(request: TermsRequest): Terms {
  const { sourceCurrency, destinationCurrency } = request;
  const rate = rateOf(sourceCurrency, destinationCurrency);
  const bySource = request.amountType === 'SOURCE_AMOUNT';
  const asked = moneyOfNumber(request.amount, bySource ? sourceCurrency : destinationCurrency);
  const source = bySource ? asked : divided(asked, rate, sourceCurrency);
  const destination = bySource ? multiplied(asked, rate, destinationCurrency) : asked;
  return { source, destination, rate: textOf(rate), fees: feesOf(source, destinationCurrency) };
}

/** The sum of fees that are all in the currency given. */
export function totalOf(fees: readonly Fee[], currency: string): Money {
  return { minor: fees.reduce((sum, fee) => sum + fee.amount.minor, 0n), currency };
}

/**
 * An amount as the number that a JSON body carries. Exact: a quote's amounts end at 100,000,000,
 * twelve digits at most, and a double keeps fifteen.
 */
export function wireNumber(money: Money): number {
  return Number.parseFloat(formatAmount(money));
}

/** HALF_UP to the currency's digits. */
function moneyOfNumber(value: number, currency: string): Money {
  const exact = decimalOf(decimalOfNumber(value) ?? '0');
  const minor = halfUp(exact.value * power(digits(currency)), power(exact.scale));
  return { minor, currency };
}

function multiplied(money: Money, rate: Decimal, currency: string): Money {
  const minor = halfUp(
    money.minor * rate.value * power(digits(currency)),
    power(digits(money.currency)) * power(rate.scale),
  );
  return { minor, currency };
}

function divided(money: Money, rate: Decimal, currency: string): Money {
  const minor = halfUp(
    money.minor * power(rate.scale) * power(digits(currency)),
    power(digits(money.currency)) * rate.value,
  );
  return { minor, currency };
}

/** The middle rate less the corridor's spread; 1 within one currency. */
function rateOf(source: string, destination: string): Decimal {
  if (source === destination) return { value: 1n, scale: 0 };
  const from = perDollar(source);
  const to = perDollar(destination);
  const kept = BASIS_POINTS - corridorFigure(`spread ${source} ${destination}`, SPREAD_POINTS);
  const numerator = to.value * power(from.scale) * kept;
  const denominator = from.value * power(to.scale) * BASIS_POINTS;
  let scale = 0;
  while (numerator * power(scale) < denominator * power(RATE_DIGITS - 1)) scale += 1;
  return { value: halfUp(numerator * power(scale), denominator), scale };
}

function feesOf(source: Money, destinationCurrency: string): Fee[] {
  const { currency } = source;
  const corridor = `${currency} ${destinationCurrency}`;
  const points = corridorFigure(`service ${corridor}`, SERVICE_FEE_POINTS);
  const service: Fee = {
    name: 'Service fee',
    description: 'A share of the source amount',
    amount: { minor: halfUp(source.minor * points, BASIS_POINTS), currency },
  };
  if (currency === destinationCurrency) return [service];
  const cents = { minor: corridorFigure(`corridor ${corridor}`, CORRIDOR_FEE_CENTS), currency: 'USD' };
  const amount = multiplied(cents, perDollar(currency), currency);
  return [service, { name: 'Corridor fee', description: `Payout from ${currency} to ${destinationCurrency}`, amount }];
}

function perDollar(currency: string): Decimal {
  return PER_DOLLAR.get(currency) ?? { value: corridorFigure(currency, { min: 50, max: 50_000 }), scale: 2 };
}

/** A figure that is always the same for the same name, from `min` to `max`. */
function corridorFigure(name: string, { min, max }: { min: number; max: number }): bigint {
  const spread = createHash('sha256').update(name).digest().readUInt32BE();
  return BigInt(min + (spread % (max - min + 1)));
}

function decimalOf(text: string): Decimal {
  const [whole = '', fraction = ''] = text.split('.');
  return { value: BigInt(whole + fraction), scale: fraction.length };
}

function textOf({ value, scale }: Decimal): string {
  const text = value.toString().padStart(scale + 1, '0');
  if (scale === 0) return text;
  return withoutTrailing(withoutTrailing(`${text.slice(0, -scale)}.${text.slice(-scale)}`, '0'), '.');
}

function digits(currency: string): number {
  return digitsOf(currency) ?? 0;
}

function power(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

/** For what is not negative. */
function halfUp(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}
