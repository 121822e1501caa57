import { describe, expect, test } from 'vitest';
import type { ReportSource } from '../../src/report/source.ts';
import { summarise } from '../../src/report/summary.ts';
import { summaryText } from '../../src/report/summary-text.ts';
import { payment, payout, type Row, refused, runOf, sourceOf } from './rows.ts';

const ROWS: readonly Row[] = [
  payment(2, 'completed'),
  payment(3, 'returned'),
  payment(4, 'accepted'),
  payout(5, { state: 'held' }, { minor: 123_456n, currency: 'JPY' }),
  refused(6),
];

async function linesOf(rows: readonly Row[], change: Partial<ReportSource> = {}): Promise<string[]> {
  return summaryText(await summarise(sourceOf(rows, change))).split('\n');
}

describe('summaryText', () => {
  test('fits on one screen, aligned, with rows and money per outcome against the file', async () => {
    const lines = await linesOf(ROWS, { run: runOf(ROWS, { deadQuotes: 2 }) });
    expect(lines).toEqual([
      'sandbox: no money moved',
      '',
      'run      r7k2m9, finished',
      'file     payouts.csv, 5 rows',
      `sha256   ${'ab'.repeat(32)}`,
      'service  sandbox, test',
      'made     2026-01-15T11:00:00.000Z by payrun 0.1.0',
      '',
      '      pending    paid  returned    held  refused   total  in the file',
      'rows        1       1         1       1        1       5            5',
      'JPY         0       0         0  123456        0  123456       123456',
      'USD    100.50  100.50    100.50    0.00     0.00  301.50       301.50',
      '',
      'for booking  payments  debited  fees  returned  amount  fees',
      'USD                 2   201.00  2.50         1  100.50  1.25',
      '',
      'quotes proven dead  2, 0 of 2 found',
      'capabilities        payment-id-is-quote-id yes, expired-quote-refused not known',
      'overrides           none',
      'rows in the ledger  not compared: the audit log has no hash of them',
      'audit log           empty',
      '',
    ]);
  });

  test('says first of all that it does not tie', async () => {
    const lines = await linesOf(ROWS.slice(1), { run: runOf(ROWS) });
    expect(lines.slice(0, 2)).toEqual([
      '!!! THIS REPORT DOES NOT TIE: do not book from it',
      '!!! rows: the file has 5, the ledger gave 4',
    ]);
  });

  test('shows ten faults and counts the others', async () => {
    const many = Array.from({ length: 26 }, (_, index) => payment(index + 2, 'completed', { paymentId: 'one' }));
    const lines = await linesOf(many, { run: runOf(ROWS) });
    const alarms = lines.filter((line) => line.startsWith('!!!'));
    expect(alarms).toHaveLength(12);
    expect(alarms.at(-1)).toMatch(/^!!! and [0-9]+ more$/);
  });

  test('raises the alarm when a quote that was proven dead was found', async () => {
    const lines = await linesOf(ROWS, { run: runOf(ROWS, { deadQuotes: 3, deadQuotesFound: 1 }) });
    expect(lines[0]).toBe('!!! PAYMENTS FOUND FOR 1 OF 3 QUOTES PROVEN DEAD: look for double payments');
  });

  test('tells a look-up that is still to come from one that found nothing', async () => {
    const lines = await linesOf(ROWS, { run: runOf(ROWS, { deadQuotes: 3, deadQuotesFound: null }) });
    expect(lines).toContain('quotes proven dead  3, not looked up once more yet');
  });

  test('does not call real money a sandbox, and names overrides and the reason of a pause', async () => {
    const run = runOf(ROWS, { state: 'paused', pauseReason: 'funds are short' });
    const change = {
      run,
      sandbox: false,
      service: 'https://pay.example',
      overrides: ['redis-durability'],
      auditHead: 'cafe',
    };
    const text = (await linesOf(ROWS, change)).join('\n');
    expect(text).not.toContain('sandbox');
    expect(text).toContain('run      r7k2m9, paused: funds are short');
    expect(text).toContain('overrides           redis-durability');
    expect(text).toContain('audit log           cafe');
  });

  test('says how many payments are missing from the booking', async () => {
    const rows = [payment(2, 'accepted', { sourceAmount: null, fees: [] })];
    expect(await linesOf(rows)).toContain('payments not counted because their source amount is not known: 1');
    expect(await linesOf([payout(2)])).toContain('debited: nothing');
  });

  test('gives a run in many currencies a line each, of the outcomes that occur', async () => {
    const currencies = ['AUD', 'CAD', 'CHF', 'EUR', 'GBP'];
    const rows = currencies.map((currency, index) => payout(index + 2, {}, { minor: 100n, currency }));
    const lines = await linesOf(rows);
    expect(lines).toContain('      waiting  total  in the file');
    expect(lines.filter((line) => /^[A-Z]{3} +1\.00 +1\.00 +1\.00$/.test(line))).toHaveLength(5);
  });

  test('lets no name steer the terminal', async () => {
    const run = runOf(ROWS, { fileName: '\u001b[2Jx\r\u202e.csv', pauseReason: '\n!!! fake' });
    const text = (await linesOf(ROWS, { run, service: '\u009b31m', overrides: ['\u0007'] })).join('\n');
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain('\\u001b[2Jx\\u000d\\u202e.csv');
  });
});
