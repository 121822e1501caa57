/** A row of a sample: its amount, and something that its quote says of it; minor units. */
export interface Point {
  readonly amount: bigint;
  readonly value: bigint;
}

/** All rows that the sample stands for. */
export interface Population {
  readonly rows: number;
  readonly amount: bigint;
}

/**
 * What the values add up to over all rows, in minor units: the straight line through the points (least squares) is taken
 * at each row, so that a fixed part per payout and a share of its amount both come out as they are. Where all points have
 * one amount it is their ratio. Exact fractions, rounded once, HALF_UP, and never below 0; for a sample of all rows it is
 * the exact sum. Undefined without points.
 */
export function estimateTotal(points: readonly Point[], all: Population): bigint | undefined {
  const sum = (of: (point: Point) => bigint): bigint => points.reduce((total, point) => total + of(point), 0n);
  const n = BigInt(points.length);
  const x = sum(({ amount }) => amount);
  const y = sum(({ value }) => value);
  if (n === 0n || x === 0n) return undefined;
  const scatter = n * sum(({ amount }) => amount * amount) - x * x;
  if (scatter === 0n) return halfUp(y * all.amount, x);
  const slope = n * sum(({ amount, value }) => amount * value) - x * y;
  return halfUp(BigInt(all.rows) * y * scatter + slope * (n * all.amount - BigInt(all.rows) * x), n * scatter);
}

/** The quotient rounded HALF_UP; 0 for one that is negative. The denominator is above 0. */
function halfUp(numerator: bigint, denominator: bigint): bigint {
  return numerator <= 0n ? 0n : (2n * numerator + denominator) / (2n * denominator);
}

/** The lowest and the highest of some plain decimals; null without any. */
export function rangeOf(decimals: readonly string[]): { readonly lowest: string; readonly highest: string } | null {
  const [first, ...others] = decimals;
  if (first === undefined) return null;
  let [lowest, highest] = [first, first];
  for (const decimal of others) {
    if (isLess(decimal, lowest)) lowest = decimal;
    if (isLess(highest, decimal)) highest = decimal;
  }
  return { lowest, highest };
}

function isLess(one: string, other: string): boolean {
  const [whole = '', fraction = ''] = one.split('.');
  const [otherWhole = '', otherFraction = ''] = other.split('.');
  const digits = Math.max(fraction.length, otherFraction.length);
  return BigInt(whole + fraction.padEnd(digits, '0')) < BigInt(otherWhole + otherFraction.padEnd(digits, '0'));
}

/** How long a run takes, in milliseconds, and what that follows from. */
export interface TimeEstimate {
  readonly ms: number;
  /** `rate`: PAYRUN_RATE is what holds it up; `latency`: how long the service takes to answer. */
  readonly basis: 'rate' | 'latency';
  readonly ratePerSecond: number | null;
  /** How long a quote took on average; null where none was answered. */
  readonly quoteMs: number | null;
  /** Payouts at a time. */
  readonly concurrency: number;
}

/**
 * How long one process pays so many rows: at the set rate, or at what the service allows where that is slower. A payment
 * request is taken to last as long as a quote did, for none was sent. Null when neither is known.
 */
export function estimateTime(
  rows: number,
  pace: { ratePerSecond: number | undefined; quoteMs: number | null; concurrency: number },
): TimeEstimate | null {
  const { ratePerSecond, quoteMs, concurrency } = pace;
  const byRate = ratePerSecond === undefined ? undefined : Math.ceil((rows * 1000) / ratePerSecond);
  const byLatency = quoteMs === null ? undefined : Math.ceil(Math.ceil(rows / concurrency) * 2 * quoteMs);
  const facts = { ratePerSecond: ratePerSecond ?? null, quoteMs, concurrency };
  if (byRate !== undefined && byRate >= (byLatency ?? 0)) return { ms: byRate, basis: 'rate', ...facts };
  return byLatency === undefined ? null : { ms: byLatency, basis: 'latency', ...facts };
}
