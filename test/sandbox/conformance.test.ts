import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { inventedName } from '../../src/sandbox/names.ts';
import { BENEFICIARY, type Desk, ORIGINATOR, openDesk, QUOTE, send, testClock, tokenBody } from './desk.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SCOPES = ['keys:read', 'keys:write', 'payments:create', 'quotes:create', 'identities:create', 'audit:read'];
const SOURCES_OF_CASH = 'ALMY CASH COMP EMIN GIFT INHE INLQ PACA REDM REPY REST SALE SEAQ SELF SVGS WINS'.split(' ');
const NOBODY = '99999999-9999-4999-8999-999999999999';

function ask(desk: Desk, body: unknown, path = '/v2/oauth/token') {
  return send(`${desk.url}${path}`, { method: 'POST', body });
}

function goodToken(desk: Desk) {
  return tokenBody({ ...desk, tenantId: desk.sandbox.tenantId });
}

/** The error body's current form (service-facts, section 7), with the code that is expected. */
function errorOf(status: number, code: string) {
  return {
    status,
    errors: [
      {
        code,
        type: expect.any(String),
        title: expect.any(String),
        description: expect.any(String),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ],
  };
}

describe('2.2 token request', () => {
  test('a full request is granted a token', async () => {
    const desk = await openDesk();
    expect((await ask(desk, goodToken(desk))).status).toBe(200);
  });

  test.each(['grant_type', 'client_id', 'client_secret', 'audience'])('%s is required', async (field) => {
    const desk = await openDesk();
    const reply = await ask(desk, { ...goodToken(desk), [field]: undefined });
    expect(reply.status).toBe(400);
    expect(reply.json).toEqual({ error: 'invalid_request', error_description: expect.stringContaining(field) });
  });

  test.each([
    ['grant_type of another kind', { grant_type: 'password' }, '400 invalid_request'],
    ['grant_type in another case', { grant_type: 'Client_Credentials' }, '400 invalid_request'],
    ['a number for a text', { client_id: 7 }, '400 invalid_request'],
    ['an unknown client_id', { client_id: 'nobody' }, '401 access_denied'],
    ['a wrong client_secret', { client_secret: 'guess' }, '401 access_denied'],
    ['an audience of another tenant', { audience: `urn:servicexcurrent-test:${NOBODY}` }, '403 access_denied'],
    ['an audience of another form', { audience: 'https://service' }, '403 access_denied'],
  ])('%s is refused', async (_name, change, refusal) => {
    const desk = await openDesk();
    const reply = await ask(desk, { ...goodToken(desk), ...change });
    expect(reply.json).toEqual({ error: expect.any(String), error_description: expect.any(String) });
    expect(`${reply.status} ${JSON.parse(reply.text).error}`).toBe(refusal);
  });

  test('an audience of the other environment is refused', async () => {
    const desk = await openDesk();
    const audience = `urn:servicexcurrent-prod:${desk.sandbox.tenantId}`;
    expect((await ask(desk, { ...goodToken(desk), audience })).status).toBe(403);
  });
});

describe('2.3 token response', () => {
  test('it holds token, lifetime, type and all scopes', async () => {
    const desk = await openDesk();
    const { json } = await ask(desk, goodToken(desk));
    expect(json).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: SCOPES.join(' '),
    });
  });

  test('the length of the token is not fixed', async () => {
    const desk = await openDesk();
    const lengths = new Set<number>();
    for (let i = 0; i < 10; i += 1) lengths.add((await ask(desk, goodToken(desk))).json.access_token.length);
    expect(lengths.size).toBeGreaterThan(1);
  });
});

describe('4 endpoints', () => {
  test.each([
    ['GET', '/v2/oauth/token', 'POST'],
    ['POST', '/v2/oauth/token/test', 'GET'],
    ['GET', '/v2/quotes/quote-collection', 'POST'],
    ['POST', '/v2/identities', 'GET'],
    ['DELETE', '/v2/payments', 'POST'],
    ['PUT', `/v2/payments/${NOBODY}`, 'GET'],
  ])('%s %s is the wrong method, %s the right one', async (method, path, allow) => {
    const desk = await openDesk();
    const reply = await send(`${desk.url}${path}`, { method, token: desk.token });
    expect(reply.status).toBe(405);
    expect(reply.json).toEqual(errorOf(405, 'USR_001'));
    expect(reply.headers.allow).toBe(allow);
  });

  test.each([
    '/',
    '/v3/payments/x',
    '/v2/payments/',
    '/v2/payments/x/states',
    '/v2/identities/',
    '//v2/identities',
    '/V2/identities',
  ])('%s is no path of the service', async (path) => {
    const desk = await openDesk();
    const reply = await send(`${desk.url}${path}`, { token: desk.token });
    expect(reply.status).toBe(404);
    expect(reply.json).toEqual(errorOf(404, 'USR_002'));
  });

  const posts = ['/v2/oauth/token', '/v2/quotes/quote-collection', '/v2/payments'];
  test.each(posts)('POST %s takes JSON bodies of a bounded length and nothing else', async (path) => {
    const desk = await openDesk();
    const post = (body: string, headers: Record<string, string> = {}) =>
      send(`${desk.url}${path}`, { method: 'POST', token: desk.token, body, headers });
    const statuses = {
      empty: (await post('')).status,
      cut: (await post('{"quoteId":')).status,
      array: (await post('[]')).status,
      form: (await post('a=b', { 'Content-Type': 'application/x-www-form-urlencoded' })).status,
      long: (await post(JSON.stringify({ paymentMemo: 'x'.repeat(100_000) }))).status,
    };
    expect(statuses).toEqual({ empty: 400, cut: 400, array: 400, form: 415, long: 413 });
    expect((await post('{}', { 'Content-Type': 'application/json; charset=utf-8' })).status).toBe(400);
  });

  test('every answer carries the Date of the service', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    clock.advance(61_000);
    const date = new Date(clock.now()).toUTCString();
    expect((await desk.quote()).headers.date).toBe(date);
    expect((await send(`${desk.url}/nothing`)).headers.date).toBe(date);
    expect((await ask(desk, {})).headers.date).toBe(date);
  });

  test('what is no HTTP request is answered 400 with a Date', async () => {
    const desk = await openDesk();
    const socket = connect(Number(new URL(desk.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.end('no such thing\r\n\r\n');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 .*\r\nDate: .* GMT\r\n/);
  });
});

describe('5 authentication', () => {
  const secured: [string, string][] = [
    ['GET', '/v2/oauth/token/test'],
    ['POST', '/v2/quotes/quote-collection'],
    ['GET', '/v2/identities'],
    ['POST', '/v2/payments'],
    ['GET', `/v2/payments/${NOBODY}`],
  ];
  test.each(secured)('rule 1: %s %s wants a token', async (method, path) => {
    const desk = await openDesk();
    const reply = await send(`${desk.url}${path}`, { method });
    expect(reply.status).toBe(401);
    expect(reply.json).toEqual(errorOf(401, 'AUTH_001'));
    expect(reply.headers['www-authenticate']).toBe('Bearer');
  });

  test('rule 2: the header is the word Bearer, one space and the token', async () => {
    const desk = await openDesk();
    const status = async (authorization: string) =>
      (await send(`${desk.url}/v2/oauth/token/test`, { headers: { Authorization: authorization } })).status;
    expect(await status(`Bearer ${desk.token}`)).toBe(200);
    expect(await status(`Bearer  ${desk.token}`)).toBe(401);
    expect(await status(desk.token)).toBe(401);
    expect(await status(`Basic ${desk.token}`)).toBe(401);
    expect(await status('Bearer ')).toBe(401);
    expect(await status('Bearer nonsense')).toBe(401);
  });

  test('rules 3 and 4: a token and a credential count in their own environment alone', async () => {
    const desk = await openDesk({ ports: { prod: 0 } });
    const prod = desk.sandbox.url('prod');
    expect(prod).not.toBe(desk.url);
    expect((await send(`${prod}/v2/oauth/token/test`, { token: desk.token })).status).toBe(401);
    const tenantId = desk.sandbox.tenantId;
    const body = tokenBody({ ...desk, tenantId }, 'prod');
    expect((await send(`${prod}/v2/oauth/token`, { method: 'POST', body })).status).toBe(401);

    const own = tokenBody({ ...(await desk.sandbox.createCredential('p', 'prod')), tenantId }, 'prod');
    const granted = await send(`${prod}/v2/oauth/token`, { method: 'POST', body: own });
    expect(granted.status).toBe(200);
    expect((await send(`${prod}/v2/oauth/token/test`, { token: granted.json.access_token })).status).toBe(200);
    expect((await send(`${desk.url}/v2/oauth/token/test`, { token: granted.json.access_token })).status).toBe(401);
  });

  test('rule 5: with its credential every token of it ends, and no other', async () => {
    const desk = await openDesk();
    const other = await desk.sandbox.createCredential('other', 'test');
    const otherBody = tokenBody({ ...other, tenantId: desk.sandbox.tenantId });
    const otherToken: string = (await ask(desk, otherBody)).json.access_token;
    await desk.sandbox.revokeCredential(desk.clientId);
    expect((await desk.read(NOBODY)).status).toBe(401);
    expect((await ask(desk, goodToken(desk))).status).toBe(401);
    expect((await send(`${desk.url}/v2/oauth/token/test`, { token: otherToken })).status).toBe(200);
  });

  test('rule 6: a token is valid for one hour, which expires_in and exp both say', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const [, payload = ''] = desk.token.split('.');
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    expect(exp * 1000).toBe(clock.now() + 3_600_000);
    clock.advance(3_599_000);
    expect((await desk.read(NOBODY)).status).toBe(404);
    clock.advance(1000);
    expect((await desk.read(NOBODY)).status).toBe(401);
  });

  test('rule 6: a token that was altered is refused', async () => {
    const desk = await openDesk();
    const [head, , signature] = desk.token.split('.');
    const claims = { sub: desk.clientId, exp: 4_000_000_000, aud: goodToken(desk).audience };
    const forged = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const tokens = [`${head}.${forged}.${signature}`, `${none}.${forged}.`, `${none}.${forged}.${signature}`];
    for (const token of tokens) {
      expect((await send(`${desk.url}/v2/oauth/token/test`, { token })).status).toBe(401);
    }
  });

  test('rule 9: the token test answers one object with the seconds that are left', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    clock.advance(100_000);
    const reply = await send(`${desk.url}/v2/oauth/token/test`, { token: desk.token });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ message: 'token_ok', seconds_to_expiry: 3500 });
  });
});

describe('4 quotes, with service-facts 1 and 2', () => {
  test('a quote collection is created with one active quote', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const reply = await desk.quote({ sourceCountry: 'US', destinationCountry: 'mx' });
    expect(reply.status).toBe(201);
    expect(reply.json).toEqual({ quoteCollectionId: expect.stringMatching(UUID), quotes: [expect.any(Object)] });
    expect(reply.json.quotes[0]).toEqual({
      quoteId: expect.stringMatching(UUID),
      quoteStatus: 'ACTIVE',
      quoteAmountType: 'SOURCE_AMOUNT',
      sourceCurrency: 'USD',
      sourceAmount: 100,
      destinationCurrency: 'MXN',
      destinationAmount: expect.any(Number),
      sourceCountry: 'US',
      destinationCountry: 'MX',
      payoutCategory: 'BANK',
      payinCategory: 'PRE_FUNDING',
      adjustedExchangeRate: { adjustedRate: expect.any(Number) },
      fees: [{ totalFee: expect.any(Number), feeCurrency: 'USD', feeBreakdown: expect.any(Array) }],
      createdAt: new Date(clock.now()).toISOString(),
      expiresAt: new Date(clock.now() + 20_000).toISOString(),
    });
  });

  test.each([
    'quoteAmount',
    'quoteAmountType',
    'sourceCurrency',
    'destinationCurrency',
    'payoutCategory',
    'payinCategory',
  ])('%s is required', async (field) => {
    const desk = await openDesk();
    const reply = await desk.quote({ [field]: undefined });
    expect(reply.status).toBe(400);
    expect(reply.json).toEqual(errorOf(400, 'USR_001'));
  });

  test.each([
    ['an unknown field', { internalId: 'x' }, 'USR_001'],
    ['an amount as text', { quoteAmount: '100' }, 'USR_001'],
    ['an amount below 1', { quoteAmount: 0.99 }, 'USR_001'],
    ['an amount above 100000000', { quoteAmount: 100_000_000.01 }, 'USR_001'],
    ['another amount type', { quoteAmountType: 'BOTH' }, 'USR_001'],
    ['a currency of two letters', { sourceCurrency: 'US' }, 'USR_001'],
    ['a currency that is none', { destinationCurrency: 'ZZZ' }, 'USR_001'],
    ['a country of three letters', { sourceCountry: 'USA' }, 'USR_001'],
    ['an unknown payout category', { payoutCategory: 'PIGEON' }, 'USR_015'],
    ['an unknown pay-in category', { payinCategory: 'LATER' }, 'USR_014'],
    ['a destination below 1', { sourceCurrency: 'JPY', destinationCurrency: 'KWD' }, 'USR_013'],
    ['a destination above 100000000', { quoteAmount: 10_000_000, destinationCurrency: 'VND' }, 'USR_001'],
  ])('%s is refused', async (_name, change, code) => {
    const desk = await openDesk();
    const reply = await desk.quote(change);
    expect(reply.status).toBe(400);
    expect(reply.json).toEqual(errorOf(400, code));
  });

  test('several faults are several errors', async () => {
    const desk = await openDesk();
    const reply = await desk.quote({ quoteAmount: 0, sourceCountry: '??' });
    expect(reply.json.errors).toHaveLength(2);
  });
});

describe('4 rule 3: identities, with service-facts 6', () => {
  test('one that nobody named has an invented name, always the same, by which it is found', async () => {
    const { sandbox, url, token } = await openDesk();
    const ids = Array.from({ length: 50 }, (_, at) => `${String(at).padStart(8, '0')}-5f0a-4c56-9f5e-2b1d3c4a5e6f`);
    await sandbox.registerIdentities(
      'test',
      ids.map((identityId) => ({ identityId, identityType: 'BENEFICIARY' })),
    );
    const names = ids.map(inventedName);
    for (const [at, name] of names.entries())
      expect(name).toMatch(new RegExp(`^[A-Z]\\w+ [A-Z]\\w+ ${ids[at]?.slice(0, 4)}$`));
    expect(new Set(names.map((name) => name.slice(0, -5))).size).toBeGreaterThan(25);
    const query = new URLSearchParams({ nickName: names[7] ?? '' });
    const { json } = await send(`${url}/v2/identities?${query}`, { token });
    expect(json.data).toEqual(expect.arrayContaining([expect.objectContaining({ nickName: names[7] })]));
  });

  test.each([
    { identityType: 'BENEFICIARY', identityId: BENEFICIARY, nickName: 'Ana', useCaseType: 'INDIVIDUAL' },
    { identityType: 'ORIGINATOR', identityId: ORIGINATOR, nickName: 'Shop', useCaseType: 'BUSINESS' },
  ])('identityType=$identityType finds those alone', async (identity) => {
    const desk = await openDesk();
    const query = `identityType=${identity.identityType}`;
    const reply = await send(`${desk.url}/v2/identities?${query}`, { token: desk.token });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ data: [{ ...identity, createdAt: expect.stringMatching(/Z$/) }] });
  });

  test('without a type all are found, with a nickName those of that name', async () => {
    const desk = await openDesk();
    const list = async (query: string) => send(`${desk.url}/v2/identities${query}`, { token: desk.token });
    expect((await list('')).json.data).toHaveLength(2);
    expect((await list('?nickName=Shop')).json.data).toHaveLength(1);
    expect((await list('?nickName=Shop&identityType=BENEFICIARY')).json).toEqual(errorOf(404, 'USR_103'));
    expect((await list('?identityType=SENDER')).json).toEqual(errorOf(400, 'USR_101'));
  });

  test('an answer may leave out some of those that match', async () => {
    const desk = await openDesk({ switches: { identitiesAnsweredMax: 1 } });
    expect((await send(`${desk.url}/v2/identities`, { token: desk.token })).json.data).toHaveLength(1);
  });
});

describe('2.5 payment request', () => {
  test.each([
    ['an individual or business payment', {}],
    ['a third-party payment', { originatorIdentityId: ORIGINATOR }],
  ])('%s is made', async (_name, shape) => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const quoted = (await desk.quote({ destinationCountry: 'MX' })).json.quotes[0];
    const body = { quoteId: quoted.quoteId, purposeCode: 'OTHR', sourceOfCash: 'SVGS', internalId: 'INV-1', ...shape };
    const reply = await desk.pay(body);
    expect(reply.status).toBe(201);
    expect(reply.json).toEqual({
      paymentId: quoted.quoteId,
      paymentState: 'INITIATED',
      initiatedAt: new Date(clock.now()).toISOString(),
      lastStateUpdatedAt: new Date(clock.now()).toISOString(),
      expiresAt: new Date(clock.now() + 60 * 86_400_000).toISOString(),
      originator: { internalId: 'INV-1', sourceCurrency: 'USD', sourceAmount: 100, ...shape },
      destination: {
        destinationAmount: quoted.destinationAmount,
        destinationCurrency: 'MXN',
        destinationCountry: 'MX',
        beneficiaryIdentityId: BENEFICIARY,
      },
      adjustedExchangeRate: quoted.adjustedExchangeRate,
      fees: quoted.fees,
      purposeCode: 'OTHR',
      sourceOfCash: 'SVGS',
      transactionDetails: {
        thirdPartyPayment: 'originatorIdentityId' in shape,
        businessUseCase: 'FIAT_TRANSFER',
      },
    });
    expect(desk.sandbox.book('test')).toEqual([
      expect.objectContaining({
        paymentId: quoted.quoteId,
        clientId: desk.clientId,
        internalId: 'INV-1',
        source: { minor: 10_000n, currency: 'USD' },
      }),
    ]);
  });

  test.each(SOURCES_OF_CASH)('sourceOfCash %s is taken', async (sourceOfCash) => {
    const desk = await openDesk();
    expect((await desk.pay({ quoteId: await desk.quoteId(), sourceOfCash })).status).toBe(201);
  });

  test('labels and memo are taken and shown', async () => {
    const desk = await openDesk();
    const extra = { paymentLabels: ['run 7'], paymentMemo: 'rent' };
    expect((await desk.pay({ quoteId: await desk.quoteId(), ...extra })).json).toMatchObject(extra);
  });

  test.each([
    ['no quoteId', { quoteId: undefined }, 'USR_001'],
    ['a quoteId that is no UUID', { quoteId: 'q-1' }, 'USR_001'],
    ['no beneficiaryIdentityId', { beneficiaryIdentityId: undefined }, 'USR_001'],
    ['a beneficiary that does not exist', { beneficiaryIdentityId: NOBODY }, 'USR_101'],
    ['a beneficiary of type ORIGINATOR', { beneficiaryIdentityId: ORIGINATOR }, 'USR_101'],
    ['an originator that does not exist', { originatorIdentityId: NOBODY }, 'USR_101'],
    ['an originator of type BENEFICIARY', { originatorIdentityId: BENEFICIARY }, 'USR_101'],
    ['an originator that is null', { originatorIdentityId: null }, 'USR_001'],
    ['an unknown sourceOfCash', { sourceOfCash: 'LOOT' }, 'USR_001'],
    ['a purposeCode of another form', { purposeCode: 'two words' }, 'USR_001'],
    ['an internalId of 37 characters', { internalId: 'x'.repeat(37) }, 'USR_001'],
    ['eleven labels', { paymentLabels: Array.from({ length: 11 }, () => 'x') }, 'USR_001'],
    ['a label of 101 characters', { paymentLabels: ['x'.repeat(101)] }, 'USR_001'],
    ['an unknown field', { amount: 100 }, 'USR_001'],
  ])('%s is refused with 400 and pays nothing', async (_name, change, code) => {
    const desk = await openDesk();
    const reply = await desk.pay({ quoteId: await desk.quoteId(), ...change });
    expect(reply.status).toBe(400);
    expect(reply.json).toEqual(errorOf(400, code));
    expect(desk.sandbox.book('test')).toEqual([]);
  });

  test('UUIDs are the same in either case', async () => {
    const desk = await openDesk();
    const quoteId = await desk.quoteId();
    const beneficiaryIdentityId = BENEFICIARY.toUpperCase();
    expect((await desk.pay({ quoteId: quoteId.toUpperCase(), beneficiaryIdentityId })).json.paymentId).toBe(quoteId);
    expect((await desk.read(quoteId.toUpperCase())).status).toBe(200);
  });
});

describe('4 rule 4: the quote comes from the quote collection', () => {
  test('an unknown quote is not found', async () => {
    const desk = await openDesk();
    const reply = await desk.pay({ quoteId: NOBODY });
    expect(reply.json).toEqual(errorOf(404, 'USR_011'));
  });

  test('a quote of the other environment is not found', async () => {
    const desk = await openDesk({ ports: { prod: 0 } });
    const tenantId = desk.sandbox.tenantId;
    const credential = await desk.sandbox.createCredential('p', 'prod');
    const prod = desk.sandbox.url('prod');
    const body = tokenBody({ ...credential, tenantId }, 'prod');
    const token = (await send(`${prod}/v2/oauth/token`, { method: 'POST', body })).json.access_token;
    const quoted = await send(`${prod}/v2/quotes/quote-collection`, { method: 'POST', token, body: QUOTE });
    expect((await desk.pay({ quoteId: quoted.json.quotes[0].quoteId })).json).toEqual(errorOf(404, 'USR_011'));
  });

  test('another credential of the tenant may use it', async () => {
    const desk = await openDesk();
    const other = await desk.sandbox.createCredential('other', 'test');
    const body = tokenBody({ ...other, tenantId: desk.sandbox.tenantId });
    const token = (await ask(desk, body)).json.access_token;
    expect((await desk.pay({ quoteId: await desk.quoteId() }, { token })).status).toBe(201);
  });

  test('an expired quote cannot make a payment, from its very end on', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { quoteLifeMs: 5000 } });
    const [alive, dead] = [await desk.quoteId(), await desk.quoteId()];
    clock.advance(4999);
    expect((await desk.pay({ quoteId: alive })).status).toBe(201);
    clock.advance(1);
    expect((await desk.pay({ quoteId: dead })).json).toEqual(errorOf(400, 'USR_003'));
    expect(desk.sandbox.book('test')).toHaveLength(1);
  });
});

describe('4 read payment, with service-facts 4', () => {
  test('a payment goes its way to COMPLETED within a second', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId, internalId: 'INV-1' });
    const states: string[] = [];
    for (const step of [0, 300, 300, 400]) {
      clock.advance(step);
      states.push((await desk.read(quoteId)).json.paymentState);
    }
    expect(states).toEqual(['INITIATED', 'VALIDATING', 'TRANSFERRING', 'COMPLETED']);
    const reply = await desk.read(quoteId);
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ paymentId: quoteId, originator: { internalId: 'INV-1' } });
    expect(reply.json.lastStateUpdatedAt).toBe(new Date(clock.now() - 100).toISOString());
  });

  test('an id that is no UUID is refused, one without a payment is not found', async () => {
    const desk = await openDesk();
    for (const id of ['1', '%20', '%', `${NOBODY}0`])
      expect((await desk.read(id)).json).toEqual(errorOf(400, 'USR_001'));
    expect((await desk.read(NOBODY)).json).toEqual(errorOf(404, 'USR_002'));
    expect((await desk.read(await desk.quoteId())).json).toEqual(errorOf(404, 'USR_002'));
  });

  test('ids that a source of chance gives twice are given to one quote', async () => {
    let calls = 0;
    const random = {
      ...systemRandom,
      uuid: () => `00000000-0000-4000-8000-${String((calls += 1) >> 1).padStart(12, '0')}`,
    };
    const desk = await openDesk({ random });
    const ids = [await desk.quoteId(), await desk.quoteId(), await desk.quoteId()];
    expect(new Set(ids).size).toBe(3);
  });
});
