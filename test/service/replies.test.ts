import { describe, expect, test } from 'vitest';
import {
  parseErrors,
  parseIdentities,
  parsePayment,
  parseQuotes,
  parseToken,
  type QuoteReply,
} from '../../src/service/replies.ts';

const QUOTE_ID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const IDENTITY_ID = '11111111-2222-4333-8444-555555555555';

const NOT_OBJECTS: unknown[] = [undefined, null, 1, 'text', true, [], [[]]];

describe('parseToken', () => {
  test.each<[unknown, number | null]>([
    [3600, 3600],
    [0.5, 0.5],
    [0, null],
    [-1, null],
    ['3600', null],
    [null, null],
    [undefined, null],
  ])('reads expires_in %j as %j', (expires_in, expiresIn) => {
    expect(parseToken({ access_token: 'a.b.c', expires_in, scope: 'x' })).toEqual({ accessToken: 'a.b.c', expiresIn });
  });

  test('takes a token of any length', () => {
    expect(parseToken({ access_token: 'x'.repeat(20_000) })?.accessToken).toHaveLength(20_000);
    expect(parseToken({ access_token: 'x' })?.accessToken).toBe('x');
  });

  test.each([...NOT_OBJECTS, {}, { access_token: '' }, { access_token: 1 }, { access_token: 'a\r\nb' }])(
    'finds no token in %j',
    (json) => {
      expect(parseToken(json)).toBeUndefined();
    },
  );
});

const FULL_QUOTE = {
  quoteId: QUOTE_ID.toUpperCase(),
  quoteStatus: 'ACTIVE',
  sourceCurrency: 'usd',
  destinationCurrency: 'MXN',
  payoutCategory: 'BANK',
  payinCategory: 'PRE_FUNDING',
  sourceAmount: 123.45,
  destinationAmount: 2438.19,
  adjustedExchangeRate: { adjustedRate: 1e-7 },
  fees: [{ totalFee: 12.23, feeCurrency: 'USD', feeBreakdown: [{ calculatedFee: 2.43 }] }, { totalFee: 'free' }],
  taxes: [{ totalTaxes: 5.12, taxCurrency: 'USD' }],
  createdAt: '2026-03-03T09:00:00.123456Z',
  expiresAt: '2026-03-03T10:00:00.123456Z',
  somethingNew: { a: 1 },
};

const BARE_QUOTE: QuoteReply = {
  quoteId: QUOTE_ID,
  status: 'ACTIVE',
  sourceCurrency: null,
  destinationCurrency: null,
  sourceAmount: null,
  destinationAmount: null,
  rate: null,
  fees: [],
  expiresAt: null,
};

describe('parseQuotes', () => {
  test('reads everything that we use, amounts as text and ids in lower case', () => {
    expect(parseQuotes({ quoteCollectionId: 'x', quotes: [FULL_QUOTE] })).toEqual([
      {
        quoteId: QUOTE_ID,
        status: 'ACTIVE',
        sourceCurrency: 'USD',
        destinationCurrency: 'MXN',
        sourceAmount: '123.45',
        destinationAmount: '2438.19',
        rate: '0.0000001',
        fees: [
          { amount: '12.23', currency: 'USD' },
          { amount: '5.12', currency: 'USD' },
        ],
        expiresAt: Date.UTC(2026, 2, 3, 10, 0, 0, 123),
      },
    ]);
  });

  test('is content with an id and a status, also one that it does not know', () => {
    const json = {
      quotes: [
        { quoteId: QUOTE_ID, quoteStatus: 'ACTIVE' },
        { quoteId: QUOTE_ID, quoteStatus: 'USED' },
      ],
    };
    expect(parseQuotes(json)).toEqual([BARE_QUOTE, { ...BARE_QUOTE, status: 'USED' }]);
  });

  test.each<[unknown, number | null]>([
    ['2026-03-03T10:00:00Z', Date.UTC(2026, 2, 3, 10)],
    ['2026-03-03T12:00:00+02:00', Date.UTC(2026, 2, 3, 10)],
    ['2026-03-03T10:00:00', null],
    ['2026-03-03', null],
    ['2026-99-03T10:00:00Z', null],
    [1_772_532_000, null],
    [null, null],
  ])('reads the end %j as %j', (expiresAt, expected) => {
    expect(parseQuotes({ quotes: [{ quoteId: QUOTE_ID, quoteStatus: 'ACTIVE', expiresAt }] })?.[0]?.expiresAt).toBe(
      expected,
    );
  });

  test.each([
    [{ quoteStatus: 'ACTIVE' }],
    [{ quoteId: 'no-uuid', quoteStatus: 'ACTIVE' }],
    [{ quoteId: QUOTE_ID, quoteStatus: 'ACTIVE', sourceAmount: '1,000.00' }],
    [{ quoteId: QUOTE_ID, quoteStatus: 'ACTIVE', sourceAmount: { value: 1 } }],
    [{ quoteId: QUOTE_ID, quoteStatus: 'ACTIVE', destinationAmount: Number.POSITIVE_INFINITY }],
    [{ quoteId: QUOTE_ID, quoteStatus: 'ACTIVE', sourceCurrency: 'US' }],
    [null],
    ['quote'],
  ])('passes over %j, which shows something unreadable', (quote) => {
    expect(parseQuotes({ quotes: [quote, { quoteId: QUOTE_ID, quoteStatus: 'ACTIVE' }] })).toEqual([BARE_QUOTE]);
  });

  // The interface page shows no more of the reply than that it contains a quote object with a quoteId (section 4).
  test.each([
    [{ quotes: [{ quoteId: QUOTE_ID }] }],
    [{ quoteCollectionId: QUOTE_ID, quotes: [{ quoteId: QUOTE_ID }] }],
    [{ quote: { quoteId: QUOTE_ID } }],
    [{ quoteId: QUOTE_ID }],
    [[{ quoteId: QUOTE_ID }]],
  ])('reads the one quote of %j, which shows nothing but its id', (json) => {
    expect(parseQuotes(json)).toEqual([{ ...BARE_QUOTE, status: null }]);
  });

  test('tells an empty collection from a reply that is none', () => {
    expect(parseQuotes({ quotes: [] })).toEqual([]);
    for (const json of [...NOT_OBJECTS, {}, { quotes: null }, { quotes: {} }]) {
      expect(parseQuotes(json)).toBeUndefined();
    }
  });
});

const NO_PAYMENT_FIELDS = {
  paymentState: null,
  beneficiaryIdentityId: null,
  originatorIdentityId: null,
  internalId: null,
  quoteId: null,
  sourceCurrency: null,
  sourceAmount: null,
  destinationCurrency: null,
  destinationAmount: null,
  rate: null,
  fees: [],
  errors: [],
  lastStateUpdatedAt: null,
};

describe('parsePayment', () => {
  test('reads everything that we use', () => {
    const json = {
      paymentId: QUOTE_ID.toUpperCase(),
      paymentState: 'RETURNED',
      initiatedAt: '2026-03-03T10:00:00Z',
      lastStateUpdatedAt: '2026-03-03T10:00:01Z',
      originator: {
        originatorIdentityId: IDENTITY_ID.replace('1', 'A'),
        internalId: 'INV-1',
        sourceCurrency: 'USD',
        sourceAmount: 123.4,
        payin: {},
      },
      destination: { destinationAmount: 1000, destinationCurrency: 'JPY', beneficiaryIdentityId: IDENTITY_ID },
      adjustedExchangeRate: { adjustedRate: 20.5 },
      fees: [{ totalFee: 1, feeCurrency: 'USD' }],
      taxes: [{ totalTaxes: 2, taxCurrency: 'EUR' }],
      errors: [{ code: 'SYS_120', type: 'SYSTEM_ERROR', title: 'Returned by the bank' }],
    };
    expect(parsePayment(json)).toEqual({
      paymentId: QUOTE_ID,
      paymentState: 'RETURNED',
      beneficiaryIdentityId: IDENTITY_ID,
      originatorIdentityId: IDENTITY_ID.replace('1', 'a'),
      internalId: 'INV-1',
      quoteId: null,
      sourceCurrency: 'USD',
      sourceAmount: '123.4',
      destinationCurrency: 'JPY',
      destinationAmount: '1000',
      rate: '20.5',
      fees: [
        { amount: '1', currency: 'USD' },
        { amount: '2', currency: 'EUR' },
      ],
      errors: [
        { code: 'SYS_120', type: 'SYSTEM_ERROR', title: 'Returned by the bank', description: null, status: null },
      ],
      lastStateUpdatedAt: Date.UTC(2026, 2, 3, 10, 0, 1),
    });
  });

  test('is content with a payment id', () => {
    expect(parsePayment({ paymentId: 'PAY-7' })).toEqual({ paymentId: 'PAY-7', ...NO_PAYMENT_FIELDS });
  });

  test('counts what is unreadable as not shown, for the payment exists all the same', () => {
    const json = {
      paymentId: QUOTE_ID,
      paymentState: 5,
      originator: { sourceAmount: { value: 1 }, sourceCurrency: 'USD' },
      destination: 'somewhere',
      fees: 'none',
      errors: 'none',
      lastStateUpdatedAt: 'yesterday',
    };
    expect(parsePayment(json)).toEqual({ ...NO_PAYMENT_FIELDS, paymentId: QUOTE_ID, sourceCurrency: 'USD' });
  });

  test('takes ids from the top as the request has them, and the time under either name', () => {
    const json = {
      paymentId: QUOTE_ID,
      quoteId: QUOTE_ID.toUpperCase(),
      paymentState: 'SOMETHING_NEW',
      beneficiaryIdentityId: IDENTITY_ID,
      internalId: 'INV-1',
      updatedAt: '2026-03-03T10:00:01Z',
    };
    expect(parsePayment(json)).toEqual({
      ...NO_PAYMENT_FIELDS,
      paymentId: QUOTE_ID,
      quoteId: QUOTE_ID,
      paymentState: 'SOMETHING_NEW',
      beneficiaryIdentityId: IDENTITY_ID,
      internalId: 'INV-1',
      lastStateUpdatedAt: Date.UTC(2026, 2, 3, 10, 0, 1),
    });
  });

  test.each([...NOT_OBJECTS, {}, { paymentId: '' }, { paymentId: 7 }, { paymentId: null }, { paymentId: 'a b' }])(
    'finds no payment in %j',
    (json) => {
      expect(parsePayment(json)).toBeUndefined();
    },
  );
});

describe('parseErrors', () => {
  const entry = { code: 'USR_001', type: 'USER_ERROR', title: 'Bad request', description: null };

  test.each<[string, unknown, unknown[]]>([
    [
      'an array',
      { status: 400, errors: [{ ...entry, description: 'x' }] },
      [{ ...entry, description: 'x', status: 400 }],
    ],
    [
      'several entries',
      { status: 422, errors: [entry, { code: 'USR_104', status: 400 }] },
      [
        { ...entry, status: 422 },
        { code: 'USR_104', type: null, title: null, description: null, status: 400 },
      ],
    ],
    ['a single object', { status: 400, errors: entry }, [{ ...entry, status: 400 }]],
    ['a flat body', { ...entry, status: 404 }, [{ ...entry, status: 404 }]],
    ['a status in text', { status: '402', errors: [entry] }, [{ ...entry, status: 402 }]],
    ['no status', { errors: [entry] }, [{ ...entry, status: null }]],
    [
      'a type alone',
      { errors: [{ type: 'NOT_FOUND' }] },
      [{ code: null, type: 'NOT_FOUND', title: null, description: null, status: null }],
    ],
    [
      'the OAuth shape',
      { error: 'access_denied', error_description: 'Unauthorized' },
      [{ code: 'access_denied', type: null, title: null, description: 'Unauthorized', status: null }],
    ],
  ])('understands %s', (_name, json, expected) => {
    expect(parseErrors(json)).toEqual(expected);
  });

  test('cuts what is too long and takes out what could forge a line', () => {
    const [first] = parseErrors({ errors: [{ code: 'C'.repeat(500), title: `a\r\nb\u202e${'t'.repeat(500)}` }] });
    expect(first?.code).toHaveLength(64);
    expect(first?.title).toHaveLength(200);
    expect(first?.title?.startsWith('a b t')).toBe(true);
    const [described] = parseErrors({ code: 'C', description: `a\r\n\u202e\ud800b${'\u{1f600}'.repeat(500)}` });
    expect(described?.description).toBe(`a b${'\u{1f600}'.repeat(297)}`);
    expect(parseErrors({ errors: Array.from({ length: 500 }, () => entry) })).toHaveLength(20);
  });

  test.each([
    ...NOT_OBJECTS,
    {},
    { message: 'Not Found' },
    { timestamp: 1, status: 404, error: 'Not Found', path: '/v2/payments/1' },
    { code: 404, message: 'no such route' },
    { status: 404, errors: [] },
    { status: 404, errors: [{}] },
    { status: 404, errors: ['text'] },
  ])('finds no error of this service in %j', (json) => {
    expect(parseErrors(json)).toEqual([]);
  });
});

describe('parseIdentities', () => {
  test('reads ids, nick names and types, and passes over what has no id', () => {
    const json = {
      data: [
        {
          identityId: IDENTITY_ID.replace('1', 'A'),
          nickName: 'Ann\u0000',
          identityType: 'BENEFICIARY',
          useCaseType: 'B',
        },
        { nickName: 'nobody' },
        { identityId: QUOTE_ID },
      ],
    };
    expect(parseIdentities(json)).toEqual([
      { identityId: IDENTITY_ID.replace('1', 'a'), nickName: 'Ann ', identityType: 'BENEFICIARY' },
      { identityId: QUOTE_ID, nickName: null, identityType: null },
    ]);
  });

  test('tells an empty list from a reply that is none', () => {
    expect(parseIdentities({ data: [] })).toEqual([]);
    for (const json of [...NOT_OBJECTS, {}, { data: {} }]) expect(parseIdentities(json)).toBeUndefined();
  });
});
