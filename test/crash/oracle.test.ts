import { describe, expect, test } from 'vitest';
import { type BookEntry, bookFaults, paidTwice, reportFaults } from '../support/paid-once.ts';

const FILE = `reference,beneficiaryIdentityId,originatorIdentityId,amount,amountType,sourceCurrency,destinationCurrency,purposeCode,sourceOfCash
A,b-1,,10.50,SOURCE_AMOUNT,USD,MXN,OTHR,SALE
B,b-2,o-1,700,DESTINATION_AMOUNT,USD,JPY,,
`;
const A: BookEntry = {
  paymentId: 'p-a',
  internalId: 'A',
  beneficiaryIdentityId: 'b-1',
  purposeCode: 'OTHR',
  sourceOfCash: 'SALE',
  source: { minor: '1050', currency: 'USD' },
  destination: { minor: '18900', currency: 'MXN' },
  initiatedAt: 1,
};
const B: BookEntry = {
  paymentId: 'p-b',
  internalId: 'B',
  beneficiaryIdentityId: 'b-2',
  originatorIdentityId: 'o-1',
  source: { minor: '512', currency: 'USD' },
  destination: { minor: '700', currency: 'JPY' },
  initiatedAt: 2,
};

describe('what the tests of this folder count with', () => {
  test('finds nothing wrong where each row is paid once as it stands', () => {
    expect(bookFaults(FILE, [B, A])).toEqual([]);
    expect(paidTwice([A, B])).toEqual([]);
  });

  test.each<[what: string, book: BookEntry[], fault: string]>([
    ['a row that is paid twice', [A, B, { ...A, paymentId: 'p-c' }], 'A: paid 2 times'],
    ['a row that is not paid', [A], 'B: paid 0 times'],
    ['a payment of no row', [A, B, { ...A, internalId: 'C' }], 'C: in no row'],
    ['another amount', [{ ...A, source: { minor: '1051', currency: 'USD' } }, B], 'A: amount is "10.51", not "10.50"'],
    [
      'another currency on the side that the amount does not name',
      [A, { ...B, source: { minor: '512', currency: 'EUR' } }],
      'B: sourceCurrency is "EUR", not "USD"',
    ],
    ['another beneficiary', [{ ...A, beneficiaryIdentityId: 'b-2' }, B], 'A: beneficiary is "b-2", not "b-1"'],
    [
      'an originator that the row does not name',
      [{ ...A, originatorIdentityId: 'o-1' }, B],
      'A: originator is "o-1", not ""',
    ],
    [
      'a purpose code that the row does not name',
      [A, { ...B, purposeCode: 'OTHR' }],
      'B: purposeCode is "OTHR", not ""',
    ],
    ['another source of cash', [{ ...A, sourceOfCash: 'SVGS' }, B], 'A: sourceOfCash is "SVGS", not "SALE"'],
  ])('finds %s', (_what, book, fault) => {
    expect(bookFaults(FILE, book)).toEqual([fault]);
  });

  test('finds a payment without a reference, and one whose reference is there twice', () => {
    const { internalId: _, ...nameless } = B;
    expect(paidTwice([A, A, nameless])).toEqual(['A', '']);
  });

  test('finds a report that lacks a row, and one that tells of another outcome or payment', () => {
    const report = `line,reference,beneficiaryIdentityId,amount,outcome,paymentId
2,A,b-1,10.50,paid,p-a
3,B,b-2,700,unknown,p-c
`;
    expect(reportFaults(FILE, [A, B], report)).toEqual([
      'B: outcome is "unknown", not "paid"',
      'B: paymentId is "p-c", not "p-b"',
    ]);
    expect(reportFaults(FILE, [A, B], report.split('\n').slice(0, 2).join('\n'))).toEqual(['1 lines for 2 rows']);
  });
});
