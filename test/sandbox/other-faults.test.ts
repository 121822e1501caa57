import { describe, expect, test } from 'vitest';
import { askToken, BENEFICIARY, openDesk, payAndRead, QUOTE, send, testClock, tokenBody } from './desk.ts';
import { listen } from './wire.ts';

describe('look-ups', () => {
  test.each([
    ['lookUpError500', 500],
    ['lookUpError502', 502],
    ['lookUpError503', 503],
    ['lookUpError504', 504],
    ['lookUpForbidden', 403],
    ['lookUpBadRequest', 400],
    ['lookUpBareNotFound', 404],
    ['lookUpHtml', 200],
    ['lookUpTooMany', 429],
    ['lookUpUnauthorised', 401],
    ['lookUpRedirect', 307],
  ])('%s: %i, and the payment is there when it is off', async (name, status) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    const { quoteId, found } = await payAndRead(desk);
    expect(found.status).toBe(status);
    expect(found.json).not.toHaveProperty('paymentId');
    desk.sandbox.switches.set({ [name]: 0 });
    expect((await desk.read(quoteId)).json.paymentId).toBe(quoteId);
  });

  test.each(['lookUpBareNotFound', 'lookUpHtml'])('%s: no JSON at all', async (name) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    expect((await payAndRead(desk)).found.json).toEqual({});
  });

  test.each(['lookUpDrop', 'lookUpCut'])('%s: the answer breaks', async (name) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    await expect(desk.read(await desk.quoteId())).rejects.toThrow(/ECONNRESET|aborted/);
  });

  test('lookUpEmpty, lookUpDrip and lookUpTimeout: no body, a slow one, nothing', async () => {
    const desk = await openDesk({ switches: { lookUpEmpty: 1, dripMs: 0 } });
    const { quoteId, found } = await payAndRead(desk);
    expect([found.status, found.text]).toEqual([200, '']);
    desk.sandbox.switches.set({ lookUpEmpty: 0, lookUpDrip: 1 });
    expect((await desk.read(quoteId)).json.paymentId).toBe(quoteId);
    desk.sandbox.switches.set({ lookUpDrip: 0, lookUpTimeout: 1 });
    const wire = await listen(`${desk.url}/v2/payments/${quoteId}`, { method: 'GET', token: desk.token }, 200);
    expect(wire).toEqual({ text: '', end: 'open' });
  });

  test.each([
    ['lookUpOtherId', 'paymentId'],
    ['lookUpOtherAmount', 'originator.sourceAmount'],
    ['lookUpOtherAmount', 'destination.destinationAmount'],
    ['lookUpOtherBeneficiary', 'destination.beneficiaryIdentityId'],
    ['lookUpEarlierState', 'paymentState'],
    ['lookUpUnknownState', 'paymentState'],
  ])('%s: the payment is shown with another %s', async (name, field) => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const { quoteId } = await payAndRead(desk);
    clock.advance(60_000);
    const right = (await desk.read(quoteId)).json;
    desk.sandbox.switches.set({ [name]: 1 });
    const wrong = (await desk.read(quoteId)).json;
    const valueIn = (json: object) => field.split('.').reduce<unknown>((at, key) => Reflect.get(Object(at), key), json);
    expect(valueIn(wrong)).toBeDefined();
    expect(valueIn(wrong)).not.toEqual(valueIn(right));
  });

  test('what is not found stays not found, whatever a look-up would have shown', async () => {
    const desk = await openDesk({ switches: { lookUpOtherId: 1 } });
    expect((await desk.read(BENEFICIARY)).json.errors?.[0].code).toBe('USR_002');
  });

  test.each([
    ['all', 200],
    ['their-credential', 404],
  ] as const)('paymentsVisibleTo %s: another credential gets %i', async (paymentsVisibleTo, status) => {
    const desk = await openDesk({ switches: { paymentsVisibleTo } });
    const { quoteId, found } = await payAndRead(desk);
    const other = await desk.sandbox.createCredential('other', 'test');
    const body = tokenBody({ ...other, tenantId: desk.sandbox.tenantId });
    const granted = await send(`${desk.url}/v2/oauth/token`, { method: 'POST', body });
    const seen = await send(`${desk.url}/v2/payments/${quoteId}`, { token: granted.json.access_token });
    expect([found.status, seen.status]).toEqual([200, status]);
  });
});

describe('quotes', () => {
  test.each([
    ['quoteError503', 503],
    ['quoteHtml', 200],
    ['quoteTooMany', 429],
    ['quoteUnauthorised', 401],
    ['quoteForbidden', 403],
    ['quotePaymentRequired', 402],
    ['quoteRefused', 400],
    ['quoteRedirect', 307],
  ])('%s: %i without a quote', async (name, status) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    const reply = await desk.quote();
    expect(reply.status).toBe(status);
    expect(reply.json).not.toHaveProperty('quotes');
  });

  test.each(['quoteDrop', 'quoteCut'])('%s: the answer breaks', async (name) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    await expect(desk.quote()).rejects.toThrow(/ECONNRESET|aborted/);
  });

  test('quoteDrip and quoteTimeout: slowly, and not at all', async () => {
    const desk = await openDesk({ switches: { quoteDrip: 1, dripMs: 0 } });
    expect((await desk.quote()).json.quotes).toHaveLength(1);
    desk.sandbox.switches.set({ quoteTimeout: 1, quoteDrip: 0 });
    const request = { method: 'POST', token: desk.token, body: QUOTE };
    const wire = await listen(`${desk.url}/v2/quotes/quote-collection`, request, 200);
    expect(wire).toEqual({ text: '', end: 'open' });
  });

  test('quoteExpired: it is shown as expired and not paid', async () => {
    const desk = await openDesk({ switches: { quoteExpired: 1 } });
    const [quote] = (await desk.quote()).json.quotes;
    expect(quote).toMatchObject({ quoteStatus: 'EXPIRED', expiresAt: quote.createdAt });
    expect((await desk.pay({ quoteId: quote.quoteId })).status).toBe(400);
  });

  test('quoteOtherAmount: the quote is for another amount', async () => {
    const desk = await openDesk({ switches: { quoteOtherAmount: 1 } });
    expect((await desk.quote()).json.quotes[0].sourceAmount).toBe(101);
  });

  test('quoteSeveral: three wrong ones, then the right one; all can be known again', async () => {
    const desk = await openDesk({ switches: { quoteSeveral: 1 } });
    const { quotes } = (await desk.quote()).json;
    expect(quotes).toMatchObject([
      { quoteStatus: 'EXPIRED' },
      { quoteStatus: 'ACTIVE', destinationCurrency: 'EUR' },
      { quoteStatus: 'ACTIVE', sourceAmount: 101 },
      { quoteStatus: 'ACTIVE', sourceAmount: 100, destinationCurrency: 'MXN' },
    ]);
    const statuses = [];
    for (const { quoteId } of quotes) statuses.push((await desk.pay({ quoteId })).status);
    expect(statuses).toEqual([400, 201, 201, 201]);
  });

  test('quoteCostly and quoteTaxed: fees of ten times the amount, a tax of 1 %', async () => {
    const desk = await openDesk({ switches: { quoteCostly: 1, quoteTaxed: 1 } });
    const [quote] = (await desk.quote()).json.quotes;
    expect(quote.fees[0].totalFee).toBeGreaterThan(1000);
    expect(quote).toMatchObject({ taxes: [{ totalTaxes: 1, taxCurrency: 'USD' }] });
    expect((await desk.pay({ quoteId: quote.quoteId })).json).toMatchObject({ taxes: [{ totalTaxes: 1 }] });
  });

  test('sameQuoteForEqualRequests: equal requests share a quote while it lives, others do not', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { sameQuoteForEqualRequests: true } });
    const first = await desk.quoteId();
    expect(await desk.quoteId()).toBe(first);
    expect(await desk.quoteId({ quoteAmount: 101 })).not.toBe(first);
    clock.advance(20_000);
    expect(await desk.quoteId()).not.toBe(first);
    desk.sandbox.switches.set({ sameQuoteForEqualRequests: false });
    expect(await desk.quoteId()).not.toBe(await desk.quoteId());
  });

  test('quoteExpirySkewMs: the end is shown elsewhere than it is', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { quoteLifeMs: 5000, quoteExpirySkewMs: -86_400_000 } });
    const [quote] = (await desk.quote()).json.quotes;
    expect(Date.parse(quote.expiresAt)).toBe(clock.now() + 5000 - 86_400_000);
    expect((await desk.pay({ quoteId: quote.quoteId })).status).toBe(201);
  });
});

describe('outages', () => {
  test('outageEveryMs and outageLastsMs: everything is reset, and then nothing is', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    desk.sandbox.switches.set({ outageEveryMs: 10_000, outageLastsMs: 3000 });
    await expect(desk.quote()).rejects.toThrow('ECONNRESET');
    clock.advance(2999);
    await expect(desk.read(BENEFICIARY)).rejects.toThrow('ECONNRESET');
    clock.advance(1);
    expect((await desk.quote()).status).toBe(201);
    clock.advance(7000);
    await expect(desk.quote()).rejects.toThrow('ECONNRESET');
  });
});

describe('tokens', () => {
  test.each([
    ['tokenFails', 500],
    ['tokenHtml', 200],
    ['tokenTooMany', 429],
    ['tokenForbidden', 403],
    ['tokenRedirect', 307],
  ])('%s: %i without a token', async (name, status) => {
    const desk = await openDesk();
    desk.sandbox.switches.set({ [name]: 1 });
    const reply = await askToken(desk);
    expect(reply.status).toBe(status);
    expect(reply.json).not.toHaveProperty('access_token');
  });

  test('tokenDrop and tokenDrip: the answer breaks, and comes slowly', async () => {
    const desk = await openDesk({ switches: { dripMs: 0 } });
    desk.sandbox.switches.set({ tokenDrop: 1 });
    await expect(askToken(desk)).rejects.toThrow('ECONNRESET');
    desk.sandbox.switches.set({ tokenDrop: 0, tokenDrip: 1 });
    expect((await askToken(desk)).json).toHaveProperty('access_token');
  });

  test.each([
    ['right', 3600],
    ['too-long', 36_000],
    ['zero', 0],
    ['missing', undefined],
  ] as const)('tokenExpiresIn %s: expires_in is %s, and the token is good', async (tokenExpiresIn, seconds) => {
    const desk = await openDesk({ switches: { tokenExpiresIn } });
    expect(Reflect.get((await askToken(desk)).json, 'expires_in')).toBe(seconds);
    expect((await desk.quote()).status).toBe(201);
  });

  test('revokeTokensEveryMs: every token of before is refused, one of after is good', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { revokeTokensEveryMs: 3000 } });
    expect((await desk.quote()).status).toBe(201);
    clock.advance(3000);
    expect((await desk.quote()).status).toBe(401);
    const token = (await askToken(desk)).json.access_token;
    expect((await send(`${desk.url}/v2/payments/${BENEFICIARY}`, { token })).status).toBe(404);
    desk.sandbox.switches.set({ revokeTokensEveryMs: 0 });
    expect((await desk.quote()).status).toBe(201);
  });
});

describe('how answers look', () => {
  test.each([
    ['array', { status: 404, errors: [{ code: 'USR_002' }] }],
    ['object', { status: 404, errors: { code: 'USR_002' } }],
    ['flat', { status: 404, code: 'USR_002' }],
    ['string-status', { status: '404', errors: [{ code: 'USR_002' }] }],
  ] as const)('errorShape %s', async (errorShape, body) => {
    const desk = await openDesk({ switches: { errorShape } });
    expect((await desk.read(BENEFICIARY)).json).toMatchObject(body);
    expect((await desk.quote()).status).toBe(201);
  });

  test('dateSkewMs, withoutDate and withoutContentType: the headers are wrong, or missing', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { dateSkewMs: -3_600_000 } });
    expect((await desk.quote()).headers.date).toBe('Thu, 15 Jan 2026 11:00:00 GMT');
    desk.sandbox.switches.set({ dateSkewMs: 0 });
    const right = (await desk.quote()).headers;
    expect([right.date, right['content-type']]).toEqual(['Thu, 15 Jan 2026 12:00:00 GMT', 'application/json']);
    desk.sandbox.switches.set({ withoutDate: true, withoutContentType: true });
    const { headers, json } = await desk.quote();
    expect([headers.date, headers['content-type'], json.quotes.length]).toEqual([undefined, undefined, 1]);
  });
});
