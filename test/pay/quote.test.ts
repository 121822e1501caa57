import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { errorBody, type Json } from '../support/scripted-service.ts';
import { REFUSING_URL, selfSignedUrl } from './unreachable.ts';

const redis = await useTestRedis();

function giveQuotes(rig: PayRig, ...changes: Json[]): void {
  rig.service.onQuote = (request, answering) =>
    rig.service.reply(answering, {
      status: 201,
      json: { quotes: changes.map((change) => rig.service.quoteOf(request, change)) },
    });
}

function refuseQuotes(rig: PayRig, status: number, code: string): void {
  rig.service.onQuote = (_request, answering) =>
    rig.service.reply(answering, { status, json: errorBody(code, status) });
}

/** When the payout's slice is looked at again, in milliseconds from now. */
async function sliceDueMs(rig: PayRig): Promise<number> {
  const score = await rig.redis.zscore(`${rig.prefix}:run:${rig.runId}:slices`, '2-2');
  return Number.parseInt(score ?? '', 10) - Date.now();
}

describe('a quote', () => {
  test.each<[string, Json, string]>([
    ['another amount', { sourceAmount: 123.46 }, 'E_QUOTE_AMOUNT'],
    ['more digits than its currency has', { sourceAmount: 123.451 }, 'E_QUOTE_DIGITS'],
    ['more digits on the other side', { destinationAmount: 2438.191 }, 'E_QUOTE_DIGITS'],
  ])('with %s holds the payout, and nothing is armed', async (_what, changes, reasonCode) => {
    const rig = await openRig(redis);
    giveQuotes(rig, changes);
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode, quoteId: null, attempts: 0 });
    expect(rig.service.payments()).toEqual([]);
  });

  test('that is the second of two is armed when the first is not ours', async () => {
    const rig = await openRig(redis);
    giveQuotes(rig, { sourceCurrency: 'EUR' }, {});
    await rig.pay(await rig.process());
    expect((await rig.payout()).state).toBe('accepted');
  });

  test('with a fee finer than its currency is armed, and the ledger keeps the fee as it was told', async () => {
    const rig = await openRig(redis);
    giveQuotes(rig, { fees: [{ totalFee: 0.0037, feeCurrency: 'USD' }], taxes: [] });
    expect(await rig.pay(await rig.process())).toBe('done');
    const { attempts, fees } = await rig.payout();
    expect({ attempts, fees }).toEqual({ attempts: 1, fees: [{ minor: 37n, currency: 'USD', digits: 4 }] });
  });

  test('that echoes nothing is armed, and the payment says what it is', async () => {
    const rig = await openRig(redis);
    giveQuotes(rig, {
      sourceCurrency: undefined,
      destinationCurrency: undefined,
      sourceAmount: undefined,
      destinationAmount: undefined,
      adjustedExchangeRate: undefined,
      fees: undefined,
    });
    await rig.pay(await rig.process());
    expect(await rig.payout()).toMatchObject({
      state: 'accepted',
      rate: null,
      fees: [],
      sourceAmount: { minor: 12_345n, currency: 'USD' },
    });
  });

  test.each<[string, number]>([
    ['ended already', -1000],
    ['has less than half a second left', 400],
  ])('that %s is not armed; another one is asked for later', async (_what, lifeMs) => {
    const rig = await openRig(redis);
    rig.service.onQuote = (request, answering) => {
      const second = Math.floor(rig.service.now() / 1000) * 1000;
      const expiresAt = new Date(second + lifeMs).toISOString();
      rig.service.reply(answering, {
        status: 201,
        json: { quotes: [rig.service.quoteOf(request, { expiresAt })] },
        headers: { date: new Date(second).toUTCString() },
      });
    };
    expect(await rig.pay(await rig.process())).toBe('deferred');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quoteFailures: 1, attempts: 0 });
    expect(rig.service.payments()).toEqual([]);
  });
});

describe('a quote request', () => {
  test('refused for good rejects the payout', async () => {
    const rig = await openRig(redis);
    refuseQuotes(rig, 400, 'USR_013');
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({
      state: 'rejected',
      reasonCode: 'USR_013',
      reason: 'the title of USR_013',
      quoteId: null,
    });
  });

  test.each<[number, string]>([
    [402, 'USR_067'],
    [403, 'AUTH_003'],
  ])('answered %i %s pauses the run and leaves the payout ready', async (status, code) => {
    const rig = await openRig(redis);
    refuseQuotes(rig, status, code);
    expect(await rig.pay(await rig.process())).toBe('left');
    expect((await rig.payout()).state).toBe('ready');
    expect(await rig.run()).toMatchObject({ state: 'paused', pauseReason: `${code}: the title of ${code}` });
  });

  test.each<[string, (rig: PayRig) => void]>([
    ['500', (rig) => refuseQuotes(rig, 500, 'SYS_001')],
    ['an empty collection', (rig) => giveQuotes(rig)],
    [
      'a reset',
      (rig) => {
        rig.service.onQuote = (_request, answering) => answering.reset();
      },
    ],
  ])('that fails with %s is put off, and holds the payout at the eighth time', async (_what, fail) => {
    const rig = await openRig(redis);
    fail(rig);
    const deps = await rig.process();
    for (let failures = 1; failures < 8; failures++) {
      // The service is there: it answers other requests.
      await deps.service.readPayment('another');
      expect(await rig.pay(deps)).toBe('deferred');
      expect(await rig.payout()).toMatchObject({ state: 'ready', quoteFailures: failures });
      expect(await sliceDueMs(rig)).toBeGreaterThan(0);
    }
    expect(await rig.pay(deps)).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NO_QUOTE', attempts: 0 });
    expect(rig.service.quotes()).toBe(8);
  });

  test.each<[string, PayRig['service']['onQuote']]>([
    ['never answered by a service that is away', (_request, answering) => answering.reset()],
    ["answered by a gateway's page", (_request, answering) => answering.reply({ status: 200, text: '<html>' })],
  ])('that is %s holds nothing: the service is waited for', async (_what, fail) => {
    const rig = await openRig(redis);
    let skippedMs = 0;
    const clock: Clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() + skippedMs,
      async sleep(ms) {
        skippedMs += Math.max(0, ms);
      },
    };
    const deps = await rig.process({ clock });
    const { onQuote } = rig.service;
    rig.service.onQuote = fail;
    for (let tries = 0; tries < 12; tries++) expect(await rig.pay(deps)).toBe('deferred');
    expect(deps.service.isAway()).toBe(true);
    expect(await rig.payout()).toMatchObject({ state: 'ready', quoteFailures: 5 });
    rig.service.onQuote = onQuote;
    expect((await rig.goOn(deps)).state).toBe('accepted');
    expect(deps.service.isAway()).toBe(false);
  });

  test('failures that are not in a row do not add up', async () => {
    const rig = await openRig(redis);
    refuseQuotes(rig, 500, 'SYS_001');
    const deps = await rig.process();
    for (let failures = 1; failures < 8; failures++) await rig.pay(deps);
    giveQuotes(rig, {});
    rig.service.onPay = (_request, answering) => answering.reset();
    await rig.pay(deps);
    expect(await rig.payout()).toMatchObject({ state: 'unknown', quoteFailures: 0 });
  });

  test('that meets a refused connection is put off', async () => {
    const rig = await openRig(redis);
    expect(await rig.pay(await rig.process({ url: REFUSING_URL, hasToken: true }))).toBe('deferred');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quoteFailures: 1 });
  });

  test('that meets a certificate that does not verify pauses the run', async () => {
    const rig = await openRig(redis);
    await rig.pay(await rig.process({ url: await selfSignedUrl(), hasToken: true }));
    expect((await rig.payout()).state).toBe('ready');
    expect((await rig.run()).state).toBe('paused');
  });

  test('of a process without a token that meets such a certificate pauses the run', async () => {
    const rig = await openRig(redis);
    expect(await rig.pay(await rig.process({ url: await selfSignedUrl() }))).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quoteFailures: 0 });
    expect((await rig.run()).pauseReason).toContain('E_CERTIFICATE');
  });
});

describe('one quote for two payouts', () => {
  const QUOTE_ID = '0f0f0f0f-bbbb-4ccc-8ddd-eeeeeeeeeeee';

  test('is armed for one of them; the other one asks again and is paid with its own', async () => {
    const rig = await openRig(redis, [{}, {}]);
    const { onQuote } = rig.service;
    giveQuotes(rig, { quoteId: QUOTE_ID });
    const deps = await rig.process();
    await Promise.all([rig.pay(deps, 2), rig.pay(deps, 3)]);
    expect(rig.service.payments()).toHaveLength(1);
    rig.service.onQuote = onQuote;
    for (const line of [2, 3]) expect((await rig.goOn(deps, line)).state).toBe('accepted');
    expect(new Set(rig.service.book.map(({ paymentId }) => paymentId)).size).toBe(2);
  });

  test('counts as no quote for the other: it is held at the eighth time', async () => {
    const rig = await openRig(redis, [{}, {}]);
    giveQuotes(rig, { quoteId: QUOTE_ID });
    const deps = await rig.process();
    await rig.pay(deps, 2);
    for (let failures = 1; failures <= 8; failures++) await rig.pay(deps, 3);
    expect(await rig.payout(3)).toMatchObject({ state: 'held', attempts: 0 });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('is not armed again after it was proven dead', async () => {
    const rig = await openRig(redis);
    giveQuotes(rig, { quoteId: QUOTE_ID });
    rig.service.onPay = (_request, answering) => answering.reset();
    const deps = await rig.process();
    await rig.pay(deps);
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    await rig.passTime(5000);
    await rig.lookUp(deps);
    expect((await rig.payout()).state).toBe('ready');
    expect(await rig.pay(deps)).toBe('deferred');
    expect(rig.service.payments()).toHaveLength(1);
  });
});
