import { describe, expect, test } from 'vitest';
import type { PayoutRow } from '../../src/payout.ts';
import { type CorridorRows, inTurn, openCorridors, type SampleSize } from '../../src/runs/preview/corridor.ts';
import { costBasisOf, type QuotedRow } from '../../src/runs/preview/cost-basis.ts';
import { estimateTime, estimateTotal, rangeOf } from '../../src/runs/preview/estimate.ts';
import { rowAt } from './recorded-run.ts';

function rowOf(line: number, amount: bigint, changes: Partial<PayoutRow> = {}): PayoutRow {
  return { ...rowAt(line), amount: { minor: amount, currency: 'USD' }, ...changes };
}

function corridorsOf(rows: Iterable<PayoutRow>, size: SampleSize, rowsMax = 20_000): readonly CorridorRows[] {
  const corridors = openCorridors(size, rowsMax);
  for (const row of rows) corridors.add(row);
  return corridors.result();
}

/** Many rows in 50 corridors. */
function* rowsOfMany(): Generator<PayoutRow> {
  for (let line = 0; line < 30_000; line++) {
    yield rowOf(line, BigInt(500 + line), { destinationCurrency: `X${line % 50}` });
  }
}

const linesOf = (corridor: CorridorRows | undefined): number[] => (corridor?.sample ?? []).map(({ line }) => line);

describe('the sample of a corridor', () => {
  test('is every row where there are no more than wanted', () => {
    const [corridor] = corridorsOf(
      Array.from({ length: 20 }, (_, line) => rowOf(line, 500n)),
      20,
    );
    expect(linesOf(corridor)).toEqual(Array.from({ length: 20 }, (_, line) => line));
  });

  test('is spread evenly over the file, has the smallest and the largest row, and is the same every time', () => {
    const rows = Array.from({ length: 10_000 }, (_, line) => rowOf(line, 500n + BigInt((line * 7919) % 10_000)));
    const [corridor] = corridorsOf(rows, 20);
    expect(corridor).toMatchObject({ rows: 10_000, amount: rows.reduce((sum, { amount }) => sum + amount.minor, 0n) });
    const lines = linesOf(corridor);
    expect(lines.length).toBeGreaterThanOrEqual(20);
    expect(lines.length).toBeLessThanOrEqual(22);
    const amounts = (corridor?.sample ?? []).map(({ amount }) => amount.minor);
    expect(amounts).toContain(500n);
    expect(amounts).toContain(10_499n);
    const even = lines.filter((line) => line % 256 === 0);
    const gaps = even.slice(1).map((line, index) => line - (even[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1024);
    expect(even.at(-1)).toBeGreaterThan(9000);
    expect(linesOf(corridorsOf(rows, 20)[0])).toEqual(lines);
  });

  test('does not grow with the file, and gets smaller when there are many corridors', () => {
    const corridors = corridorsOf(rowsOfMany(), 100, 500);
    expect(corridors).toHaveLength(50);
    for (const { sample } of corridors) expect(sample.length).toBeLessThanOrEqual(12);
  });

  test('tells currencies, amount type and third-party payments apart', () => {
    const corridors = corridorsOf(
      [
        rowOf(2, 500n),
        rowOf(3, 500n, { originatorIdentityId: 'a' }),
        rowOf(4, 500n, { amountType: 'DESTINATION_AMOUNT' }),
        rowOf(5, 500n, { destinationCurrency: 'INR' }),
        rowOf(6, 500n),
      ],
      'all',
    );
    expect(corridors.map(linesOf)).toEqual([[2, 6], [3], [4], [5]]);
  });

  test('is asked for in turn, so that each corridor is heard before any is heard twice', () => {
    const rows = [rowOf(2, 1n), rowOf(3, 1n), rowOf(4, 1n), rowOf(5, 1n, { destinationCurrency: 'INR' })];
    expect(inTurn(corridorsOf(rows, 'all')).map(({ line }) => line)).toEqual([2, 5, 3, 4]);
  });
});

/** A fixed part, and half a percent. */
function fee(amount: bigint): bigint {
  return 250n + (amount * 5n) / 1000n;
}

describe('an estimate', () => {
  test('of all rows from all of them is their sum', () => {
    const points = [17n, 3n, 99n, 3n].map((amount, index) => ({ amount, value: BigInt(index * index) }));
    expect(estimateTotal(points, { rows: 4, amount: 122n })).toBe(14n);
  });

  test('takes up a fixed fee and a share of the amount as they are', () => {
    const all = Array.from({ length: 5000 }, (_, index) => BigInt(1000 * (1 + ((index * 37) % 4001))));
    const sample = all.filter((_, index) => index % 250 === 3);
    const points = sample.map((amount) => ({ amount, value: fee(amount) }));
    const amount = all.reduce((sum, one) => sum + one, 0n);
    expect(estimateTotal(points, { rows: all.length, amount })).toBe(all.reduce((sum, one) => sum + fee(one), 0n));
  });

  test('from rows of one amount goes by their ratio, rounded HALF_UP', () => {
    const points = [
      { amount: 300n, value: 10n },
      { amount: 300n, value: 11n },
    ];
    expect(estimateTotal(points, { rows: 3, amount: 900n })).toBe(32n);
    expect(estimateTotal([{ amount: 2n, value: 1n }], { rows: 3, amount: 5n })).toBe(3n);
  });

  test('is never below zero, and there is none without points', () => {
    const points = [
      { amount: 100n, value: 50n },
      { amount: 200n, value: 0n },
    ];
    expect(estimateTotal(points, { rows: 10, amount: 9000n })).toBe(0n);
    expect(estimateTotal([], { rows: 10, amount: 9000n })).toBeUndefined();
  });

  test('is exact beyond what a double holds', () => {
    const amount = 9_007_199_254_740_993n;
    const points = [
      { amount, value: amount },
      { amount: 1n, value: 1n },
    ];
    expect(estimateTotal(points, { rows: 3, amount: 2n * amount + 1n })).toBe(2n * amount + 1n);
  });

  test('of the rates goes by their value, not by their text', () => {
    expect(rangeOf(['9.99', '18.69', '10', '18.7'])).toEqual({ lowest: '9.99', highest: '18.7' });
    expect(rangeOf([])).toBeNull();
  });
});

describe('the time that a run takes', () => {
  test('follows from the rate, where one is set and the service keeps up', () => {
    const time = estimateTime(1000, { ratePerSecond: 100, quoteMs: 50, concurrency: 64 });
    expect(time).toMatchObject({ ms: 10_000, basis: 'rate' });
  });

  test('follows from how long the service takes, where that is slower', () => {
    const time = estimateTime(1000, { ratePerSecond: 100, quoteMs: 5000, concurrency: 64 });
    expect(time).toMatchObject({ ms: 160_000, basis: 'latency' });
  });

  test('is known without a rate, and unknown without either', () => {
    expect(estimateTime(100, { ratePerSecond: undefined, quoteMs: 200, concurrency: 10 })).toEqual({
      ms: 4000,
      basis: 'latency',
      ratePerSecond: null,
      quoteMs: 200,
      concurrency: 10,
    });
    expect(estimateTime(100, { ratePerSecond: undefined, quoteMs: null, concurrency: 10 })).toBeNull();
    expect(estimateTime(100, { ratePerSecond: 50, quoteMs: null, concurrency: 10 })).toMatchObject({ ms: 2000 });
  });
});

function quoted(source: bigint, destination: bigint | null, paid: bigint): QuotedRow {
  return {
    row: rowOf(2, source),
    quote: {
      quoteId: 'q',
      expiresAt: null,
      lifeMs: null,
      sourceAmount: { minor: source, currency: 'USD' },
      destinationAmount: destination === null ? null : { minor: destination, currency: 'MXN' },
      rate: '18.5',
      fees: [{ minor: paid, currency: 'USD' }],
    },
  };
}

describe('the cost of a corridor', () => {
  test('is what leaves with fees for what arrives: of all quotes together, and of the dearest', () => {
    const basis = costBasisOf([quoted(100n, 1850n, 50n), quoted(10_000n, 185_000n, 100n), quoted(500n, null, 1n)]);
    expect(basis).toEqual({
      mean: { debited: 10_250n, arrives: 186_850n },
      worst: { debited: 150n, arrives: 1850n },
    });
  });

  test('is not known when no quote shows both amounts', () => {
    expect(costBasisOf([quoted(100n, null, 50n)])).toBeNull();
  });
});
