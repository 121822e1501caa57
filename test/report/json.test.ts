import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { OUTCOMES } from '../../src/payout.ts';
import { reportJson } from '../../src/report/json.ts';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { payment, payout, type Row, refused, runOf, sourceOf, textOf, usd } from './rows.ts';

const rowSchema = z.record(z.string(), z.unknown());
const reportSchema = z.looseObject({ rows: z.array(rowSchema) });

async function reportOf(rows: readonly Row[], change = {}): Promise<z.infer<typeof reportSchema>> {
  return reportSchema.parse(JSON.parse(await textOf(reportJson(sourceOf(rows, change)))));
}

describe('reportJson', () => {
  test('is one JSON document with every key of the design', async () => {
    const report = await reportOf([payment(2, 'completed'), payout(3)], {
      reports: ['/reports/a.csv'],
      overrides: ['redis-durability'],
      auditHead: 'cafe',
    });
    expect(report).toMatchObject({
      runId: 'r7k2m9',
      state: 'finished',
      sandbox: true,
      file: { name: 'payouts.csv', sha256: 'ab'.repeat(32), rows: 2 },
      reports: ['/reports/a.csv'],
      service: 'sandbox',
      environment: 'test',
      capabilities: { 'payment-id-is-quote-id': true, 'expired-quote-refused': false },
      overrides: ['redis-durability'],
      conservation: { rows: true, money: true },
      faults: [],
      auditHead: 'cafe',
      version: '0.1.0',
      createdAt: '2026-01-15T11:00:00.000Z',
    });
    expect(Object.keys(Object(report['outcomes']))).toEqual([...OUTCOMES]);
    expect(report['totals']).toEqual([
      expect.objectContaining({ currency: 'USD', file: '201.00', paid: '100.50', waiting: '100.50', failed: '0.00' }),
    ]);
  });

  test("gives a row the CSV's columns and its fees, null for what is absent", async () => {
    const fees = [usd(7n), { minor: 5n, currency: 'MXN' }];
    const { rows } = await reportOf([payment(2, 'completed', { fees }), payout(3), refused(4)]);
    const [paid, waiting, refusedRow] = rows;
    for (const row of rows) expect(Object.keys(row)).toEqual([...REPORT_COLUMNS, 'fees']);
    expect(paid).toMatchObject({ line: 2, attempts: 1, amount: '100.50', fee: null, feeCurrency: null });
    expect(paid?.['fees']).toEqual([
      { amount: '0.07', currency: 'USD' },
      { amount: '0.05', currency: 'MXN' },
    ]);
    expect(waiting).toMatchObject({ paymentId: null, sentAt: null, rate: null, attempts: 0, fees: [] });
    expect(refusedRow).toMatchObject({
      outcome: 'refused',
      reasonCode: 'E_AMOUNT',
      amount: '1,5',
      originatorIdentityId: null,
    });
  });

  test('gives words exactly and shows no control character', async () => {
    const reason = '=1+1 \u0000\n\u001b[31m \u009b \u202e \u2028 🙂 \u{e0041} "quoted"';
    const source = sourceOf([payment(2, 'failed', { reason })]);
    const text = await textOf(reportJson(source));
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(reportSchema.parse(JSON.parse(text)).rows[0]?.['reason']).toBe(reason);
  });

  test('says so when it does not tie', async () => {
    const rows = [payment(2, 'completed'), payout(3)];
    const report = await reportOf(rows.slice(1), { run: runOf(rows) });
    expect(report['conservation']).toEqual({ rows: false, money: false });
    expect(report['faults']).toContain('rows: the file has 2, the ledger gave 1');
  });

  test('calls the money wrong when only the payments do not tie', async () => {
    const report = await reportOf([payment(2, 'completed', { paymentId: null })]);
    expect(report['conservation']).toEqual({ rows: true, money: false });
  });

  test('gives no rows as an empty list', async () => {
    expect((await reportOf([])).rows).toEqual([]);
  });

  test('skips empty batches', async () => {
    const rows = [payout(2), payout(3)];
    async function* batches(): AsyncGenerator<readonly Row[]> {
      yield [];
      yield rows.slice(0, 1);
      yield [];
      yield rows.slice(1);
    }
    expect((await reportOf(rows, { rows: batches() })).rows).toHaveLength(2);
  });

  test('hands out each batch before it asks for the next', async () => {
    const asked: number[] = [];
    async function* batches(): AsyncGenerator<readonly Row[]> {
      for (const line of [2, 3, 4]) {
        asked.push(line);
        yield [payout(line)];
      }
    }
    const askedAtPiece: number[] = [];
    const pieces: string[] = [];
    const run = runOf([payout(2), payout(3), payout(4)]);
    for await (const piece of reportJson(sourceOf([], { run, rows: batches() }))) {
      pieces.push(piece);
      askedAtPiece.push(asked.length);
    }
    expect(askedAtPiece).toEqual([0, 1, 2, 3, 3]);
    expect(reportSchema.parse(JSON.parse(pieces.join(''))).rows).toHaveLength(3);
  });
});
