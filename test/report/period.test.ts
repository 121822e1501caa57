import { describe, expect, test } from 'vitest';
import { type Dimension, openPeriod, type PeriodLine, periodFaults } from '../../src/report/period/period.ts';
import { periodCsv, periodDocument } from '../../src/report/period/period-tables.ts';
import { summarise } from '../../src/report/summary.ts';
import { payment, payout, type Row, refused, runOf, sourceOf, usd } from './rows.ts';

const MARCH: Row[] = [
  payment(2, 'completed'),
  payment(3, 'completed', { sourceAmount: usd(20_000n), destinationAmount: { minor: 340_000n, currency: 'MXN' } }),
  payment(4, 'failed', { reasonCode: 'AC04' }),
  refused(5, { amount: usd(100n) }),
];
const APRIL: Row[] = [
  payment(2, 'accepted', { fees: [] }),
  payout(3, {}, { minor: 5000n, currency: 'EUR' }),
  refused(4, { code: 'E_CURRENCY' }),
];

async function linesOf(...runs: Row[][]): Promise<PeriodLine[]> {
  const period = openPeriod();
  for (const [at, rows] of runs.entries()) period.add(`run-${at + 1}`, rows);
  return await period.lines();
}

function named(lines: readonly PeriodLine[], by: Dimension): string[] {
  return lines.filter((line) => line.by === by).map(({ name, currency }) => `${name} ${currency}`.trim());
}

describe('a period', async () => {
  test('has a line for each currency, corridor, beneficiary, reason and run', async () => {
    const lines = await linesOf(MARCH, APRIL);
    expect(named(lines, 'currency')).toEqual(['unreadable', 'EUR EUR', 'USD USD']);
    expect(named(lines, 'corridor')).toEqual(['refused rows', 'EUR to MXN EUR', 'USD to MXN USD', 'refused rows USD']);
    expect(named(lines, 'reason')).toEqual(['refused E_CURRENCY', 'failed AC04 USD', 'refused E_AMOUNT USD']);
    expect(named(lines, 'beneficiary')).toHaveLength(4);
    expect(named(lines, 'run')).toEqual(['run-2', 'run-2 EUR', 'run-1 USD', 'run-2 USD']);
  });

  test('adds up outcomes, money, fees, rates and the time to the final state', async () => {
    const line = (await linesOf(MARCH, APRIL)).find(({ by, name }) => by === 'corridor' && name === 'USD to MXN');
    const report = { from: 0, end: 1, createdAt: 1, runs: [], leftOut: [], earlier: [], faults: [] };
    expect(periodDocument({ ...report, lines: line ? [line] : [] }).lines[0]).toMatchObject({
      rows: 4,
      outcomes: { paid: 2, pending: 1, failed: 1 },
      amounts: { paid: '201.00', pending: '100.50', failed: '100.50', waiting: '0.00' },
      debited: [{ amount: '401.00', currency: 'USD' }],
      arrived: [{ amount: '6840.22', currency: 'MXN' }],
      fees: [{ amount: '2.50', currency: 'USD' }],
      quotedRate: '17.11552200',
      rate: '17.05790523',
      rateWithFees: '16.95221809',
      secondsToFinal: '58.8',
    });
  });

  test('tells the time to the final state also of payments that failed or came back', async () => {
    const sentAt = Date.UTC(2026, 0, 15, 10, 0);
    const rows = [
      payment(2, 'failed', { sentAt, settledAt: sentAt + 10_000 }),
      payment(3, 'returned', { sentAt, settledAt: sentAt + 50_000 }),
      payment(4, 'accepted', { sentAt, settledAt: null }),
    ];
    const [line] = await linesOf(rows);
    expect(line).toMatchObject({ finalMs: 30_000, outcomes: { failed: 1, returned: 1, pending: 1 } });
  });

  test('tells the reasons of each corridor and of each beneficiary', async () => {
    const one = payment(2, 'failed', { reasonCode: 'AC04' });
    const other = { ...one, line: 3, row: { ...one.row, destinationCurrency: 'BRL' } };
    const lines = await linesOf([one, other, refused(4)]);
    expect(named(lines, 'corridor-reason')).toEqual([
      'refused rows: refused E_AMOUNT',
      'USD to BRL: failed AC04 USD',
      'USD to MXN: failed AC04 USD',
    ]);
    const { beneficiaryIdentityId } = one.row;
    expect(named(lines, 'beneficiary-reason')).toEqual([
      'refused rows: refused E_AMOUNT',
      `${beneficiaryIdentityId}: failed AC04 USD`,
    ]);
  });

  test('does not tie where a reason is missing or counted twice', async () => {
    const summaries = [await summarise(sourceOf(MARCH, { run: runOf(MARCH) }))];
    const lines = await linesOf(MARCH);
    for (const by of ['reason', 'corridor-reason', 'beneficiary-reason'] as const) {
      const without = lines.filter((line) => line.by !== by || !line.name.includes('failed'));
      expect(await periodFaults(without, summaries)).toEqual([
        `rows failed by ${by}: 0, the reports of the runs have 1`,
        `money failed by ${by} in USD is not that of the reports of the runs`,
      ]);
    }
  });

  test('ties to the reports of its runs, and says where it does not', async () => {
    const summaries = await Promise.all([MARCH, APRIL].map((rows) => summarise(sourceOf(rows, { run: runOf(rows) }))));
    expect(await periodFaults(await linesOf(MARCH, APRIL), summaries)).toEqual([]);
    expect(await periodFaults(await linesOf(MARCH, APRIL.slice(1)), summaries)).toEqual(
      ['currency', 'corridor', 'beneficiary', 'run'].flatMap((by) => [
        `rows pending by ${by}: 0, the reports of the runs have 1`,
        `money pending by ${by} in USD is not that of the reports of the runs`,
      ]),
    );
    const broken = await summarise(sourceOf(MARCH, { run: runOf(MARCH.slice(1)) }));
    expect(await periodFaults(await linesOf(MARCH), [broken])).toEqual(['run r7k2m9: its own report does not tie']);
  });

  test('is a CSV table in which no word is a formula', async () => {
    const csv = periodCsv(await linesOf([payment(2, 'failed', { reasonCode: '=1+1' })]));
    expect(csv.split('\r\n')[0]).toMatch(/^by,name,currency,rows,waiting,.*,paidAmount,.*,secondsToFinal$/);
    expect(csv).toMatch(/\r\nreason,failed =1\+1,USD,1,/);
  });

  test('weighs the quoted rates by what was debited, and has none where a payment has none', async () => {
    const dear = payment(2, 'completed', { rate: '20', sourceAmount: usd(30_000n) });
    const cheap = payment(3, 'accepted', { rate: '16.5', sourceAmount: usd(10_000n) });
    expect((await linesOf([dear, cheap]))[0]).toMatchObject({ quotedRate: '19.12500000' });
    expect((await linesOf([dear, { ...cheap, rate: null }]))[0]).toMatchObject({ quotedRate: null });
    expect((await linesOf([dear, { ...cheap, state: 'failed', rate: null }]))[0]).toMatchObject({
      quotedRate: '20.00000000',
    });
  });

  test('has no rate over several currencies', async () => {
    const other = payment(3, 'completed', { sourceAmount: { minor: 1n, currency: 'EUR' } });
    const [line] = await linesOf([payment(2, 'completed'), other]);
    expect(line).toMatchObject({ by: 'currency', quotedRate: null, rate: null, rateWithFees: null });
  });
});
