import { describe, expect, test } from 'vitest';
import { type LookUpReading, readLookUpAnswer } from '../../src/pay/look-up/look-up-answer.ts';
import { ROW } from '../support/payout-row.ts';
import { answered, errors, lost, NOW, notSent, payoutOf, QUOTE_ID } from './examples.ts';

const PAYMENT = {
  paymentId: QUOTE_ID,
  paymentState: 'INITIATED',
  originator: { internalId: 'INV-1', sourceCurrency: 'USD', sourceAmount: 123.45 },
  destination: {
    beneficiaryIdentityId: ROW.beneficiaryIdentityId,
    destinationCurrency: 'MXN',
    destinationAmount: 2438.19,
  },
};

function read(answer: ReturnType<typeof answered>): LookUpReading {
  return readLookUpAnswer(answer, payoutOf(), { paymentId: QUOTE_ID, notFoundCodes: new Set(['USR_002']) });
}

describe('found', () => {
  test.each<[string, unknown]>([
    ['all that is ours', PAYMENT],
    ['an id and a state alone', { paymentId: QUOTE_ID, paymentState: 'TRANSFERRING' }],
    ['its id in capitals', { ...PAYMENT, paymentId: QUOTE_ID.toUpperCase() }],
    ['a state that we do not know', { ...PAYMENT, paymentState: 'FOO' }],
    ['that it failed', { ...PAYMENT, paymentState: 'FAILED' }],
    ['the reference in other letters', { ...PAYMENT, originator: { ...PAYMENT.originator, internalId: 'inv-1.' } }],
    ['the reference at its top', { paymentId: QUOTE_ID, paymentState: 'INITIATED', internalId: 'INV-1' }],
  ])('is a 200 with a payment that shows %s', (_what, json) => {
    expect(read(answered(200, json)).kind).toBe('found');
  });
});

describe('a breach', () => {
  test.each<[string, object]>([
    ['another beneficiary', { destination: { beneficiaryIdentityId: QUOTE_ID } }],
    ['another source currency', { originator: { sourceCurrency: 'EUR' } }],
    ['another destination currency', { destination: { destinationCurrency: 'EUR' } }],
    ['another amount', { originator: { sourceAmount: 100 } }],
  ])('is a 200 with our id and %s', (evidence, changes) => {
    expect(read(answered(200, { ...PAYMENT, ...changes }))).toEqual({
      kind: 'breach',
      evidence,
      payment: expect.anything(),
    });
  });
});

describe('not found', () => {
  test.each<[string, unknown]>([
    ['a list of errors', errors('USR_002')],
    ['one error as an object', { errors: { code: 'USR_002', title: 'gone' } }],
    ['a flat error', { code: 'USR_002', type: 'NOT_FOUND', status: 404 }],
  ])('is a 404 with %s, and carries the Date', (_what, json) => {
    expect(read(answered(404, json))).toEqual({ kind: 'not-found', date: NOW });
    expect(read(answered(404, json, null))).toEqual({ kind: 'not-found', date: null });
  });
});

describe('nothing', () => {
  test.each<[string, ReturnType<typeof answered>]>([
    ['a 404 without a body', answered(404)],
    ["a gateway's 404", answered(404, { message: 'no Route matched with those values' })],
    ["a gateway's 404 with a code of its own", answered(404, { code: 'ROUTE_NOT_FOUND' })],
    ['a 404 that speaks of a quote', answered(404, errors('USR_011'))],
    ["a framework's 404", answered(404, { timestamp: 1, status: 404, error: 'Not Found', path: '/v2' })],
    ["a gateway's problem details (RFC 9457)", answered(404, { type: 'about:blank', title: 'Not Found', status: 404 })],
    ['another status with an error', answered(410, errors('USR_002'))],
    ['400', answered(400, errors('USR_001'))],
    ['401', answered(401, errors('AUTH_001'))],
    ['403', answered(403, errors('AUTH_003'))],
    ['429', answered(429)],
    ['500', answered(500, errors('SYS_001'))],
    ['503', answered(503)],
    ['201 with our payment', answered(201, PAYMENT)],
    ['a 200 without a body', answered(200)],
    ['a 200 with an error', answered(200, errors('USR_002'))],
    ['a 200 with another payment', answered(200, { ...PAYMENT, paymentId: 'p-2' })],
    ['a 200 without a state', answered(200, { ...PAYMENT, paymentState: undefined })],
    ['a 200 with the state QUOTED', answered(200, { ...PAYMENT, paymentState: 'QUOTED' })],
    ['a lost answer', lost('time-out', 200)],
    ['a refused connection', notSent('ECONNREFUSED')],
  ])('is what %s says', (_what, answer) => {
    expect(read(answer).kind).toBe('nothing');
  });
});

test('a payment with all that was asked for, under another reference, is told apart: people say whose it is', () => {
  const shown = answered(200, { ...PAYMENT, originator: { ...PAYMENT.originator, internalId: 'INV-2' } });
  expect(read(shown)).toMatchObject({ kind: 'other-reference', reference: 'INV-2' });
});
