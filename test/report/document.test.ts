import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../src/payout.ts';
import { runDocument, summaryJson } from '../../src/report/document.ts';
import { summarise } from '../../src/report/summary.ts';
import { payment, payout, refused, runOf, sourceOf, usd } from './rows.ts';

const ROWS = [
  payment(2, 'completed'),
  payment(3, 'accepted'),
  payout(4, { state: 'armed' }),
  payout(5, { state: 'held' }, { minor: 5000n, currency: 'JPY' }),
  refused(6, { amount: usd(100n) }),
];

describe('runDocument', () => {
  test("is the run's own counters under the keys of the design, all outcomes present", () => {
    const document = runDocument(runOf(ROWS), { sandbox: false, capabilities: {}, reports: ['/r/a.v1.csv'] });
    expect(Object.keys(document)).toEqual([
      'runId',
      'state',
      'sandbox',
      'file',
      'outcomes',
      'totals',
      'reports',
      'capabilities',
      'reconciled',
      'funds',
    ]);
    expect(document.outcomes).toEqual({
      waiting: 0,
      unknown: 1,
      pending: 1,
      paid: 1,
      failed: 0,
      returned: 0,
      rejected: 0,
      held: 1,
      cancelled: 0,
      refused: 1,
    });
    expect(document.totals.map((total) => Object.keys(total))).toEqual([
      ['currency', 'file', ...OUTCOMES],
      ['currency', 'file', ...OUTCOMES],
    ]);
    expect(document.totals[0]).toMatchObject({ currency: 'JPY', file: '5000', held: '5000', paid: '0' });
    expect(document.totals[1]).toMatchObject({ currency: 'USD', file: '302.50', paid: '100.50', refused: '1.00' });
    expect(document).toMatchObject({ sandbox: false, capabilities: {}, reports: ['/r/a.v1.csv'] });
  });

  test('shows a currency of the file that has no counter yet', () => {
    const run = runOf([], { fileTotals: [usd(500n)], rows: 1 });
    expect(runDocument(run, { sandbox: true, capabilities: {}, reports: [] }).totals).toEqual([
      expect.objectContaining({ currency: 'USD', file: '5.00', waiting: '0.00' }),
    ]);
  });
});

describe('summaryJson', () => {
  test("begins as the run's document does and adds what a report says", async () => {
    const source = sourceOf(ROWS, { reports: ['/r/a.v1.csv'] });
    const summary = summaryJson(await summarise(source));
    const about = { sandbox: true, capabilities: {}, reports: ['/r/a.v1.csv'] };
    const { reconciled: _, funds: __, ...document } = runDocument(source.run, about);
    expect(summary).toMatchObject(document);
    expect(Object.keys(summary).join(' ')).toBe(
      'runId state sandbox file outcomes totals reports service environment capabilities overrides deadQuotes ' +
        'auditHead version createdAt booking paymentsWithoutAmount conservation hashes faults',
    );
    expect(summary.booking).toEqual([
      {
        currency: 'USD',
        debited: '201.00',
        debitedPayments: 2,
        fees: '2.50',
        returned: '0.00',
        returnedPayments: 0,
        returnedFees: '0.00',
      },
    ]);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });

  test.each([
    { deadQuotes: 3, deadQuotesFound: null, shown: { proven: 3, found: null } },
    { deadQuotes: 3, deadQuotesFound: 0, shown: { proven: 3, found: 0 } },
  ])('says how many dead quotes were found: $shown', async ({ shown, ...counts }) => {
    const summary = summaryJson(await summarise(sourceOf(ROWS, { run: runOf(ROWS, counts) })));
    expect(summary.deadQuotes).toEqual(shown);
  });
});
