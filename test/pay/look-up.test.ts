import { describe, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import type { Song } from '../../src/pay/look-up/canary.ts';
import type { Answering, ReceivedRequest } from '../support/answering-server.ts';
import { GAP_MS, GRACE_MS, openRig, type PayRig, type ProcessOptions } from '../support/pay-rig.ts';
import { ageStep, changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { errorBody, type Json, QUOTE_LIFE_MS } from '../support/scripted-service.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 86_400_000;
/** The Date header has whole seconds. */
const SECOND_MS = 1000;

const redis = await useTestRedis();

/** A payout whose payment request was lost: nothing was made of it, or what `commit` makes. */
async function openUnknown(
  options: ProcessOptions = {},
  prepare: (rig: PayRig) => void = () => {},
): Promise<{ rig: PayRig; deps: PayDeps; request: ReceivedRequest }> {
  const rig = await openRig(redis);
  prepare(rig);
  const { onPay } = rig.service;
  let request: ReceivedRequest | undefined;
  rig.service.onPay = (received, answering) => {
    request = received;
    rig.service.onPay = onPay;
    answering.reset();
  };
  const deps = await rig.process(options);
  await rig.pay(deps);
  if (request === undefined) throw new Error('nothing was sent');
  expect((await rig.payout()).state).toBe('unknown');
  return { rig, deps, request };
}

function answerLookUps(rig: PayRig, answer: (answering: Answering) => void): void {
  rig.service.onLookUp = (_request, answering) => answer(answering);
}

async function lookMany(rig: PayRig, deps: PayDeps, times = 4): Promise<void> {
  for (let look = 0; look < times; look++) {
    await rig.lookUp(deps);
    await rig.passTime(GAP_MS + SECOND_MS);
  }
}

describe('a payment that is found', () => {
  test('is adopted, and shows what it shows', async () => {
    const { rig, deps, request } = await openUnknown();
    rig.service.commit(request, { paymentState: 'TRANSFERRING' });
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentState: 'TRANSFERRING', attempts: 1 });
    expect(rig.service.lookUps()).toEqual([rig.service.payments()[0]?.quoteId]);
  });

  test('after a not-found that counted is adopted, and the not-found forgotten', async () => {
    const { rig, deps, request } = await openUnknown();
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    expect((await rig.payout()).notFoundAt).not.toBeNull();
    rig.service.commit(request);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', notFoundAt: null });
  });

  test.each<[string, Json]>([
    ['another beneficiary', { destination: { beneficiaryIdentityId: 'somebody' } }],
    ['another source currency', { originator: { sourceCurrency: 'EUR' } }],
    ['another destination currency', { destination: { destinationCurrency: 'EUR' } }],
    ['another amount', { originator: { sourceAmount: 123.4 } }],
  ])('and shows %s is a breach: held with the evidence, everything halted', async (what, changes) => {
    const { rig, deps, request } = await openUnknown();
    rig.service.commit(request, changes);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect((await rig.ledger.state.read()).halt).toContain(what);
  });

  test.each<[string, Json]>([
    ['another reference', { originator: { internalId: 'INV-2' } }],
    ['the state QUOTED', { paymentState: 'QUOTED' }],
    ['no state', { paymentState: undefined }],
    ['another id', { paymentId: 'p-2' }],
  ])('and shows %s says nothing', async (_what, changes) => {
    const { rig, deps, request } = await openUnknown();
    const payment = rig.service.commit(request, changes);
    answerLookUps(rig, (answering) => rig.service.reply(answering, { json: payment }));
    await rig.passTime(60_000);
    await lookMany(rig, deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', notFoundAt: null });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('for a quote that the payout left behind is a breach', async () => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    let late: { request: ReceivedRequest; answering: Answering } | undefined;
    rig.service.onPay = (request, answering) => {
      late = { request, answering };
      rig.service.onPay = onPay;
    };
    const slow = rig.pay(await rig.process());
    await expect.poll(() => late).toBeDefined();
    const deps = await rig.process({ rules: { armDeadlineMs: 0 } });
    await expect.poll(async () => [await rig.pay(deps), (await rig.payout()).state]).toEqual(['done', 'unknown']);
    await rig.passTime(60_000);
    await lookMany(rig, deps, 2);
    await rig.pay(await rig.process());
    expect(await rig.payout()).toMatchObject({ state: 'accepted', quotes: 2 });
    if (late !== undefined) {
      rig.service.reply(late.answering, { status: 201, json: rig.service.commit(late.request) });
    }
    await slow;
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect((await rig.ledger.state.read()).halt).toContain('left behind');
  });
});

describe('a not-found', () => {
  test('proves nothing in a closed season, and is asked for less and less often', async () => {
    const { rig, deps } = await openUnknown();
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    const [server] = (await rig.redis.hmget(`${rig.prefix}:head`, 'season')).map(String);
    await rig.redis.hset(`${rig.prefix}:head`, 'season', 'another server');
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', lookUps: 1 });
    expect(await rig.dueMs()).toBeGreaterThan(0);
    await rig.redis.hset(`${rig.prefix}:head`, 'season', server ?? '');
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('ready');
  });

  test('before the end of the quote and the grace proves nothing, however often it comes', async () => {
    const { rig, deps } = await openUnknown();
    await rig.passTime(QUOTE_LIFE_MS + GRACE_MS - 5 * SECOND_MS);
    for (let look = 0; look < 10; look++) await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', notFoundAt: null, lookUps: 10 });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('after them counts once; a second one at once does not', async () => {
    const { rig, deps } = await openUnknown();
    await rig.passTime(60_000);
    const date = new Date(rig.service.now()).toUTCString();
    answerLookUps(rig, (answering) =>
      rig.service.reply(answering, { status: 404, json: errorBody('USR_002', 404), headers: { date } }),
    );
    for (let look = 0; look < 5; look++) await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', notFoundAt: Date.parse(date) });
  });

  test('after them, and another one a gap later, lets a new quote be paid: once', async () => {
    const { rig, deps } = await openUnknown();
    const [first] = rig.service.payments();
    await rig.passTime(60_000);
    await lookMany(rig, deps, 2);
    expect(await rig.payout()).toMatchObject({
      state: 'ready',
      quoteId: null,
      quotes: 1,
      notFoundAt: null,
      lookUps: 0,
      sourceAmount: null,
    });
    expect(await rig.ledger.runs.formerQuotes(rig.runId)).toEqual([
      { line: 2, quoteId: first?.quoteId, isProvenDead: true },
    ]);
    await rig.pay(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 2, quotes: 2 });
    expect(rig.service.book).toHaveLength(1);
    expect(rig.service.book[0]?.['paymentId']).not.toBe(first?.quoteId);
  });

  test.each([
    ['behind', -HOUR_MS],
    ['ahead of', HOUR_MS],
  ])('counts only later by as much as the service is seen to be %s our own clock', async (_where, ms) => {
    const { rig, deps } = await openUnknown({}, ({ service }) => service.passTime(ms));
    await rig.passTime(QUOTE_LIFE_MS);
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('unknown');
    await rig.passTime(HOUR_MS - 60_000);
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('unknown');
    await rig.passTime(2 * HOUR_MS);
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('ready');
  });

  test.each(['first', 'second'])('counts not as the %s while a payment that exists is not found', async (which) => {
    const songs: Song[] = which === 'first' ? [false, 'payment'] : ['payment', false];
    const canary = { sings: async (): Promise<Song> => songs.shift() ?? 'payment' };
    const { rig, deps } = await openUnknown({ canary });
    await rig.passTime(60_000);
    await lookMany(rig, deps, 2);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', quoteId: expect.any(String) });
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('ready');
  });

  test.each<[string, (rig: PayRig) => void, ProcessOptions, ProcessOptions]>([
    ...CAPABILITIES.map((missing): [string, (rig: PayRig) => void, ProcessOptions, ProcessOptions] => {
      const rules = { capabilities: new Set(CAPABILITIES.filter((name) => name !== missing)) };
      return [`without the capability ${missing}`, () => {}, { rules }, { rules }];
    }),
    [
      'without a Date',
      (rig) =>
        answerLookUps(rig, (answering) =>
          answering.write(
            `HTTP/1.1 404 Not Found\r\nContent-Length: 20\r\n\r\n${JSON.stringify({ code: 'USR_002' }).padEnd(20)}`,
          ),
        ),
      {},
      {},
    ],
    [
      'for a quote without expiresAt',
      ({ service }) => {
        service.onQuote = (request, answering) =>
          service.reply(answering, { json: { quotes: [service.quoteOf(request, { expiresAt: undefined })] } });
      },
      {},
      {},
    ],
    ['under other credentials than the attempt', () => {}, { clientId: 'old' }, { clientId: 'new' }],
  ])('%s never proves anything', async (...[, prepare, sender, looker]) => {
    const { rig } = await openUnknown(sender, prepare);
    const deps = await rig.process(looker);
    await rig.passTime(DAY_MS);
    await lookMany(rig, deps, 5);
    expect(['unknown', 'held']).toContain((await rig.payout()).state);
    await rig.pay(deps);
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('under the credentials of the attempt counts again when they come back', async () => {
    const { rig, deps } = await openUnknown({ clientId: 'old' });
    await rig.passTime(DAY_MS / 2);
    await lookMany(rig, await rig.process({ clientId: 'new' }));
    expect((await rig.payout()).notFoundAt).toBeNull();
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('ready');
  });

  test('after a 2xx was seen never proves anything', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (_request, answering) => rig.service.reply(answering, { status: 202, json: {} });
    const deps = await rig.process();
    await rig.pay(deps);
    await rig.passTime(DAY_MS);
    await lookMany(rig, deps);
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE', seen2xx: true });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('of the fifth quote holds the payout', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (_request, answering) => answering.reset();
    expect(await rig.goOn(await rig.process())).toMatchObject({ state: 'held', reasonCode: 'E_TRIED', quotes: 5 });
    expect(new Set(rig.service.payments().map(({ quoteId }) => quoteId)).size).toBe(5);
    expect(rig.service.payments()).toHaveLength(5);
  });

  test.each<[string, number]>([
    ['a quote', 1],
    ['the fifth quote', 5],
  ])('that proves %s of a cancelled run dead cancels the payout', async (_what, quotes) => {
    const { rig, deps } = await openUnknown();
    await rig.moveRun('cancelled');
    await changeStored({ ...rig, line: 2 }, { qn: String(quotes) });
    await rig.passTime(60_000);
    await lookMany(rig, deps, 2);
    expect((await rig.payout()).state).toBe('cancelled');
  });
});

/** The service's clock lags, so that by ours the quote ended long ago. */
function lagging({ service }: PayRig): void {
  service.passTime(-DAY_MS);
}

describe('a payout that nothing can prove unpaid', () => {
  test.each<[string, ProcessOptions]>([
    ['a capability is missing', { rules: { capabilities: new Set(CAPABILITIES.slice(1)) } }],
  ])('is held after its quote’s end when %s, and looked up daily', async (_what, options) => {
    const { rig, deps, request } = await openUnknown(options, lagging);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE' });
    expect(await rig.dueMs()).toBeGreaterThan(DAY_MS - 60_000);
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('held');
    expect(await rig.dueMs()).toBeGreaterThan(DAY_MS - 60_000);
    rig.service.commit(request);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', reasonCode: null });
  });

  test('is held after 24 hours of trying, counted from its present request', async () => {
    const { rig, deps } = await openUnknown();
    answerLookUps(rig, (answering) => rig.service.reply(answering, { status: 500 }));
    // It was tried before, and its run was paused since.
    await ageStep({ ...rig, line: 2 }, { step: 1, ms: DAY_MS });
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('unknown');
    await rig.passTime(DAY_MS);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_TRIED' });
  });

  test('and whose payment is found to be somebody else’s while it is held halts everything', async () => {
    const { rig, deps, request } = await openUnknown(
      { rules: { capabilities: new Set(CAPABILITIES.slice(1)) } },
      lagging,
    );
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('held');
    rig.service.commit(request, { destination: { beneficiaryIdentityId: 'somebody' } });
    await rig.lookUp(deps);
    expect((await rig.ledger.state.read()).halt ?? 'no halt').toContain('another beneficiary');
  });
});

describe('a look-up that says nothing', () => {
  test.each<[string, (rig: PayRig, answering: Answering) => void]>([
    ['400', ({ service }, answering) => service.reply(answering, { status: 400, json: errorBody('USR_001') })],
    ['403', ({ service }, answering) => service.reply(answering, { status: 403, json: errorBody('AUTH_003') })],
    ['a 404 without a body', ({ service }, answering) => service.reply(answering, { status: 404 })],
    ['a 404 with a page', ({ service }, answering) => service.reply(answering, { status: 404, text: '<html>' })],
    ['500', ({ service }, answering) => service.reply(answering, { status: 500, json: errorBody('SYS_001') })],
    ['502 with a page', ({ service }, answering) => service.reply(answering, { status: 502, text: '<html>' })],
    ['a reset', (_rig, answering) => answering.reset()],
  ])('(%s) leaves the payout unknown and comes again later', async (_what, answer) => {
    const { rig, deps } = await openUnknown();
    answerLookUps(rig, (answering) => answer(rig, answering));
    await rig.passTime(DAY_MS / 2);
    await lookMany(rig, deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', notFoundAt: null, lookUps: 4 });
    expect(await rig.dueMs()).toBeDefined();
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('between two not-founds that count does not undo the first', async () => {
    const { rig, deps } = await openUnknown();
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    const { onLookUp } = rig.service;
    answerLookUps(rig, (answering) => rig.service.reply(answering, { status: 500 }));
    await rig.lookUp(deps);
    rig.service.onLookUp = onLookUp;
    await rig.passTime(5000);
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('ready');
  });
});

/** A process that died between its arming and its request. */
async function openArmed(): Promise<{ rig: PayRig; dead: PayDeps }> {
  const rig = await openRig(redis);
  const dead = await rig.process({
    at(point) {
      if (point === 'C4') throw new Error('died');
    },
  });
  await expect(rig.pay(dead)).rejects.toThrow('died');
  return { rig, dead };
}

describe('an armed payout', () => {
  test('is left alone within the deadline of its armer', async () => {
    const { rig } = await openArmed();
    await rig.lookUp(await rig.process({ rules: { armDeadlineMs: 60_000 } }));
    expect((await rig.payout()).state).toBe('armed');
  });

  test('of another process is unknown after the deadline', async () => {
    const { rig } = await openArmed();
    const deps = await rig.process({ rules: { armDeadlineMs: 30 } });
    await expect.poll(async () => [await rig.lookUp(deps), (await rig.payout()).state]).toEqual([undefined, 'unknown']);
    expect(rig.service.lookUps()).toEqual([]);
  });

  test('of this process is unknown only when its request can be under way no more', async () => {
    const { rig, dead } = await openArmed();
    await rig.lookUp({ ...dead, rules: { ...dead.rules, armDeadlineMs: 0 } });
    expect((await rig.payout()).state).toBe('armed');
    const over = { ...dead, rules: { ...dead.rules, armDeadlineMs: 20, requestTimeoutMs: 20 } };
    await expect.poll(async () => [await rig.lookUp(over), (await rig.payout()).state]).toEqual([undefined, 'unknown']);
  });
});

test.each(['ready', 'accepted'] as const)('a payout that is %s is not looked up', async (state) => {
  const rig = await openRig(redis);
  const deps = await rig.process();
  if (state === 'accepted') await rig.pay(deps);
  await rig.lookUp(deps);
  expect(rig.service.lookUps()).toEqual([]);
  expect((await rig.payout()).state).toBe(state);
});
