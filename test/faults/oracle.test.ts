import { describe, expect, test } from 'vitest';
import { type BookEntry, judgeRun } from '../support/paid-once.ts';
import type { RowResult } from './results.ts';
import { tableOf } from './results.ts';

const FILE = `reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency
A,b-1,10.50,USD,MXN
B,b-2,3.00,USD,MXN
`;

function payment(reference: string, changes: Partial<BookEntry> = {}): BookEntry {
  const isA = reference === 'A';
  return {
    paymentId: `p-${reference}`,
    beneficiaryIdentityId: isA ? 'b-1' : 'b-2',
    internalId: reference,
    source: { minor: isA ? '1050' : '300', currency: 'USD' },
    destination: { minor: '20000', currency: 'MXN' },
    initiatedAt: 0,
    ...changes,
  };
}

function report(
  ...lines: readonly (readonly [line: number, reference: string, outcome: string, paymentId: string])[]
): string {
  const texts = lines.map(([line, reference, outcome, id]) => `${line},${reference},${outcome},${id},because`);
  return `line,reference,outcome,paymentId,reason\n${texts.join('\n')}\n`;
}

const PAID = report([2, 'A', 'paid', 'p-A'], [3, 'B', 'paid', 'p-B']);
const BOTH = [payment('A'), payment('B')];

describe('the oracle of the fault matrix', () => {
  test('finds nothing in a run that was paid as its report says', () => {
    expect(judgeRun(FILE, BOTH, PAID)).toEqual({ twice: [], lost: [], faults: [], outcomes: { paid: 2 } });
  });

  test('sees a row that was paid twice, also when the report knows of one', () => {
    expect(judgeRun(FILE, [...BOTH, payment('B', { paymentId: 'p-2' })], PAID).twice).toEqual(['B']);
  });

  test('sees a row that the report does not have, has under another line, or with no outcome that there is', () => {
    for (const text of [
      report([2, 'A', 'paid', 'p-A']),
      report([2, 'A', 'paid', 'p-A'], [4, 'B', 'paid', 'p-B']),
      report([2, 'A', 'paid', 'p-A'], [3, 'B', 'gone', 'p-B']),
    ]) {
      expect(judgeRun(FILE, BOTH, text).lost).toEqual(['B']);
    }
  });

  test.each(['rejected', 'cancelled', 'waiting', 'refused'])(
    'sees a payment of a row that is reported as %s',
    (outcome) => {
      const { faults } = judgeRun(FILE, BOTH, report([2, 'A', 'paid', 'p-A'], [3, 'B', outcome, '']));
      expect(faults).toEqual([`B: ${outcome}, but the book has 1 payments`]);
    },
  );

  test('sees a row that is reported as paid and is not in the book, or as another payment, or with another amount', () => {
    expect(judgeRun(FILE, [payment('A')], PAID).faults).toEqual(['B: paid as p-B, which the book does not have']);
    expect(judgeRun(FILE, [payment('A'), payment('B', { paymentId: 'p-2' })], PAID).faults).toHaveLength(1);
    const other = payment('B', { source: { minor: '301', currency: 'USD' } });
    expect(judgeRun(FILE, [payment('A'), other], PAID).faults).toEqual(['B: amount is "3.01", not "3.00"']);
  });

  test('leaves open whether an unknown or held row was paid', () => {
    const text = report([2, 'A', 'unknown', ''], [3, 'B', 'held', '']);
    expect(judgeRun(FILE, [payment('A')], text)).toMatchObject({ twice: [], lost: [], faults: [] });
  });
});

test('the table has each of F1 to F68, with its result or the reason why there is none', () => {
  const result: RowResult = {
    ids: ['F10', 'F11'],
    fault: 'a fault',
    tries: 2,
    twice: 0,
    lost: 0,
    settledMs: 4321,
    boundMs: 16_700,
    outcome: '80 paid',
  };
  const lines = tableOf([result]).split('\n');
  expect(lines).toHaveLength(1 + 68);
  expect(lines[10]).toMatch(/^F10 +a fault +2 +0 +0 +4\.3 s of 16\.7 s +80 paid$/);
  expect(lines[12]).toMatch(/^F12 +0 +did not run here$/);
  expect(lines[58]).toMatch(/^F58 +0 +did not run here$/);
});
