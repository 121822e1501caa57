import { describe, expect, test } from 'vitest';
import { type QuoteReading, readQuoteAnswer } from '../../src/pay/quote/quote-answer.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { ROW } from '../support/payout-row.ts';
import { answered, EXPIRES_AT, errors, lost, NOW, notSent, QUOTE_ID } from './examples.ts';

const OTHER_ID = '99999999-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const QUOTE = {
  quoteId: QUOTE_ID,
  quoteStatus: 'ACTIVE',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  sourceAmount: 123.45,
  destinationAmount: 2438.19,
  adjustedExchangeRate: { adjustedRate: 19.75 },
  fees: [{ totalFee: 2.43, feeCurrency: 'USD' }],
  taxes: [{ totalTaxes: 5.12, taxCurrency: 'USD' }],
  expiresAt: new Date(EXPIRES_AT).toISOString(),
};
const DESTINATION_ROW: PayoutRow = {
  ...ROW,
  amountType: 'DESTINATION_AMOUNT',
  amount: { minor: 243_819n, currency: 'MXN' },
};

function readQuotes(quotes: readonly unknown[], row: PayoutRow = ROW): QuoteReading {
  return readQuoteAnswer(answered(201, { quoteCollectionId: 'x', quotes }), row);
}

function chosenId(reading: QuoteReading): string | undefined {
  return reading.kind === 'usable' ? reading.quote.quoteId : undefined;
}

describe('a usable quote', () => {
  test('gives its money in minor units, fees and taxes added up, and the life that is left by the service', () => {
    expect(readQuotes([QUOTE])).toEqual({
      kind: 'usable',
      quote: {
        quoteId: QUOTE_ID,
        expiresAt: EXPIRES_AT,
        lifeMs: EXPIRES_AT - NOW,
        rate: '19.75',
        sourceAmount: { minor: 12_345n, currency: 'USD' },
        destinationAmount: { minor: 243_819n, currency: 'MXN' },
        fees: [{ minor: 755n, currency: 'USD' }],
      },
    });
  });

  test.each([200, 201])('comes with status %i', (status) => {
    expect(readQuoteAnswer(answered(status, { quotes: [QUOTE] }), ROW).kind).toBe('usable');
  });

  test.each<[string, object]>([
    ['its status', { quoteStatus: undefined }],
    ['its currencies', { sourceCurrency: undefined, destinationCurrency: undefined }],
    ['our amount', { sourceAmount: undefined }],
    ['the other amount', { destinationAmount: undefined }],
    ['any amount', { sourceAmount: null, destinationAmount: null }],
    ['rate, fees and taxes', { adjustedExchangeRate: undefined, fees: undefined, taxes: undefined }],
  ])('need not echo %s', (_what, changes) => {
    expect(chosenId(readQuotes([{ ...QUOTE, ...changes }]))).toBe(QUOTE_ID);
  });

  test.each<[string, object, number | null]>([
    ['without expiresAt', { expiresAt: undefined }, NOW],
    ['in an answer without a Date', {}, null],
  ])('%s has no known life', (_what, changes, date) => {
    const reading = readQuoteAnswer(answered(201, { quotes: [{ ...QUOTE, ...changes }] }, date), ROW);
    expect(reading).toMatchObject({ kind: 'usable', quote: { lifeMs: null } });
  });

  test.each<[string, readonly unknown[], PayoutRow?]>([
    ['active', [{ ...QUOTE, quoteId: OTHER_ID, quoteStatus: 'EXPIRED' }, QUOTE]],
    ['of a status that we know', [{ ...QUOTE, quoteId: OTHER_ID, quoteStatus: 'SOON' }, QUOTE]],
    ['in our source currency', [{ ...QUOTE, quoteId: OTHER_ID, sourceCurrency: 'EUR' }, QUOTE]],
    ['in our destination currency', [{ ...QUOTE, quoteId: OTHER_ID, destinationCurrency: 'EUR' }, QUOTE]],
    ['with our amount', [{ ...QUOTE, quoteId: OTHER_ID, sourceAmount: 123.46 }, QUOTE]],
    ['with our digits', [{ ...QUOTE, quoteId: OTHER_ID, sourceAmount: 123.451 }, QUOTE]],
    ['readable', ['no quote', { ...QUOTE, quoteId: 'no-uuid' }, QUOTE]],
    ['the first of two good ones', [QUOTE, { ...QUOTE, quoteId: OTHER_ID }]],
    ['with our destination amount', [{ ...QUOTE, quoteId: OTHER_ID, destinationAmount: 1 }, QUOTE], DESTINATION_ROW],
  ])('is the first one that is %s', (_what, quotes, row) => {
    expect(chosenId(readQuotes(quotes, row))).toBe(QUOTE_ID);
  });
});

describe('amounts in a quote', () => {
  test.each<[string, bigint, string]>([
    ['100', 10_000n, 'USD'],
    ['100.0', 10_000n, 'USD'],
    ['1e2', 10_000n, 'USD'],
    ['1.0E+2', 10_000n, 'USD'],
    ['10000e-2', 10_000n, 'USD'],
    ['"100.00"', 10_000n, 'USD'],
    ['"100.000000"', 10_000n, 'USD'],
    ['0.29e3', 29_000n, 'USD'],
    ['100000000', 100_000_000n, 'JPY'],
    ['1e8', 100_000_000n, 'JPY'],
    ['1.005', 1005n, 'BHD'],
    ['99999999.99', 9_999_999_999n, 'USD'],
  ])('are ours in the JSON form %s', (form, minor, currency) => {
    const text = `{"quotes":[{"quoteId":"${QUOTE_ID}","sourceAmount":${form}}]}`;
    const row = { ...ROW, sourceCurrency: currency, amount: { minor, currency } };
    const reading = readQuoteAnswer(answered(201, JSON.parse(text)), row);
    expect(reading).toMatchObject({ kind: 'usable', quote: { sourceAmount: { minor, currency } } });
  });

  test.each<[string, object, string]>([
    ['another amount', { sourceAmount: 123.46 }, 'E_QUOTE_AMOUNT'],
    ['an amount that is off by a factor of 100', { sourceAmount: 12_345 }, 'E_QUOTE_AMOUNT'],
    ['a source amount with more digits', { sourceAmount: 123.451 }, 'E_QUOTE_DIGITS'],
    ['the noise of floating point', { sourceAmount: 123.45000000000002 }, 'E_QUOTE_DIGITS'],
    ['a destination amount with more digits', { destinationAmount: 2438.191 }, 'E_QUOTE_DIGITS'],
    ['a negative amount', { sourceAmount: -123.45 }, 'E_QUOTE_DIGITS'],
  ])('hold the payout when the quote shows %s', (_what, changes, code) => {
    expect(readQuotes([{ ...QUOTE, ...changes }])).toMatchObject({ kind: 'held', code });
  });
});

describe('fees', () => {
  test.each<[string, unknown, object[]]>([
    ['with more digits than their currency', [{ totalFee: 0.0037, feeCurrency: 'USD' }], [{ minor: 37n, digits: 4 }]],
    [
      'of which one has more digits',
      [
        { totalFee: 1.5, feeCurrency: 'USD' },
        { totalFee: '0.00370', feeCurrency: 'USD' },
      ],
      [{ minor: 15_037n, digits: 4 }],
    ],
    ['given back', [{ totalFee: -0.5, feeCurrency: 'USD' }], [{ minor: -50n }]],
    ['in a currency that is not known', [{ totalFee: 1.5, feeCurrency: 'XYZ' }], [{ minor: 15n, digits: 1 }]],
    ['too large for any payment', [{ totalFee: 1e30, feeCurrency: 'USD' }], [{ minor: 10n ** 32n }]],
  ])('%s are kept as they were told, and hold nothing', (_what, fees, kept) => {
    expect(readQuotes([{ ...QUOTE, fees, taxes: [] }])).toMatchObject({ kind: 'usable', quote: { fees: kept } });
  });
});

describe('the answer to a quote request', () => {
  test('is told in the words that the service wrote of this very request', () => {
    const description = 'an amount of the quote would be above 100000000';
    const answer = answered(400, { errors: [{ code: 'USR_001', title: 'Bad request', description }] });
    expect(readQuoteAnswer(answer, ROW)).toEqual({ kind: 'rejected', code: 'USR_001', reason: description });
  });

  test.each<[string, ReturnType<typeof answered>, QuoteReading['kind']]>([
    ['400 with a body', answered(400, errors('USR_013')), 'rejected'],
    ['400 with a flat body', answered(400, { code: 'USR_001', title: 'bad' }), 'rejected'],
    ['400 without a body', answered(400), 'again'],
    ['400 with a page', answered(400, undefined), 'again'],
    ['402', answered(402, errors('USR_067')), 'pause'],
    ['403', answered(403, errors('AUTH_002')), 'pause'],
    ['400 with a CFG_ code', answered(400, errors('CFG_001')), 'pause'],
    ['401', answered(401, errors('AUTH_001')), 'again'],
    ['404', answered(404, errors('USR_012')), 'again'],
    ['408', answered(408), 'again'],
    ['422', answered(422, errors('USR_001')), 'again'],
    ['429', answered(429), 'again'],
    ['500', answered(500, errors('SYS_001')), 'again'],
    ['503', answered(503), 'again'],
    ['307', answered(307), 'again'],
    ['202', answered(202, { quotes: [QUOTE] }), 'again'],
    ['201 with an empty collection', answered(201, { quotes: [] }), 'again'],
    ['201 with another body', answered(201, { hello: 1 }), 'again'],
    ['201 without a body', answered(201), 'again'],
    ['201 with expired quotes only', answered(201, { quotes: [{ ...QUOTE, quoteStatus: 'EXPIRED' }] }), 'again'],
    ['no answer', lost('time-out'), 'again'],
    ['a refused connection', notSent('ECONNREFUSED'), 'again'],
  ])('%s is read as it says', (_what, answer, kind) => {
    expect(readQuoteAnswer(answer, ROW).kind).toBe(kind);
  });

  test('carries the code and words of the service', () => {
    expect(readQuoteAnswer(answered(402, errors('USR_067')), ROW)).toEqual({
      kind: 'pause',
      code: 'USR_067',
      reason: 'title of USR_067',
    });
    expect(readQuoteAnswer(answered(403), ROW)).toEqual({
      kind: 'pause',
      code: 'HTTP_403',
      reason: 'the service answered 403 to a quote request',
    });
  });
});
