import {
  type Arbitrary,
  array,
  assert,
  constant,
  constantFrom,
  double,
  letrec,
  oneof,
  property,
  string,
  tuple,
} from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseErrors, parseIdentities, parsePayment, parseQuotes, parseToken } from '../../src/service/replies.ts';
import {
  parseErrors as schemaErrors,
  parseIdentities as schemaIdentities,
  parsePayment as schemaPayment,
  parseQuotes as schemaQuotes,
  parseToken as schemaToken,
} from './replies-by-zod.ts';

const NAMES =
  'quotes quote quoteId quoteStatus sourceCurrency destinationCurrency sourceAmount destinationAmount adjustedExchangeRate adjustedRate fees taxes totalFee feeCurrency totalTaxes taxCurrency expiresAt paymentId paymentState beneficiaryIdentityId originatorIdentityId internalId originator destination errors lastStateUpdatedAt updatedAt code type title description status error error_description access_token expires_in data identityId nickName identityType __proto__ constructor'.split(
    ' ',
  );

/** What fields hold, what nearly is that, and what nobody would send. */
const VALUES: readonly unknown[] = [
  [
    'AAAAAAAA-bbbb-4ccc-8ddd-eeeeeeeeeeee',
    'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeeee',
    'pay-1',
    'pay 1',
    'x'.repeat(128),
    'x'.repeat(129),
  ],
  [
    'usd',
    'USD',
    'US',
    'USDUSD',
    'U5D',
    '€UR',
    'ACTIVE',
    'active ',
    '',
    ' ',
    '\n',
    'a\u200bb',
    '\ud83d',
    '😀'.repeat(70),
    '‮x',
  ],
  ['1', '0.10', '00', '1.', '.5', '-1', '1e3', '٣', `${'9'.repeat(24)}.${'9'.repeat(24)}`, '9'.repeat(25)],
  [
    '2026-03-03T10:00:00.123456Z',
    '2026-03-03t10:00:00z',
    '2026-03-03T10:00:00+02:00',
    '2026-03-03T10:00:00',
    '2026-02-30T10:00:00Z',
    '2026-13-03T10:00:00Z',
    '2026-03-03T25:00:00Z',
    '0000-01-01T00:00:00Z',
  ],
  [0, -0, 1, -1, 0.1, 1e21, 1e-7, 1e308, 5e-324, 404, 200.5, 2 ** 53, Number.POSITIVE_INFINITY, Number.NaN],
  ['404', '099', '600', '4040', 'invalid_grant', 'Invalid', 'x'.repeat(301), `${'é'.repeat(199)}\u0000\u0000`],
  [null, undefined, true, false],
].flat();

const leaf = oneof(
  { weight: 8, arbitrary: constantFrom(...VALUES) },
  { weight: 1, arbitrary: string({ unit: 'binary', maxLength: 300 }) },
  { weight: 1, arbitrary: double() },
);

const { json } = letrec<{ json: unknown; object: unknown; list: unknown }>((tie) => ({
  json: oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('object'), tie('list')),
  object: array(tuple(constantFrom(...NAMES), tie('json')), { maxLength: 14 }).map(objectOf),
  list: oneof(array(tie('json'), { maxLength: 25 }), array(tie('object'), { maxLength: 25 })),
}));

/** As JSON.parse makes it: `__proto__` is a name like others. */
function objectOf(entries: readonly (readonly [string, unknown])[]): unknown {
  const made = {};
  for (const [name, value] of entries)
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true });
  return made;
}

/** A reply with most of its fields right. */
function nearly(fields: Readonly<Record<string, unknown>>): Arbitrary<unknown> {
  const parts = Object.entries(fields).map(([name, right]) =>
    oneof(
      { weight: 6, arbitrary: constant([name, right] as const) },
      { weight: 1, arbitrary: leaf.map((value) => [name, value] as const) },
      { weight: 1, arbitrary: json.map((value) => [name, value] as const) },
      { weight: 1, arbitrary: constant(undefined) },
    ),
  );
  return tuple(...parts).map((entries) => objectOf(entries.filter((entry) => entry !== undefined)));
}

const UUID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const MONEY = {
  adjustedExchangeRate: { adjustedRate: 19.75 },
  fees: [{ totalFee: 1.5, feeCurrency: 'usd' }, { totalFee: 'free' }],
  taxes: [{ totalTaxes: '0.10', taxCurrency: 'USD' }],
};
const ends = { sourceCurrency: 'USD', sourceAmount: 12.5, destinationCurrency: 'mxn', destinationAmount: '246.88' };
const quote = nearly({ quoteId: UUID, quoteStatus: 'ACTIVE', ...ends, ...MONEY, expiresAt: '2026-03-03T10:00:00Z' });
const problem = { code: 'USR_103', type: 'x', title: 'A title', description: 'What', status: '404' };

const READERS = [
  [parseToken, schemaToken, nearly({ access_token: 'a.b.c', expires_in: 3600 })],
  [
    parseQuotes,
    schemaQuotes,
    oneof(
      quote,
      array(quote, { maxLength: 3 }),
      array(quote, { maxLength: 3 }).map((quotes) => ({ quotes })),
      quote.map((one) => ({ quote: one })),
    ),
  ],
  [
    parsePayment,
    schemaPayment,
    oneof(
      nearly({
        paymentId: UUID.toUpperCase(),
        paymentState: 'EXECUTED',
        quoteId: UUID,
        originator: { originatorIdentityId: 'O-1', internalId: 'r1', ...ends },
        destination: { beneficiaryIdentityId: 'B-1', ...ends },
        internalId: 'r2',
        beneficiaryIdentityId: 'b-2',
        ...MONEY,
        errors: [problem],
        updatedAt: '2026-03-03T10:00:00Z',
      }),
      tuple(
        nearly({ originatorIdentityId: 'O-1', internalId: 'r1', ...ends }),
        nearly({ beneficiaryIdentityId: 'b', ...ends }),
      ).map(([originator, destination]) => ({ paymentId: 'p-1', internalId: 'r2', originator, destination })),
    ),
  ],
  [
    parseErrors,
    schemaErrors,
    oneof(
      nearly({ ...problem, error: 'invalid_grant', error_description: 'No' }),
      array(nearly(problem), { maxLength: 3 }).map((errors) => ({ errors, status: 400 })),
      nearly({ errors: problem, error: 'invalid_grant' }),
    ),
  ],
  [
    parseIdentities,
    schemaIdentities,
    array(nearly({ identityId: UUID, nickName: 'Anna', identityType: 'BENEFICIARY' }), { maxLength: 3 }).map(
      (data) => ({ data }),
    ),
  ],
] as const;

describe('whatever the service answers, each reader gives what its schema gives', () => {
  test.each(READERS.map(([read, schema, replies]) => ({ name: read.name, read, schema, replies })))(
    '$name',
    ({ read, schema, replies }) => {
      const anything = oneof({ weight: 4, arbitrary: replies }, { weight: 1, arbitrary: json });
      assert(
        property(anything, (reply) => {
          expect(read(reply)).toStrictEqual(schema(reply));
        }),
        { numRuns: 1000 },
      );
    },
  );
});
