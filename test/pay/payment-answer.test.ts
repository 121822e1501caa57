import { describe, expect, test } from 'vitest';
import { differenceFrom, type PaymentReading, readPaymentAnswer } from '../../src/pay/payment-answer.ts';
import type { PayoutRow } from '../../src/payout.ts';
import type { Answer } from '../../src/service/answer.ts';
import { FINAL_PAYMENT_CODES } from '../../src/service/assumptions.ts';
import { parsePayment } from '../../src/service/replies.ts';
import { ROW } from '../support/payout-row.ts';
import { answered, EXPIRES_AT, errors, lost, NOW, notSent, QUOTE_ID } from './examples.ts';

const BENEFICIARY = ROW.beneficiaryIdentityId;
const PAYMENT = {
  paymentId: QUOTE_ID,
  paymentState: 'INITIATED',
  originator: { internalId: 'INV-1', sourceCurrency: 'USD', sourceAmount: 123.45 },
  destination: { beneficiaryIdentityId: BENEFICIARY, destinationCurrency: 'MXN', destinationAmount: 2438.19 },
};
const SENT = { row: ROW, quoteExpiresAt: EXPIRES_AT, armings: 1 };

function kindOf(answer: Answer, changes: Partial<typeof SENT> = {}): PaymentReading['kind'] {
  return readPaymentAnswer(answer, { ...SENT, ...changes }).kind;
}

describe('accepted', () => {
  test.each<[string, Answer]>([
    ['200', answered(200, PAYMENT)],
    ['201', answered(201, PAYMENT)],
    ['201 with a paymentId alone', answered(201, { paymentId: QUOTE_ID })],
    ['201 with a state that we do not know', answered(201, { ...PAYMENT, paymentState: 'FOO' })],
    ['201 with another paymentId', answered(201, { ...PAYMENT, paymentId: 'p-1' })],
    ['201 without a Date', answered(201, PAYMENT, null)],
  ])('is %s', (_what, answer) => {
    expect(kindOf(answer)).toBe('accepted');
  });

  test('keeps the id that the service gave', () => {
    expect(readPaymentAnswer(answered(201, { paymentId: 'p-1' }), SENT)).toMatchObject({
      payment: { paymentId: 'p-1', paymentState: null },
    });
  });
});

describe('not sent', () => {
  test.each<[string, boolean]>([
    ['ECONNREFUSED', false],
    ['ENOTFOUND', false],
    ['EAI_AGAIN', false],
    ['connect time-out', false],
    ['TLS EPROTO', false],
    ['deadline', false],
    ['TLS CERT_HAS_EXPIRED', true],
  ])('is %s, whose word on the certificate is kept (%s)', (reason, certificate) => {
    expect(readPaymentAnswer(notSent(reason, certificate), SENT)).toEqual({ kind: 'not-sent', reason, certificate });
  });
});

describe('refused, may come again', () => {
  test.each<[string, Answer, number]>([
    ['401 with a body', answered(401, errors('AUTH_001')), 401],
    ['401 without one', answered(401), 401],
    ['429', answered(429), 429],
    ['429 with a body', answered(429, errors('SYS_100')), 429],
  ])('is %s', (_what, answer, status) => {
    expect(readPaymentAnswer(answer, SENT)).toMatchObject({ kind: 'again', status });
  });
});

describe('refused, run-wide', () => {
  test.each<[string, Answer, string]>([
    ['402', answered(402, errors('USR_067')), 'USR_067'],
    ['403', answered(403, errors('AUTH_003')), 'AUTH_003'],
    ['a CFG_ code with 400', answered(400, errors('CFG_001')), 'CFG_001'],
    ['a CFG_ code with 500', answered(500, errors('CFG_001')), 'CFG_001'],
  ])('is %s', (_what, answer, code) => {
    expect(readPaymentAnswer(answer, SENT)).toEqual({ kind: 'run-wide', code, reason: `title of ${code}` });
  });
});

describe('refused for good', () => {
  test.each(FINAL_PAYMENT_CODES.map(({ code }) => code))('is %s with 400 or 422 on the first send', (code) => {
    expect(kindOf(answered(400, errors(code)))).toBe('final');
    expect(kindOf(answered(422, errors(code)))).toBe('final');
  });

  const FINAL = errors('USR_151');
  test.each<[string, Answer, Partial<typeof SENT>?]>([
    ['on a later send', answered(400, FINAL), { armings: 2 }],
    ['under another status', answered(409, FINAL)],
    ['under 404', answered(404, FINAL)],
    ['under 500', answered(500, FINAL)],
    ['without a Date', answered(400, FINAL, null)],
    ['5 s before the end of the quote', answered(400, FINAL, EXPIRES_AT - 5000)],
    ['after the end of the quote', answered(400, FINAL, EXPIRES_AT + 1000)],
    ['of a quote without an end', answered(400, FINAL), { quoteExpiresAt: null } as never],
  ])('is no final code %s', (_what, answer, changes) => {
    expect(kindOf(answer, changes)).toBe('unknown');
  });

  test('is a final code up to more than 5 s before the end of the quote', () => {
    expect(kindOf(answered(400, FINAL, EXPIRES_AT - 6000))).toBe('final');
  });

  test('takes every code of the body to be final: one that may speak of the quote makes it unknown', () => {
    expect(kindOf(answered(400, errors('USR_151', 'USR_011')))).toBe('unknown');
    expect(kindOf(answered(400, errors('USR_011', 'USR_151')))).toBe('unknown');
    expect(kindOf(answered(400, errors('USR_151', 'USR_166')))).toBe('final');
  });
});

describe('unknown', () => {
  test.each<[string, Answer, boolean]>([
    ['a reset', lost('ECONNRESET'), false],
    ['a time-out', lost('time-out'), false],
    ['a connection closed', lost('UND_ERR_SOCKET'), false],
    ['a body cut after a 201', lost('UND_ERR_SOCKET', 201), true],
    ['a body cut after a 500', lost('UND_ERR_SOCKET', 500), false],
    ['201 with an empty body', answered(201), true],
    ['201 with no paymentId', answered(201, { paymentState: 'INITIATED' }), true],
    ['200 with a list', answered(200, []), true],
    ['202', answered(202, PAYMENT), true],
    ['204', answered(204), true],
    ['301', answered(301), false],
    ['307', answered(307), false],
    ['400 with a code that is not final', answered(400, errors('USR_001')), false],
    ['400 without a body', answered(400), false],
    ['404', answered(404, errors('USR_011')), false],
    ['408', answered(408), false],
    ['409', answered(409, errors('USR_003')), false],
    ['418', answered(418), false],
    ['500', answered(500, errors('SYS_001')), false],
    ['502 with a page', answered(502), false],
    ['503', answered(503), false],
    ['504', answered(504), false],
  ])('is %s', (_what, answer, seen2xx) => {
    expect(readPaymentAnswer(answer, SENT)).toMatchObject({ kind: 'unknown', seen2xx });
  });
});

function difference(json: unknown, row: PayoutRow = ROW): string | undefined {
  const payment = parsePayment(json);
  return payment === undefined ? 'no payment' : differenceFrom(payment, row);
}

describe('differenceFrom', () => {
  const of = (changes: { originator?: object; destination?: object }): unknown => ({
    ...PAYMENT,
    originator: { ...PAYMENT.originator, ...changes.originator },
    destination: { ...PAYMENT.destination, ...changes.destination },
  });
  const DESTINATION_ROW: PayoutRow = {
    ...ROW,
    amountType: 'DESTINATION_AMOUNT',
    amount: { minor: 243_819n, currency: 'MXN' },
  };

  test.each<[string, unknown, PayoutRow?]>([
    ['all that is ours', PAYMENT],
    ['nothing but an id', { paymentId: QUOTE_ID }],
    ['ids and currencies in other letters', of({ destination: { beneficiaryIdentityId: BENEFICIARY.toUpperCase() } })],
    ['our amount as text', of({ originator: { sourceAmount: '123.450' } })],
    ['our amount with an exponent', of({ originator: { sourceAmount: 1.2345e2 } })],
    ['another amount on the side that is not ours', of({ destination: { destinationAmount: 1 } })],
    ['something unreadable as the amount', of({ originator: { sourceAmount: 'much' } })],
    ['our destination amount', of({ originator: { sourceAmount: 1 } }), DESTINATION_ROW],
  ])('finds none in a payment that shows %s', (_what, json, row) => {
    expect(difference(json, row)).toBeUndefined();
  });

  test.each<[string, unknown, PayoutRow?]>([
    ['another beneficiary', of({ destination: { beneficiaryIdentityId: QUOTE_ID } })],
    ['another beneficiary', { paymentId: QUOTE_ID, beneficiaryIdentityId: 'somebody' }],
    ['another source currency', of({ originator: { sourceCurrency: 'EUR' } })],
    ['another destination currency', of({ destination: { destinationCurrency: 'EUR' } })],
    ['another amount', of({ originator: { sourceAmount: 123.46 } })],
    ['another amount', of({ originator: { sourceAmount: 12_345 } })],
    ['another amount', of({ originator: { sourceAmount: 0 } })],
    ['another amount', of({ destination: { destinationAmount: 2438.2 } }), DESTINATION_ROW],
  ])('finds %s', (what, json, row) => {
    expect(difference(json, row)).toBe(what);
    expect(readPaymentAnswer(answered(201, json), { ...SENT, row: row ?? ROW })).toMatchObject({
      kind: 'breach',
      evidence: what,
    });
  });
});

test('the date of a refusal counts by the service, whatever our own clock says', () => {
  expect(NOW).toBeLessThan(Date.now());
  expect(kindOf(answered(422, errors('USR_104'), EXPIRES_AT - 10_000))).toBe('final');
});
