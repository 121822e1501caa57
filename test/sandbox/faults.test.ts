import { describe, expect, test } from 'vitest';
import { Refusal } from '../../src/refusal.ts';
import { switchesOfText } from '../../src/sandbox/faults/switch-text.ts';
import { SWITCH_DEFAULTS, type SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { BENEFICIARY, ORIGINATOR, openDesk, send, testClock, tokenBody } from './desk.ts';

const STRANGER = '33333333-3333-4333-8333-333333333333';

/** What the sender of a payment request sees, and how many payments there are. */
async function payUnder(switches: SwitchSettings): Promise<{ seen: number | string; paid: number }> {
  const desk = await openDesk({ switches });
  const quoteId = await desk.quoteId();
  const silent = 'timeoutBeforeCommit' in switches || 'timeoutAfterCommit' in switches;
  const giveUp = new AbortController();
  const reply = desk.pay({ quoteId }, silent ? { signal: giveUp.signal } : {});
  if (silent) {
    while (desk.sandbox.counters().payments === 0) await new Promise(setImmediate);
    // The answer to a later request shows that the earlier one has been dealt with.
    await desk.read(quoteId);
    giveUp.abort();
  }
  const seen = await reply.then(
    ({ status }) => status,
    () => 'broken',
  );
  return { seen, paid: desk.sandbox.book('test').length };
}

async function statusesUnder(faultSeed: number): Promise<number[]> {
  const desk = await openDesk({ switches: { tooMany: 0.5, faultSeed } });
  const seen: number[] = [];
  for (let i = 0; i < 20; i += 1) seen.push((await desk.pay({ quoteId: STRANGER })).status);
  return seen;
}

describe('faults of create payment', () => {
  test.each([
    [{ dropBeforeCommit: 1 }, 'broken', 0],
    [{ dropAfterCommit: 1 }, 'broken', 1],
    [{ error500BeforeCommit: 1 }, 500, 0],
    [{ error500AfterCommit: 1 }, 500, 1],
    [{ timeoutBeforeCommit: 1 }, 'broken', 0],
    [{ timeoutAfterCommit: 1 }, 'broken', 1],
    [{ tooMany: 1 }, 429, 0],
    [{ unauthorised: 1 }, 401, 0],
  ])('%o is seen as %s with %i payments made', async (switches, seen, paid) => {
    expect(await payUnder(switches)).toEqual({ seen, paid });
  });

  test('a payment behind a dropped answer can be read', async () => {
    const desk = await openDesk({ switches: { dropAfterCommit: 1 } });
    const quoteId = await desk.quoteId();
    await expect(desk.pay({ quoteId })).rejects.toThrow('ECONNRESET');
    expect((await desk.read(quoteId)).json.paymentId).toBe(quoteId);
  });

  test('the same seed gives the same faults, another seed others', async () => {
    const first = await statusesUnder(7);
    expect(new Set(first)).toEqual(new Set([404, 429]));
    expect(await statusesUnder(7)).toEqual(first);
    expect(await statusesUnder(8)).not.toEqual(first);
  });

  test.each([
    ['1', '1'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['', undefined],
  ])('a 429 carries the Retry-After "%s"', async (retryAfter, header) => {
    const desk = await openDesk({ switches: { tooMany: 1, retryAfter } });
    expect((await desk.pay({ quoteId: STRANGER })).headers['retry-after']).toBe(header);
  });
});

describe('faults of quotes', () => {
  test('quotes fail', async () => {
    const desk = await openDesk({ switches: { quoteFails: 1 } });
    expect((await desk.quote()).status).toBe(500);
  });

  test.each([{ quoteEmpty: 1 }, { emptyQuotes: true }])('%o is an empty collection', async (switches) => {
    const desk = await openDesk({ switches });
    const reply = await desk.quote();
    expect(reply.status).toBe(201);
    expect(reply.json).toEqual({ quoteCollectionId: expect.any(String), quotes: [] });
  });
});

describe('switches', () => {
  test.each([
    ['replay-201', 201],
    ['400', 400],
    ['404', 404],
    ['409', 409],
  ] as const)('repeatedQuote %s: a repeat is answered %i and never pays again', async (repeatedQuote, status) => {
    const desk = await openDesk({ switches: { repeatedQuote } });
    const quoteId = await desk.quoteId();
    const first = await desk.pay({ quoteId, internalId: 'a' });
    const repeats = await Promise.all(Array.from({ length: 5 }, () => desk.pay({ quoteId, internalId: 'b' })));
    expect(first.status).toBe(201);
    expect(repeats.map((reply) => reply.status)).toEqual([status, status, status, status, status]);
    expect(desk.sandbox.book('test').map((payment) => payment.internalId)).toEqual(['a']);
  });

  test('replay-201 shows the first payment, whatever the repeat says', async () => {
    const desk = await openDesk();
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId, internalId: 'a' });
    expect((await desk.pay({ quoteId, internalId: 'b' })).json.originator.internalId).toBe('a');
  });

  test('twenty first requests at once for one quote make one payment', async () => {
    const desk = await openDesk({ switches: { repeatedQuote: '409' } });
    const quoteId = await desk.quoteId();
    const replies = await Promise.all(Array.from({ length: 20 }, () => desk.pay({ quoteId })));
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1);
    expect(desk.sandbox.book('test')).toHaveLength(1);
  });

  test('a repeat after the end of the quote shows the payment still', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock });
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId });
    clock.advance(60_000);
    expect((await desk.pay({ quoteId })).json).toMatchObject({ paymentId: quoteId, paymentState: 'COMPLETED' });
  });

  test('paysQuoteTwice: the book shows what was paid twice', async () => {
    const desk = await openDesk({ switches: { paysQuoteTwice: true } });
    const quoteId = await desk.quoteId();
    for (const internalId of ['a', 'b']) expect((await desk.pay({ quoteId, internalId })).status).toBe(201);
    expect(desk.sandbox.book('test').map((payment) => [payment.paymentId, payment.internalId])).toEqual([
      [quoteId, 'a'],
      [quoteId, 'b'],
    ]);
  });

  test('takesExpiredQuotes: an expired quote is paid', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { takesExpiredQuotes: true } });
    const quoteId = await desk.quoteId();
    clock.advance(21_000);
    expect((await desk.pay({ quoteId })).status).toBe(201);
  });

  test('quoteWithoutExpiry and quoteWithoutAmounts: the fields are not shown, the quote can be paid', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { quoteWithoutExpiry: true, quoteWithoutAmounts: true } });
    const [quote] = (await desk.quote()).json.quotes;
    for (const field of ['expiresAt', 'sourceAmount', 'destinationAmount']) expect(quote).not.toHaveProperty(field);
    clock.advance(86_400_000 / 48);
    expect((await desk.pay({ quoteId: quote.quoteId })).status).toBe(201);
  });

  test('acceptsAnyIdentity: an identity is registered by its first use, as the type of that use', async () => {
    const desk = await openDesk({ switches: { acceptsAnyIdentity: true } });
    const pay = async (beneficiaryIdentityId: string) =>
      (await desk.pay({ quoteId: await desk.quoteId(), beneficiaryIdentityId })).status;
    expect(await pay(STRANGER)).toBe(201);
    expect(await pay(STRANGER)).toBe(201);
    expect(await pay(ORIGINATOR)).toBe(400);
    desk.sandbox.switches.set({ acceptsAnyIdentity: false });
    expect(await pay(STRANGER)).toBe(201);
    expect(await pay('44444444-4444-4444-8444-444444444444')).toBe(400);
  });

  test('visibilityDelayMs: a new payment is not found at first', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { visibilityDelayMs: 2000 } });
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId });
    clock.advance(1999);
    expect((await desk.read(quoteId)).json.errors?.[0].code).toBe('USR_002');
    clock.advance(1);
    expect((await desk.read(quoteId)).status).toBe(200);
  });

  test.each([
    ['FAILED', ['INITIATED', 'VALIDATING', 'TRANSFERRING', 'FAILED', 'FAILED']],
    ['RETURNED', ['INITIATED', 'VALIDATING', 'TRANSFERRING', 'COMPLETED', 'RETURNED']],
    ['VALIDATING', ['INITIATED', 'VALIDATING', 'VALIDATING', 'VALIDATING', 'VALIDATING']],
    ['NEW_WORD', ['INITIATED', 'VALIDATING', 'TRANSFERRING', 'NEW_WORD', 'NEW_WORD']],
  ])('finalState %s: the way of a payment is %j', async (finalState, way) => {
    const clock = testClock();
    const switches = { finalState, completesAfterMs: 3000, returnsAfterMs: 1000 };
    const desk = await openDesk({ clock, switches });
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId });
    const seen: string[] = [];
    for (let second = 0; second < 5; second += 1) {
      const { json } = await desk.read(quoteId);
      seen.push(json.paymentState);
      clock.advance(1000);
    }
    expect(seen).toEqual(way);
  });

  test.each([
    ['FAILED', 'USR_169'],
    ['DECLINED', 'USR_166'],
    ['RETURNED', 'SYS_120'],
    ['COMPLETED', undefined],
  ])('finalState %s: the payment shows the error %s', async (finalState, code) => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { finalState } });
    const quoteId = await desk.quoteId();
    await desk.pay({ quoteId });
    clock.advance(60_000);
    const { json } = await desk.read(quoteId);
    expect([json.paymentState, json.errors?.[0].code]).toEqual([finalState, code]);
  });

  test('rateLimitPerSecond: what is above it gets 429 until the next second, token requests never', async () => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches: { rateLimitPerSecond: 2 } });
    const status = async () => (await desk.read(STRANGER)).status;
    expect([await status(), await status(), await status()]).toEqual([404, 404, 429]);
    const body = tokenBody({ ...desk, tenantId: desk.sandbox.tenantId });
    expect((await send(`${desk.url}/v2/oauth/token`, { method: 'POST', body })).status).toBe(200);
    clock.advance(1000);
    expect(await status()).toBe(404);
  });

  test('delays: an answer waits so long, and what it tells of is done before', async () => {
    const waits: number[] = [];
    const clock = { ...testClock(), sleep: async (ms: number) => void waits.push(ms) };
    const desk = await openDesk({ clock, switches: { tokenDelayMs: 11, answerDelayMs: { payments: 22 } } });
    await desk.pay({ quoteId: await desk.quoteId() });
    expect(waits).toEqual([11, 22]);
  });

  test('an unknown name or a wrong value changes nothing and is named', async () => {
    const { sandbox } = await openDesk({ switches: { quoteLifeMs: 7000 } });
    const wrong: object = { quoteLifeMs: 1, quoteLive: 1, dropAfterCommit: 2 };
    expect(() => sandbox.switches.set(wrong)).toThrow(/quoteLive[^]*dropAfterCommit|dropAfterCommit[^]*quoteLive/);
    expect(sandbox.switches.get().quoteLifeMs).toBe(7000);
    sandbox.switches.set({ answerDelayMs: { quotes: 5 } });
    expect(sandbox.switches.get()).toEqual({
      ...SWITCH_DEFAULTS,
      quoteLifeMs: 7000,
      answerDelayMs: { ...SWITCH_DEFAULTS.answerDelayMs, quotes: 5 },
    });
  });

  test('switches can be written as text', () => {
    const texts = [
      'quoteLifeMs=5000',
      'repeatedQuote=409',
      'emptyQuotes=true',
      'tooMany=0.25',
      'answerDelayMs.payment=9',
    ];
    expect(switchesOfText(texts)).toEqual({
      ...SWITCH_DEFAULTS,
      quoteLifeMs: 5000,
      repeatedQuote: '409',
      emptyQuotes: true,
      tooMany: 0.25,
      answerDelayMs: { ...SWITCH_DEFAULTS.answerDelayMs, payment: 9 },
    });
  });

  test.each([
    'quoteLifeMs',
    '=5',
    'quoteLifeMs=',
    'quoteLifeMs=soon',
    'nope=1',
    'emptyQuotes=yes',
    'answerDelayMs=1',
    'a.b=1',
    'quoteLifeMs.x=1',
  ])('the text "%s" is refused', (text) => {
    expect(() => switchesOfText([text])).toThrow(Refusal);
  });

  test('counters tell how many requests each operation saw', async () => {
    const desk = await openDesk();
    await desk.pay({ quoteId: await desk.quoteId() });
    await desk.read(BENEFICIARY);
    expect(desk.sandbox.counters()).toEqual({
      token: 1,
      tokenTest: 0,
      quotes: 1,
      identities: 0,
      balances: 0,
      payments: 1,
      payment: 1,
    });
  });
});
