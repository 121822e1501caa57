import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outcomeOf, PAYOUT_STATES } from '../../src/payout.ts';
import { reportCsv } from '../../src/report/csv.ts';
import { REPORT_COLUMNS, type ReportColumn, reportRow } from '../../src/report/row.ts';
import { BENEFICIARY, payment, payout, type Row, refused, sourceOf, textOf, usd, uuid } from './rows.ts';

const HEADER =
  'line,reference,beneficiaryIdentityId,originatorIdentityId,amount,amountType,sourceCurrency,destinationCurrency,' +
  'sourceAmount,destinationAmount,rate,fee,feeCurrency,quoteId,paymentId,outcome,paymentState,reasonCode,reason,' +
  'attempts,quotedAt,sentAt,settledAt,beneficiaryName';

async function csvOf(rows: readonly Row[]): Promise<string> {
  return textOf(reportCsv(sourceOf(rows)));
}

async function cellsOf(rows: readonly Row[]): Promise<Record<string, string>[]> {
  return parse(await csvOf(rows), { columns: true, record_delimiter: '\r\n' });
}

const MACHINE_COLUMNS = REPORT_COLUMNS.filter((column) => column !== 'reasonCode' && column !== 'reason');

function machineCells(cells: Readonly<Partial<Record<ReportColumn, string | number | null>>>): string[] {
  return MACHINE_COLUMNS.map((column) => String(cells[column] ?? ''));
}

describe('reportCsv', () => {
  test('has the columns of the design in their order, and only them when there are no rows', async () => {
    expect(await csvOf([])).toBe(`${HEADER}\r\n`);
  });

  test('writes a paid row exactly, each cell in its column', async () => {
    const text = await csvOf([payment(2, 'completed')]);
    expect(text.split('\r\n')[1]).toBe(
      `2,INV-2,${BENEFICIARY},,100.50,SOURCE_AMOUNT,USD,MXN,100.50,1720.11,17.115522,1.25,USD,${uuid(2)},${uuid(2)},` +
        'paid,COMPLETED,,,1,2026-01-15T09:30:00.000Z,2026-01-15T09:30:01.250Z,2026-01-15T09:31:00.007Z,',
    );
  });

  test('leaves what a row never had empty', async () => {
    const text = await csvOf([payout(7)]);
    expect(text.split('\r\n')[1]).toBe(`7,INV-7,${BENEFICIARY},,100.50,SOURCE_AMOUNT,USD,MXN,,,,,,,,waiting,,,,0,,,,`);
  });

  test.each(PAYOUT_STATES)('names the outcome of a payout that is %s', async (state) => {
    const [cells] = await cellsOf([payout(2, { state })]);
    expect(cells?.['outcome']).toBe(outcomeOf(state));
  });

  test("shows a refused row's cells as they stood in the file, with its code and message", async () => {
    const cells = { reference: 'INV 9', beneficiaryIdentityId: 'nobody', amount: '1,5', extra: 'not a column' };
    const text = await csvOf([refused(9, { cells, code: 'E_AMOUNT', message: 'write 1.5' })]);
    expect(text.split('\r\n')[1]).toBe('9,INV 9,nobody,,"1,5",,,,,,,,,,,refused,,E_AMOUNT,write 1.5,0,,,,');
  });

  test('writes money with the digits of its currency', async () => {
    const yen = payout(2, {}, { minor: 1000n, currency: 'JPY' });
    const fils = payout(3, { sourceAmount: { minor: 1n, currency: 'BHD' } }, { minor: 1000n, currency: 'BHD' });
    const [first, second] = await cellsOf([yen, fils]);
    expect([first?.['amount'], second?.['amount'], second?.['sourceAmount']]).toEqual(['1000', '1.000', '0.001']);
  });

  test.each([
    { name: 'none', fees: [], fee: '', feeCurrency: '' },
    { name: 'one', fees: [usd(7n)], fee: '0.07', feeCurrency: 'USD' },
    { name: 'finer than its currency', fees: [{ ...usd(37n), digits: 4 }], fee: '0.0037', feeCurrency: 'USD' },
    { name: 'one of two finer', fees: [usd(107n), { ...usd(37n), digits: 4 }], fee: '1.0737', feeCurrency: 'USD' },
    { name: 'two in one currency', fees: [usd(7n), usd(100n)], fee: '1.07', feeCurrency: 'USD' },
    { name: 'two in two currencies', fees: [usd(7n), { minor: 5n, currency: 'MXN' }], fee: '', feeCurrency: '' },
  ])('sums fees only in one currency: $name', async ({ fees, fee, feeCurrency }) => {
    const [cells] = await cellsOf([payment(2, 'completed', { fees })]);
    expect(cells).toMatchObject({ fee, feeCurrency });
  });

  test("neutralises everybody else's words and no amount, rate or time", async () => {
    const words = { paymentState: '=FOO', reasonCode: '+R1', reason: '-1', quoteId: '@q', paymentId: '\t1' };
    const amounts = { sourceAmount: usd(-5n), rate: '-0.5', fees: [usd(-1n)] };
    const [paid, refusedCells] = await cellsOf([
      payment(2, 'failed', { ...words, ...amounts }),
      refused(3, { cells: { reference: '=1+1', amount: '-1', sourceCurrency: '@USD' }, message: '=cmd|x' }),
    ]);
    expect(paid).toMatchObject({ paymentState: "'=FOO", reasonCode: "'+R1", reason: "'-1", quoteId: "'@q" });
    expect(paid).toMatchObject({ paymentId: "'\\u00091", sourceAmount: '-0.05', rate: '-0.5', fee: '-0.01' });
    expect(refusedCells).toMatchObject({
      reference: "'=1+1",
      amount: "'-1",
      sourceCurrency: "'@USD",
      reason: "'=cmd|x",
    });
  });

  test('keeps one line a row whatever the words hold', async () => {
    const nasty = 'a\r\nb,"c"\u2028\u0000\u001b[2J';
    const text = await csvOf([payment(2, 'failed', { reason: nasty }), refused(3, { cells: { reference: nasty } })]);
    expect(text.split('\r\n')).toHaveLength(4);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('takes a cell called like a property of every object for absent', async () => {
    const cells: Record<string, string> = JSON.parse('{"__proto__":"x","constructor":"y"}');
    const [read] = await cellsOf([refused(2, { cells })]);
    expect(read?.['reference']).toBe('');
  });

  test('is read back with every machine field equal', async () => {
    const words = fc.option(fc.string({ unit: 'binary', maxLength: 20 }), { nil: null });
    const anyRow = fc.record({
      state: fc.constantFrom(...PAYOUT_STATES),
      minor: fc.bigInt({ min: 100n, max: 10_000_000_000n }),
      settledAt: fc.option(fc.integer({ min: 0, max: 4_000_000_000_000 }), { nil: null }),
      attempts: fc.nat(25),
      reason: words,
      reasonCode: words,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyRow, { minLength: 1, maxLength: 12 }), async (given) => {
        const rows = given.map(({ minor, ...change }, index) =>
          payment(index + 2, change.state, { ...change, sourceAmount: usd(minor) }),
        );
        const read = await cellsOf(rows);
        expect(read.map((cells) => machineCells(cells))).toEqual(rows.map((row) => machineCells(reportRow(row))));
      }),
      { numRuns: 100 },
    );
  });
});
