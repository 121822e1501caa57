import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PAYMENT_STATES, PAYOUT_STATES, type Run } from '../../src/payout.ts';
import { isRefused } from '../../src/report/row.ts';
import { type ReportSummary, summarise } from '../../src/report/summary.ts';
import { summaryText } from '../../src/report/summary-text.ts';
import { perOutcome } from '../../src/report/totals.ts';
import { payment, payout, type Row, refused, runOf, sourceOf, usd, uuid } from './rows.ts';

const ROWS: readonly Row[] = [
  payment(2, 'completed'),
  payment(3, 'accepted'),
  payment(4, 'returned'),
  payment(5, 'failed'),
  payout(6),
  payout(7, { state: 'unknown' }, { minor: 900n, currency: 'JPY' }),
  refused(8),
  refused(9, { amount: usd(300n) }),
];

async function check(rows: readonly Row[], run: Run = runOf(ROWS), changesNow?: number): Promise<ReportSummary> {
  const moved = changesNow === undefined ? {} : { changesNow: async () => changesNow };
  return summarise(sourceOf(rows, { run, ...moved }));
}

function changed(line: number, change: Partial<Row>): Row[] {
  return ROWS.map((row) => (row.line === line ? Object.assign({}, row, change) : row));
}

describe('a report', () => {
  test('ties when rows, money and payments agree with the run', async () => {
    const summary = await check(ROWS);
    expect(summary.conservation).toEqual({ rows: true, money: true, payments: true, faults: [] });
    expect(summary.ties).toBe(true);
  });

  test('of no rows ties', async () => {
    expect((await check([], runOf([]))).ties).toBe(true);
  });

  test('of a run that was cancelled before all of its file was recorded ties over what was, and says so', async () => {
    const part = ROWS.filter(({ line }) => line > 5);
    const run = { ...runOf(part), state: 'cancelled' as const, rows: 20, fileTotals: [usd(1_000_000n)] };
    const summary = await check(part, run);
    expect(summary.ties).toBe(true);
    expect(summaryText(summary)).toContain('20 rows, of which 4 were recorded before it was cancelled');
    expect((await check(part.slice(1), run)).ties).toBe(false);
  });

  const ALL = { rows: true, money: true, payments: true };
  test.each<{ name: string; rows: readonly Row[]; run?: Run; verdict: object; fault: string }>([
    {
      name: 'a payout is missing',
      rows: ROWS.filter(({ line }) => line !== 6),
      verdict: { ...ALL, rows: false, money: false },
      fault: 'rows: the file has 8, the ledger gave 7',
    },
    {
      name: 'a refused row without an amount is missing',
      rows: ROWS.filter(({ line }) => line !== 8),
      verdict: { ...ALL, rows: false },
      fault: "rows refused: 1, the run's counter says 2",
    },
    {
      name: 'a row is there twice',
      rows: ROWS.flatMap((row) => (row.line === 6 ? [row, row] : [row])),
      verdict: { ...ALL, rows: false, money: false },
      fault: 'rows: line 6 is given twice or out of order',
    },
    {
      name: 'one row stands in for another',
      rows: ROWS.map((row) => (row.line === 3 ? payment(2, 'accepted', { paymentId: uuid(3) }) : row)),
      verdict: { ...ALL, rows: false },
      fault: 'rows: line 2 is given twice or out of order',
    },
    {
      name: 'rows are out of order',
      rows: ROWS.toReversed(),
      verdict: { ...ALL, rows: false },
      fault: 'rows: line 8 is given twice or out of order',
    },
    {
      name: 'an amount differs',
      rows: changed(6, payout(6, {}, usd(10_051n))),
      verdict: { ...ALL, money: false },
      fault: 'money: the file has 505.50 USD, its rows have 505.51 USD',
    },
    {
      name: 'an amount is in another currency',
      rows: changed(7, payout(7, { state: 'unknown' }, { minor: 900n, currency: 'KRW' })),
      verdict: { ...ALL, money: false },
      fault: 'money: the file has 0 KRW, its rows have 900 KRW',
    },
    {
      name: 'a state differs from what the counters say',
      rows: changed(6, { state: 'held' }),
      verdict: { ...ALL, rows: false, money: false },
      fault: "money held: 100.50 USD, the run's counter says 0.00 USD",
    },
    {
      name: 'two states of one outcome are counted wrongly',
      rows: changed(7, { state: 'armed' }),
      verdict: { ...ALL, rows: false },
      fault: "rows armed: 1, the run's counter says 0",
    },
    {
      name: 'the counters do not add up to the file',
      rows: ROWS,
      run: runOf(ROWS, { counts: { ...runOf(ROWS).counts, ready: 0 } }),
      verdict: { ...ALL, rows: false },
      fault: "rows: the file has 8, the run's counters have 7",
    },
    {
      name: "the counters' money does not add up to the file",
      rows: ROWS,
      run: runOf(ROWS, { amounts: new Map([...runOf(ROWS).amounts, ['JPY', perOutcome(() => 0n)]]) }),
      verdict: { ...ALL, money: false },
      fault: "money: the file has 900 JPY, the run's counters have 0 JPY",
    },
    {
      name: 'the file has a total that no row has',
      rows: ROWS,
      run: runOf(ROWS, { fileTotals: [...runOf(ROWS).fileTotals, { minor: 1n, currency: 'BHD' }] }),
      verdict: { ...ALL, money: false },
      fault: 'money: the file has 0.001 BHD, its rows have 0.000 BHD',
    },
    {
      name: 'a payment stands on two rows',
      rows: changed(4, { paymentId: uuid(2).toUpperCase() }),
      verdict: { ...ALL, payments: false },
      fault: 'payments: lines 2, 4 have the same payment id',
    },
    {
      name: 'a payment has no id',
      rows: changed(3, { paymentId: null }),
      verdict: { ...ALL, payments: false },
      fault: 'payments: 1 without an id, the first on line 3',
    },
  ])('does not tie when $name', async ({ rows, run, verdict, fault }) => {
    const summary = await check(rows, run);
    expect(summary.conservation).toMatchObject(verdict);
    expect(summary.conservation.faults).toContain(fault);
    expect(summary.ties).toBe(false);
  });

  test('names ten repeated payments and counts the rest', async () => {
    const rows = Array.from({ length: 30 }, (_, index) =>
      payment(index + 2, 'completed', { paymentId: uuid(Math.floor(index / 2)) }),
    );
    const { conservation } = await check(rows, runOf(rows));
    expect(conservation.faults).toHaveLength(11);
    expect(conservation.faults).toContain('payments: at least 5 more ids stand on more than one line');
  });
});

describe('a run that moves while its rows are read', () => {
  const moved = changed(3, { state: 'completed' });

  test('ties although its counters are older than its rows', async () => {
    expect((await check(moved, runOf(ROWS), 13)).ties).toBe(true);
  });

  test('is held to its counters when nothing moved after all', async () => {
    expect((await check(moved, runOf(ROWS), 12)).ties).toBe(false);
  });

  test.each([
    { name: 'a row', rows: moved.slice(1) },
    { name: 'money', rows: changed(6, payout(6, {}, usd(1n))) },
    { name: 'a payment id', rows: changed(3, { paymentId: null }) },
  ])('still does not tie when $name is lost', async ({ rows }) => {
    expect((await check(rows, runOf(ROWS), 13)).ties).toBe(false);
  });
});

function richer(row: Row): Row {
  if (isRefused(row))
    return { ...row, amount: { minor: (row.amount?.minor ?? 0n) + 1n, currency: row.amount?.currency ?? 'USD' } };
  return { ...row, row: { ...row.row, amount: { ...row.row.amount, minor: row.row.amount.minor + 1n } } };
}

function elsewhere(row: Row): Row {
  if (isRefused(row)) return payout(row.line, {}, row.amount ?? usd(1n));
  return { ...row, state: row.state === 'held' ? 'cancelled' : 'held' };
}

describe('conservation over any rows', () => {
  const anyRow = fc.record({
    state: fc.constantFrom(...PAYOUT_STATES, 'refused' as const),
    currency: fc.constantFrom('USD', 'JPY', 'BHD', 'EUR'),
    minor: fc.bigInt({ min: 1n, max: 10_000_000_000n }),
    gap: fc.integer({ min: 1, max: 3 }),
  });
  const anyRows = fc.array(anyRow, { minLength: 1, maxLength: 60 }).map((given) => {
    let line = 1;
    return given.map(({ state, currency, minor, gap }): Row => {
      line += gap;
      const amount = { minor, currency };
      if (state === 'refused') return refused(line, { amount });
      return payout(line, { state, paymentId: PAYMENT_STATES.includes(state) ? uuid(line) : null }, amount);
    });
  });
  const rowsAndPlace = anyRows.chain((rows) => fc.record({ rows: fc.constant(rows), at: fc.nat(rows.length - 1) }));

  test('holds for the rows as they are', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows, async (rows) => {
        const summary = await check(rows, runOf(rows));
        expect(summary.conservation.faults).toEqual([]);
        expect(Object.values(summary.outcomes).reduce((sum, count) => sum + count, 0)).toBe(rows.length);
      }),
    );
  });

  test.each<{ name: string; damage: (rows: readonly Row[], at: number) => Row[] }>([
    { name: 'removed', damage: (rows, at) => rows.toSpliced(at, 1) },
    { name: 'doubled', damage: (rows, at) => rows.flatMap((row, index) => (index === at ? [row, row] : [row])) },
    {
      name: 'given another amount',
      damage: (rows, at) => rows.map((row, index) => (index === at ? richer(row) : row)),
    },
    {
      name: 'given another state',
      damage: (rows, at) => rows.map((row, index) => (index === at ? elsewhere(row) : row)),
    },
  ])('fails when one is $name', async ({ damage }) => {
    await fc.assert(
      fc.asyncProperty(rowsAndPlace, async ({ rows, at }) => {
        expect((await check(damage(rows, at), runOf(rows))).ties).toBe(false);
      }),
    );
  });
});
