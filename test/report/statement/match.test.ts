import { describe, expect, test } from 'vitest';
import type { Movement } from '../../../src/intake/statement/movement.ts';
import type { Money } from '../../../src/money.ts';
import type { PayoutState } from '../../../src/payout.ts';
import { type Match, matchStatement } from '../../../src/report/statement/match.ts';
import { isReconciled, matchCsv, matchDocument, openMatchCounts } from '../../../src/report/statement/match-report.ts';
import { payment, payout, type Row, refused, textOf, usd, uuid } from '../rows.ts';

function movement(line: number, change: Partial<Movement> = {}): Movement {
  return { line, isCredit: false, amount: usd(10_050n), date: '2026-01-15', reference: '', ids: [], ...change };
}

async function matched(rows: readonly Row[], movements: readonly Movement[]) {
  async function* batches() {
    yield rows;
  }
  const counts = openMatchCounts();
  const found: Match[] = [];
  for await (const batch of counts.counting(matchStatement(batches, movements))) found.push(...batch);
  return { found, counts: counts.result() };
}

async function told(rows: readonly Row[], movements: readonly Movement[]): Promise<string[]> {
  const { found } = await matched(rows, movements);
  return found.map(({ status, why, ...of }) =>
    `${status} ${of.payout?.line ?? '-'} ${of.movement?.line ?? '-'} ${why}`.trim(),
  );
}

describe('a payment is matched', () => {
  test('by its id, in upper case too, whatever the reference says', async () => {
    const ids = [uuid(2).toUpperCase()];
    expect(await told([payment(2, 'completed')], [movement(1, { ids, reference: 'INV-9' })])).toEqual(['matched 2 1']);
  });

  test('by its reference where no id fits; of several movements by the one with its amount', async () => {
    const movements = [movement(1, { reference: 'INV-2', amount: usd(1n) }), movement(2, { reference: 'INV-2' })];
    expect(await told([payment(2, 'accepted')], movements)).toEqual([
      'matched 2 2',
      'extra - 1 no payment of these runs',
    ]);
  });

  test.each<[string, Money]>([
    ['what was debited', usd(10_050n)],
    ['the same with its fees', usd(10_175n)],
    ['what arrives', { minor: 172_011n, currency: 'MXN' }],
  ])('when the statement shows %s', async (_what, amount) => {
    expect(await told([payment(2, 'completed')], [movement(1, { reference: 'INV-2', amount })])).toEqual([
      'matched 2 1',
    ]);
  });

  test('by what was debited alone when it arrives in the same currency', async () => {
    const within = { row: { ...payment(2, 'ready').row, destinationCurrency: 'USD' }, destinationAmount: usd(10_000n) };
    const amounts = [10_000n, 10_050n, 10_175n].map((minor, at) =>
      movement(at + 1, { ids: [uuid(2)], amount: usd(minor) }),
    );
    const found = await Promise.all(amounts.map((one) => told([payment(2, 'completed', within)], [one])));
    expect(found).toEqual([
      ['different 2 1 the amount is not 100.50 USD or 101.75 USD'],
      ['matched 2 2'],
      ['matched 2 3'],
    ]);
    const unknown = {
      ...within,
      sourceAmount: null,
      row: { ...within.row, amountType: 'DESTINATION_AMOUNT' },
    } as const;
    expect(await told([payment(2, 'completed', unknown)], amounts.slice(0, 1))).toEqual([
      'different 2 1 what was debited is not known',
    ]);
  });

  test('before a payout that was never debited and has the same reference', async () => {
    const rows = [
      payment(2, 'failed'),
      payment(3, 'completed', { row: { ...payment(3, 'ready').row, reference: 'INV-2' } }),
    ];
    expect(await told(rows, [movement(1, { reference: 'INV-2' })])).toEqual(['matched 3 1']);
  });

  test('that came back, when its debit and its credit are there', async () => {
    const credit = movement(2, { reference: 'INV-2', isCredit: true });
    expect(await told([payment(2, 'returned')], [movement(1, { reference: 'INV-2' }), credit])).toEqual([
      'matched 2 1',
      'matched 2 2',
    ]);
  });
});

describe('it is told', () => {
  const one = { reference: 'INV-2' };

  test.each<[string, Row[], Movement[], string[]]>([
    ['that a debit is missing', [payment(2, 'completed')], [], ['missing 2 - its debit is not on the statement']],
    [
      'that the amount is another one',
      [payment(2, 'completed')],
      [movement(1, { ...one, amount: usd(10_051n) })],
      ['different 2 1 the amount is not 100.50 USD or 101.75 USD'],
    ],
    [
      'that the currency is another one',
      [payment(2, 'completed')],
      [movement(1, { ...one, amount: { minor: 10_050n, currency: 'EUR' } })],
      ['different 2 1 the amount is in another currency'],
    ],
    [
      'that the statement tells no amount',
      [payment(2, 'completed')],
      [movement(1, { ...one, amount: null })],
      ['different 2 1 the statement tells no amount of its own'],
    ],
    [
      'that a payment was debited twice',
      [payment(2, 'completed')],
      [movement(1, { ids: [uuid(2)] }), movement(2, { ids: [uuid(2)] })],
      ['matched 2 1', 'extra 2 2 it is on the statement 2 times'],
    ],
    [
      'that a debit is no payment of ours',
      [refused(2)],
      [movement(1, { reference: 'RENT' })],
      ['extra - 1 no payment of these runs'],
    ],
    [
      'that a return is missing',
      [payment(2, 'returned')],
      [movement(1, one)],
      ['matched 2 1', 'missing 2 - its return is not on the statement'],
    ],
    [
      'that a payment came back of which payrun does not know it',
      [payment(2, 'completed')],
      [movement(1, one), movement(2, { ids: [uuid(2)], isCredit: true })],
      ['matched 2 1', 'different 2 2 it came back, and payrun does not know it'],
    ],
    [
      'that something was debited that payrun holds',
      [payout(2, { state: 'held' })],
      [movement(1, one)],
      ['different 2 1 payrun has it as held'],
    ],
    ['nothing of what was never paid', [payout(2), payout(3, { state: 'cancelled' }), refused(4)], [], []],
  ])('%s', async (...[, rows, movements, lines]) => {
    expect(await told(rows, movements)).toEqual(lines);
  });
});

test('each movement stands in the result once, and each payment at least once', async () => {
  const states: readonly PayoutState[] = ['completed', 'accepted', 'failed', 'returned', 'unknown'];
  const rows = Array.from({ length: 60 }, (_, at) => payment(at + 2, states[at % states.length] ?? 'completed'));
  const movements = Array.from({ length: 200 }, (_, at) =>
    movement(at + 1, {
      reference: at % 3 === 0 ? '' : `INV-${(at * 7) % 70}`,
      ids: at % 2 === 0 ? [uuid((at * 5) % 70)] : [],
      isCredit: at % 11 === 0,
    }),
  );
  const { found, counts } = await matched(rows, movements);
  const lines = found.flatMap((one) => one.movement?.line ?? []);
  expect(lines.toSorted((one, other) => one - other)).toEqual(movements.map(({ line }) => line));
  expect(counts.payments).toBe(36);
  expect(counts.matched + counts.missing + counts.different + counts.extra).toBe(found.length);
});

test('payments are reconciled when all of their lines are matched', async () => {
  const rows = [payment(2, 'completed'), payment(3, 'completed'), payment(4, 'returned')];
  const { counts } = await matched(rows, [movement(1, { reference: 'INV-2' }), movement(2, { reference: 'INV-4' })]);
  expect(counts).toMatchObject({ payments: 3, reconciled: 1, matched: 2, missing: 2, different: 0, extra: 0 });
  expect(isReconciled(counts)).toBe(false);
});

test('each run has counts of its own, and a movement without a payment counts for all of them', async () => {
  const rows = [payment(2, 'completed'), payment(3, 'completed'), payment(4, 'completed', { runId: 'other' })];
  const movements = ['INV-2', 'INV-4', 'RENT'].map((reference, at) => movement(at + 1, { reference }));
  async function* batches() {
    yield rows;
  }
  const counts = openMatchCounts();
  for await (const _ of counts.counting(matchStatement(batches, movements)));
  expect(counts.ofRun('r7k2m9')).toMatchObject({ payments: 2, reconciled: 1, missing: 1, extra: 1 });
  expect(counts.ofRun('other')).toMatchObject({ payments: 1, reconciled: 1, missing: 0, extra: 1 });
  expect(counts.ofRun('none')).toMatchObject({ payments: 0, reconciled: 0, extra: 1 });
  expect(counts.result()).toMatchObject({ payments: 3, reconciled: 2, missing: 1, extra: 1 });
});

test('what a statement says is no formula in the CSV', async () => {
  const { found } = await matched([payment(2, 'completed')], [movement(1, { reference: '=1+1', ids: ['@x'] })]);
  async function* batches() {
    yield found;
  }
  const [, missing = '', extra = ''] = (await textOf(matchCsv(batches()))).split('\r\n');
  expect(missing).toMatch(/^missing,its debit is not on the statement,r7k2m9,2,INV-2,paid,/);
  expect(extra).toBe("extra,no payment of these runs,,,,,,,,1,2026-01-15,debit,100.50,USD,'=1+1,'@x");
  expect(found.map((one) => Object.keys(matchDocument(one)).length)).toEqual([16, 16]);
});
