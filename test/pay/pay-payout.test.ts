import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { type IntentLog, IntentLogFault, intentsFolder } from '../../src/ledger/intents/intent-log.ts';
import type { AtCrashPoint, CrashPoint } from '../../src/pay/crash-point.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { movableClock } from '../service/test-service.ts';
import type { Answering, ReceivedRequest } from '../support/answering-server.ts';
import { openRig, type PayRig, type ProcessOptions } from '../support/pay-rig.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { errorBody } from '../support/scripted-service.ts';
import { openArmingLine } from './arming-line.ts';
import { REFUSING_URL, selfSignedUrl } from './unreachable.ts';

const redis = await useTestRedis();

function atPoint(wanted: CrashPoint, act: () => void): AtCrashPoint {
  return (point) => {
    if (point === wanted) act();
  };
}

/** Takes the next payment request in and answers it when told. */
function slowPayment(rig: PayRig): Promise<{ request: ReceivedRequest; answering: Answering }> {
  const { onPay } = rig.service;
  return new Promise((resolve) => {
    rig.service.onPay = (request, answering) => {
      rig.service.onPay = onPay;
      resolve({ request, answering });
    };
  });
}

function refusePayments(rig: PayRig, status: number, code: string): void {
  rig.service.onPay = (_request, answering) => rig.service.reply(answering, { status, json: errorBody(code, status) });
}

describe('a payout that is ready', () => {
  test('is quoted, armed, paid with one request, and accepted', async () => {
    const rig = await openRig(redis);
    expect(await rig.pay(await rig.process())).toBe('done');
    const payout = await rig.payout();
    expect(payout).toMatchObject({
      state: 'accepted',
      attempts: 1,
      armings: 1,
      quotes: 1,
      paymentId: payout.quoteId,
      paymentState: 'INITIATED',
      sourceAmount: { minor: 12_345n, currency: 'USD' },
      destinationAmount: { minor: 243_819n, currency: 'MXN' },
      rate: '19.75',
      fees: [{ minor: 250n, currency: 'USD' }],
    });
    expect(payout.history.map(({ to }) => to)).toEqual(['ready', 'armed', 'accepted']);
    expect(rig.service.payments()).toEqual([
      {
        quoteId: payout.quoteId,
        beneficiaryIdentityId: payout.row.beneficiaryIdentityId,
        internalId: payout.row.reference,
      },
    ]);
    expect(rig.service.book).toHaveLength(1);
    expect(await rig.dueMs()).toBeDefined();
  });

  test('is armed in the ledger and has its line in the intent log before the request arrives', async () => {
    const rig = await openRig(redis);
    const arriving = slowPayment(rig);
    const deps = await rig.process();
    const paying = rig.pay(deps);
    const { request, answering } = await arriving;
    const { state, quoteId, armingCounter } = await rig.payout();
    expect(state).toBe('armed');
    expect(await rig.intentLines()).toMatchObject([
      { runId: rig.runId, line: 2, attempt: 1, quoteId, armingCounter, owner: deps.owner },
    ]);
    rig.service.reply(answering, { status: 201, json: rig.service.commit(request) });
    expect(await paying).toBe('done');
  });

  test('keeps no second copy of the quote id as its payment id', async () => {
    const rig = await openRig(redis);
    await rig.pay(await rig.process());
    expect(await rig.record()).not.toHaveProperty('pid');
  });

  test('is paid once by ten jobs of five processes at once', async () => {
    const rig = await openRig(redis);
    const processes = await Promise.all(Array.from({ length: 5 }, () => rig.process()));
    await Promise.all([...processes, ...processes].map((deps) => rig.pay(deps)));
    expect(rig.service.payments()).toHaveLength(1);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('is left alone when the worker stops, in a run that is not being paid, and while everything is halted', async () => {
    const rig = await openRig(redis);
    const deps = await rig.process();
    expect(await rig.pay(deps, 2, AbortSignal.abort())).toBe('left');
    await rig.moveRun('paused');
    expect(await rig.pay(deps)).toBe('left');
    await rig.moveRun('paying');
    await rig.ledger.state.halt('test', 'a test');
    expect(await rig.pay(deps)).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'ready', attempts: 0 });
    expect(rig.service.payments()).toEqual([]);
  });

  test('is left alone in a closed season', async () => {
    const rig = await openRig(redis);
    await rig.redis.hset(`${rig.prefix}:head`, 'season', 'another server');
    expect(await rig.pay(await rig.process())).toBe('left');
    await rig.redis.hdel(`${rig.prefix}:head`, 'season');
    expect(await rig.pay(await rig.process())).toBe('left');
    expect(rig.service.payments()).toEqual([]);
  });

  test('is held and everything halted when its row is not as payrun wrote it', async () => {
    const rig = await openRig(redis);
    await changeStored({ ...rig, line: 2 }, { amt: '12346' });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect((await rig.ledger.state.read()).halt).toContain('its row was changed in Redis');
    expect(rig.service.payments()).toEqual([]);
  });
});

test('a payout that had five quotes is held instead of armed once more', async () => {
  const rig = await openRig(redis);
  await changeStored({ ...rig, line: 2 }, { qn: '5' });
  expect(await rig.pay(await rig.process())).toBe('done');
  expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_TRIED' });
  expect(rig.service.payments()).toEqual([]);
});

describe('an answer that is not definite', () => {
  const CUT = 'HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"paymentId":';
  test.each<[string, boolean, (rig: PayRig, answering: Answering) => void]>([
    ['a reset', false, (_rig, answering) => answering.reset()],
    ['a connection that ends', false, (_rig, answering) => answering.close()],
    [
      'a body that is cut',
      true,
      (_rig, answering) => {
        answering.write(CUT);
        answering.close();
      },
    ],
    ['an empty 201', true, ({ service }, answering) => service.reply(answering, { status: 201 })],
    ['a 201 with a page', true, ({ service }, answering) => service.reply(answering, { status: 201, text: '<html>' })],
    ['a 202', true, ({ service }, answering) => service.reply(answering, { status: 202, json: {} })],
    ['a 400', false, ({ service }, answering) => service.reply(answering, { status: 400, json: errorBody('USR_003') })],
    ['a 404', false, ({ service }, answering) => service.reply(answering, { status: 404, json: errorBody('USR_011') })],
    ['a 408', false, ({ service }, answering) => service.reply(answering, { status: 408 })],
    ['a 409', false, ({ service }, answering) => service.reply(answering, { status: 409, json: errorBody('USR_003') })],
    ['a 500', false, ({ service }, answering) => service.reply(answering, { status: 500, json: errorBody('SYS_001') })],
    ['a 503 with a page', false, ({ service }, answering) => service.reply(answering, { status: 503, text: 'busy' })],
    [
      'a 307 to another place',
      false,
      ({ service }, answering) =>
        service.reply(answering, { status: 307, headers: { location: '/v2/payments?again' } }),
    ],
  ])('%s makes it unknown (2xx seen: %s); it is looked up and never sent again', async (_what, seen2xx, answer) => {
    for (const isCommitted of [false, true]) {
      const rig = await openRig(redis);
      rig.service.onPay = (request, answering) => {
        if (isCommitted) rig.service.commit(request);
        answer(rig, answering);
      };
      const deps = await rig.process();
      expect(await rig.pay(deps)).toBe('done');
      expect(await rig.payout()).toMatchObject({ state: 'unknown', seen2xx, attempts: 1 });
      expect(await rig.dueMs()).toBeLessThan(1000);
      await rig.pay(deps);
      await rig.pay(await rig.process());
      await rig.lookUp(deps);
      expect(await rig.payout()).toMatchObject({ state: isCommitted ? 'accepted' : 'unknown' });
      expect(
        rig.service.server.requests.filter(({ method, path }) => method === 'POST' && /payments/.test(path)),
      ).toHaveLength(1);
    }
  });

  test('is none within the time that a request may take', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request) => void rig.service.commit(request);
    const deps = await rig.process({ rules: { requestTimeoutMs: 150 } });
    expect(await rig.pay(deps)).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'unknown' });
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('with a 2xx is remembered although another process doubted the payout meanwhile', async () => {
    const rig = await openRig(redis);
    const arriving = slowPayment(rig);
    const paying = rig.pay(await rig.process());
    const { answering } = await arriving;
    const other = await rig.process({ rules: { armDeadlineMs: 0 } });
    await expect.poll(async () => [await rig.pay(other), (await rig.payout()).state]).toEqual(['done', 'unknown']);
    rig.service.reply(answering, { status: 202, json: {} });
    await paying;
    await rig.passTime(3_600_000);
    for (let look = 0; look < 4; look++) {
      await rig.lookUp(other);
      await rig.passTime(5000);
    }
    expect((await rig.payout()).state).not.toBe('ready');
    expect(await rig.payout()).toMatchObject({ seen2xx: true });
  });

  test('is overtaken by the fact when it comes after another process doubted the payout', async () => {
    const rig = await openRig(redis);
    const arriving = slowPayment(rig);
    const paying = rig.pay(await rig.process());
    const { request, answering } = await arriving;
    const other = await rig.process({ rules: { armDeadlineMs: 0 } });
    await expect.poll(async () => [await rig.pay(other), (await rig.payout()).state]).toEqual(['done', 'unknown']);
    rig.service.reply(answering, { status: 201, json: rig.service.commit(request) });
    expect(await paying).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 1 });
  });
});

describe('401', () => {
  test('fetches one new token and sends the same quote again', async () => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    rig.service.onPay = (request, answering) =>
      request.headers['authorization'] === 'Bearer token-1'
        ? rig.service.reply(answering, { status: 401, json: errorBody('AUTH_001', 401) })
        : onPay(request, answering);
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 2, armings: 2, quotes: 1 });
    const [first, second] = rig.service.payments();
    expect(second).toEqual(first);
    expect([rig.service.tokens(), rig.service.quotes(), rig.service.payments().length]).toEqual([2, 1, 2]);
    expect(await rig.intentLines()).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  });

  test('met by four payouts at once still fetches one new token', async () => {
    const rig = await openRig(redis, [{}, {}, {}, {}]);
    const { onPay } = rig.service;
    rig.service.onPay = (request, answering) =>
      request.headers['authorization'] === 'Bearer token-1'
        ? rig.service.reply(answering, { status: 401 })
        : onPay(request, answering);
    const [one, two] = [await rig.process(), await rig.process()];
    await Promise.all([rig.pay(one, 2), rig.pay(one, 3), rig.pay(two, 4), rig.pay(two, 5)]);
    for (const line of [2, 3, 4, 5]) expect(await rig.goOn(one, line)).toMatchObject({ state: 'accepted', quotes: 1 });
    expect(rig.service.tokens()).toBe(2);
    expect(rig.service.book).toHaveLength(4);
  });

  test('that never ends is met five times with one quote, then looked up', async () => {
    const rig = await openRig(redis);
    refusePayments(rig, 401, 'AUTH_001');
    expect(await rig.pay(await rig.process({ clock: movableClock() }))).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'unknown', attempts: 5, armings: 5, quotes: 1 });
    expect(new Set(rig.service.payments().map(({ quoteId }) => quoteId)).size).toBe(1);
  });

  test.each<[string, boolean]>([
    ['a refused connection', false],
    ['a certificate that does not verify', true],
  ])('followed by %s keeps the spent quote', async (_what, isCertificate) => {
    const rig = await openRig(redis);
    const stopping = new AbortController();
    rig.service.onPay = (_request, answering) => {
      stopping.abort();
      rig.service.reply(answering, { status: 401 });
    };
    expect(await rig.pay(await rig.process(), 2, stopping.signal)).toBe('left');
    const before = await rig.payout();
    expect(before).toMatchObject({ state: 'quoted', attempts: 1 });
    const url = isCertificate ? await selfSignedUrl() : REFUSING_URL;
    expect(await rig.pay(await rig.process({ url, hasToken: true }))).toBe('done');
    const payout = await rig.payout();
    expect(payout).toMatchObject({ state: 'quoted', attempts: 2, quotes: 1, quoteId: before.quoteId });
    expect(payout.history.map(({ to }) => to)).toEqual(['ready', 'armed', 'quoted', 'armed', 'quoted']);
    expect((await rig.run()).state).toBe(isCertificate ? 'paused' : 'paying');
    expect((await rig.run()).pauseReason ?? '').toMatch(isCertificate ? /does not verify \(TLS [A-Z_]+\)/ : /^$/);
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('to a quote without an end makes it unknown: it is armed once', async () => {
    const rig = await openRig(redis);
    rig.service.onQuote = (request, answering) =>
      rig.service.reply(answering, {
        status: 201,
        json: { quotes: [rig.service.quoteOf(request, { expiresAt: undefined })] },
      });
    refusePayments(rig, 401, 'AUTH_001');
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'unknown', attempts: 1, quoteExpiresAt: null });
  });
});

describe('429', () => {
  test('keeps the quote and makes every process wait before it sends anything', async () => {
    const rig = await openRig(redis, [{}, {}]);
    rig.service.onPay = (_request, answering) =>
      rig.service.reply(answering, { status: 429, headers: { 'retry-after': '200' } });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'quoted', attempts: 1 });
    await expect.poll(() => rig.waitMs()).toBeGreaterThan(100_000);

    const requests = rig.service.server.requests.length;
    const stopping = new AbortController();
    const slept: number[] = [];
    const clock = movableClock();
    const other = await rig.process({
      clock: {
        ...clock,
        async sleep(ms) {
          slept.push(ms);
          stopping.abort();
        },
      },
    });
    expect(await rig.pay(other, 3, stopping.signal)).toBe('left');
    expect(await rig.pay(other, 2, stopping.signal)).toBe('left');
    expect(Math.min(...slept)).toBeGreaterThan(100_000);
    expect(rig.service.server.requests).toHaveLength(requests);
  });

  test('is refused by the arming itself when it came after the quote', async () => {
    const rig = await openRig(redis);
    const clock = movableClock();
    const stopping = new AbortController();
    const deps = await rig.process({
      at: atPoint('C2', () => void rig.ledger.state.hold(200_000)),
      clock: {
        ...clock,
        async sleep(ms) {
          if (ms > 1000) stopping.abort();
        },
      },
    });
    expect(await rig.pay(deps, 2, stopping.signal)).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'ready', attempts: 0 });
    expect(rig.service.payments()).toEqual([]);
  });

  test('to a payment that was made all the same ends paid once', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request, answering) => {
      rig.service.commit(request);
      rig.service.onPay = (_again, later) => rig.service.reply(later, { status: 409, json: errorBody('USR_003', 409) });
      rig.service.reply(answering, { status: 429, headers: { 'retry-after': '1' } });
    };
    expect(await rig.goOn(await rig.process())).toMatchObject({ state: 'accepted' });
    expect(rig.service.book).toHaveLength(1);
  });
});

describe('a refusal that concerns the run', () => {
  test.each<[number, string]>([
    [402, 'USR_067'],
    [403, 'AUTH_003'],
    [400, 'CFG_001'],
  ])('%i %s makes the payout unknown and pauses the run with the reason', async (status, code) => {
    const rig = await openRig(redis, [{}, {}]);
    refusePayments(rig, status, code);
    const deps = await rig.process();
    expect(await rig.pay(deps)).toBe('done');
    expect((await rig.payout()).state).toBe('unknown');
    expect(await rig.run()).toMatchObject({ state: 'paused', pauseReason: `${code}: the title of ${code}` });
    expect(await rig.pay(deps, 3)).toBe('left');
    expect(await rig.payout(3)).toMatchObject({ state: 'ready' });
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('is a refusal of the credentials: nothing is armed and the run pauses', async () => {
    const rig = await openRig(redis);
    rig.service.onToken = (_request, answering) =>
      rig.service.reply(answering, { status: 401, json: { error: 'access_denied' } });
    expect(await rig.pay(await rig.process())).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'ready', attempts: 0 });
    expect((await rig.run()).pauseReason).toContain('TOKEN_REFUSED');
  });
});

describe('a final code', () => {
  test('rejects the payout when the look-up says not found; its end is confirmed after the grace', async () => {
    const rig = await openRig(redis);
    refusePayments(rig, 400, 'USR_151');
    const deps = await rig.process();
    expect(await rig.pay(deps)).toBe('done');
    expect(await rig.payout()).toMatchObject({
      state: 'rejected',
      reasonCode: 'USR_151',
      reason: 'the title of USR_151',
      rejectionConfirmed: false,
    });
    expect(rig.service.lookUps()).toEqual([rig.service.payments()[0]?.quoteId]);
    expect(await rig.dueMs()).toBeGreaterThan(15_000);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: false });
    expect(await rig.dueMs()).toBeDefined();
    await rig.passTime(60_000);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: true });
    expect(await rig.dueMs()).toBeUndefined();
  });

  test('of a payment that is found all the same is accepted, at once or later', async () => {
    const atOnce = await openRig(redis);
    atOnce.service.onPay = (request, answering) => {
      atOnce.service.commit(request);
      atOnce.service.reply(answering, { status: 400, json: errorBody('USR_151') });
    };
    await atOnce.pay(await atOnce.process());
    expect(await atOnce.payout()).toMatchObject({ state: 'accepted', reasonCode: null });

    const later = await openRig(redis);
    let request: ReceivedRequest | undefined;
    later.service.onPay = (received, answering) => {
      request = received;
      later.service.reply(answering, { status: 400, json: errorBody('USR_151') });
    };
    const deps = await later.process();
    await later.pay(deps);
    if (request !== undefined) later.service.commit(request);
    await later.lookUp(deps);
    expect(await later.payout()).toMatchObject({ state: 'accepted', reasonCode: null, reason: null });
  });

  test.each<[string, ProcessOptions]>([
    ['under other credentials', { clientId: 'new' }],
    [
      'without the capability payment-id-is-quote-id',
      { rules: { capabilities: new Set(CAPABILITIES.filter((name) => name !== 'payment-id-is-quote-id')) } },
    ],
  ])('is not confirmed by a not-found %s', async (_what, options) => {
    const rig = await openRig(redis);
    refusePayments(rig, 400, 'USR_151');
    await rig.pay(await rig.process());
    await rig.passTime(60_000);
    await rig.lookUp(await rig.process(options));
    expect(await rig.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: false });
  });

  test.each<[string, number, object | undefined]>([
    ['says nothing', 500, undefined],
    ['finds a gateway', 404, undefined],
  ])('is not believed when the look-up %s', async (_what, status, json) => {
    const rig = await openRig(redis);
    refusePayments(rig, 400, 'USR_151');
    rig.service.onLookUp = (_request, answering) => rig.service.reply(answering, { status, json });
    await rig.pay(await rig.process());
    expect(await rig.payout()).toMatchObject({ state: 'unknown' });
  });
});

describe('a payment under another id than its quote', () => {
  test('is accepted under that id, and no quote is proven dead any more', async () => {
    const rig = await openRig(redis, [{}, {}]);
    const deps = await rig.process();
    rig.service.onPay = (_request, answering) => answering.reset();
    await rig.pay(deps, 3);
    rig.service.onPay = (request, answering) =>
      rig.service.reply(answering, { status: 201, json: rig.service.commit(request, { paymentId: 'p-77' }) });
    await rig.pay(deps, 2);
    expect(await rig.payout(2)).toMatchObject({ state: 'accepted', paymentId: 'p-77' });
    expect((await rig.ledger.state.read()).disproved).toEqual(['payment-id-is-quote-id']);
    expect(await rig.redis.hget(`${rig.prefix}:head`, 'evidence:payment-id-is-quote-id')).toBe(`payout ${rig.runId}-2`);

    const other = await rig.process();
    for (let look = 0; look < 4; look++) {
      await rig.passTime(600_000);
      await rig.lookUp(other, 3);
    }
    expect((await rig.payout(3)).state).not.toBe('ready');
    expect(rig.service.payments()).toHaveLength(2);
  });

  test('that is the quote’s in capitals is no other id', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request, answering) => {
      const payment = rig.service.commit(request);
      const paymentId = String(payment['paymentId']).toUpperCase();
      rig.service.reply(answering, { status: 201, json: { ...payment, paymentId } });
    };
    await rig.pay(await rig.process());
    const payout = await rig.payout();
    expect(payout).toMatchObject({ state: 'accepted', paymentId: payout.quoteId });
    expect((await rig.ledger.state.read()).disproved).toEqual([]);
  });
});

describe('a breach', () => {
  test.each<[string, object]>([
    ['another beneficiary', { destination: { beneficiaryIdentityId: 'somebody-else' } }],
    ['another source currency', { originator: { sourceCurrency: 'EUR' } }],
    ['another destination currency', { destination: { destinationCurrency: 'EUR' } }],
    ['another amount', { originator: { sourceCurrency: 'USD', sourceAmount: 123.46 } }],
  ])('is a payment that shows %s: held with the evidence, and everything is halted', async (what, changes) => {
    const rig = await openRig(redis, [{}, {}]);
    rig.service.onPay = (request, answering) =>
      rig.service.reply(answering, { status: 201, json: rig.service.commit(request, { ...changes }) });
    const deps = await rig.process();
    expect(await rig.pay(deps)).toBe('done');
    expect(await rig.payout()).toMatchObject({
      state: 'held',
      reasonCode: 'E_BREACH',
      reason: `the payment shows ${what}`,
      attempts: 1,
    });
    expect((await rig.payout()).quoteId).not.toBeNull();
    expect((await rig.ledger.state.read()).halt).toContain(what);
    expect(await rig.pay(deps, 3)).toBe('left');
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('that is held goes on being looked up daily', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request, answering) =>
      rig.service.reply(answering, {
        status: 201,
        json: rig.service.commit(request, { originator: { sourceAmount: 1 } }),
      });
    await rig.pay(await rig.process());
    expect(await rig.payout()).toMatchObject({ state: 'held' });
    expect(await rig.dueMs()).toBeDefined();
  });

  test('under another payment id keeps that id, and the capability is gone', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request, answering) =>
      rig.service.reply(answering, {
        status: 201,
        json: rig.service.commit(request, { paymentId: 'p-77', originator: { sourceAmount: 1 } }),
      });
    await rig.pay(await rig.process());
    expect((await rig.ledger.state.read()).disproved).toEqual(['payment-id-is-quote-id']);
    expect(Object.values(await rig.record()).join(' ')).toContain('p-77');
  });
});

describe('a request of which no byte left', () => {
  test('by a refused connection: the payout is ready again as if never sent, and paid later', async () => {
    const rig = await openRig(redis);
    const away = await openRig(redis);
    const gone = await rig.process({ at: atPoint('C6', () => void rig.service.server.close()) });
    expect(await rig.pay(gone)).toBe('deferred');
    const payout = await rig.payout();
    expect(payout).toMatchObject({ state: 'ready', quoteId: null, attempts: 0, quotes: 0, sourceAmount: null });
    expect(payout.history.at(-1)?.reason).toBe('not sent: ECONNREFUSED');
    expect(rig.service.payments()).toEqual([]);
    expect(await rig.pay(await rig.process({ url: away.service.server.url }))).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 1, quotes: 1 });
  });

  test('because the arm deadline passed while the process was stopped', async () => {
    const rig = await openRig(redis);
    const clock = movableClock();
    const stopped = await rig.process({ clock, at: atPoint('C6', () => clock.move(2000)) });
    expect(await rig.pay(stopped)).toBe('deferred');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quoteId: null, attempts: 0 });
    expect(rig.service.payments()).toEqual([]);
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(rig.service.book).toHaveLength(1);
  });

  test.each<CrashPoint>(['C4', 'C6'])(
    'because it was stopped at %s while another process doubted the payout: it stays unknown',
    async (point) => {
      const rig = await openRig(redis);
      const clock = movableClock();
      const stopped = await rig.process({ clock, at: atPoint(point, () => clock.move(60_000)) });
      const other = await rig.process({ rules: { armDeadlineMs: -1 } });
      const arm: PayDeps['payouts']['arm'] = async (arming) => {
        const answer = await stopped.payouts.arm(arming);
        await rig.pay(other);
        return answer;
      };
      await rig.pay({ ...stopped, payouts: { ...stopped.payouts, arm } });
      expect(await rig.payout()).toMatchObject({ state: 'unknown', attempts: 1 });
      expect(rig.service.payments()).toEqual([]);
    },
  );

  test('because the reply to the arming was lost: it is doubted at once, looked up, and never sent', async () => {
    const rig = await openRig(redis);
    const line = await openArmingLine(redis.socket);
    const deps = await rig.process({ armingSocket: line.socket, at: atPoint('C3', () => line.loseReplies()) });
    expect(await rig.pay(deps)).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'unknown', attempts: 1 });
    expect(await rig.pay(deps)).toBe('done');
    const next = await rig.process();
    expect(rig.service.payments()).toEqual([]);
    expect(await rig.goOn(next)).toMatchObject({ state: 'accepted', quotes: 2 });
    expect(rig.service.book).toHaveLength(1);
  });

  test('because the intent log cannot be written: ready again, nothing more is armed, and it goes on once the disk takes lines', async () => {
    const rig = await openRig(redis);
    rmSync(intentsFolder(rig.dataDir), { recursive: true, force: true });
    writeFileSync(intentsFolder(rig.dataDir), 'in the way');
    const clock = movableClock();
    const deps = await rig.process({ clock });
    expect(await rig.pay(deps)).toBe('left');
    const putBack = await rig.payout();
    expect(putBack).toMatchObject({ state: 'ready', quoteId: null, attempts: 0 });
    expect(await rig.pay(deps)).toBe('left');
    expect((await rig.payout()).version).toBe(putBack.version);
    expect((await rig.run()).state).toBe('paying');
    expect(rig.service.payments()).toEqual([]);
    rmSync(intentsFolder(rig.dataDir));
    clock.move(1000);
    expect(await rig.goOn(deps)).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(rig.service.book).toHaveLength(1);
  });

  test('because a sync of the intent log failed: the process is told, and nothing is sent', async () => {
    const rig = await openRig(redis);
    const fault = new IntentLogFault('no sync', { poisoned: true, cause: new Error('EIO') });
    const deps = await rig.process({
      intents: {
        append: async () => await Promise.reject(fault),
        noteAnswer: async () => {},
        hasRoom: async () => true,
        close: async () => {},
      },
    });
    await expect(rig.pay(deps)).rejects.toBe(fault);
    expect(await rig.payout()).toMatchObject({ state: 'armed' });
    expect(rig.service.payments()).toEqual([]);
  });

  test('because the intent log cannot be written for the second arming: the spent quote is kept', async () => {
    const rig = await openRig(redis);
    refusePayments(rig, 401, 'AUTH_001');
    const broken = await rig.process();
    let lines = 0;
    const filling: IntentLog = {
      ...broken.intents,
      async append(line) {
        lines += 1;
        if (lines === 2) throw new IntentLogFault('full', { poisoned: false, cause: new Error('ENOSPC') });
        await broken.intents.append(line);
      },
    };
    await rig.pay({ ...broken, intents: filling });
    expect(await rig.payout()).toMatchObject({ state: 'quoted', quotes: 1 });
    expect((await rig.payout()).quoteId).toBe(rig.service.payments()[0]?.quoteId);
    expect(rig.service.payments()).toHaveLength(1);
  });
});

test('a payment that Redis does not take at first is on the intent log once, however often it is stored', async () => {
  const rig = await openRig(redis);
  const deps = await rig.process();
  let [noted, failed] = [0, 0];
  const intents: IntentLog = {
    ...deps.intents,
    async noteAnswer(line) {
      noted++;
      await deps.intents.noteAnswer(line);
    },
  };
  const payouts: typeof deps.payouts = {
    ...deps.payouts,
    async move(move) {
      if (move.to === 'accepted' && failed++ < 3) throw new Error('Redis is away');
      return await deps.payouts.move(move);
    },
  };
  const clock = { ...deps.clock, sleep: async () => {} };
  await rig.pay({ ...deps, intents, payouts, clock });
  expect((await rig.payout()).state).toBe('accepted');
  expect([noted, failed]).toEqual([1, 4]);
});

describe('a quoted payout of a run that is not being paid any more', () => {
  test.each(['paused', 'cancelled'] as const)('becomes unknown when the run is %s', async (to) => {
    const rig = await openRig(redis);
    refusePayments(rig, 429, 'SYS_100');
    const deps = await rig.process({ clock: movableClock() });
    await rig.pay(deps);
    expect((await rig.payout()).state).toBe('quoted');
    await rig.redis.del(`${rig.prefix}:wait`);
    await rig.moveRun(to);
    expect(await rig.pay(await rig.process())).toBe('done');
    expect((await rig.payout()).state).toBe('unknown');
    expect(rig.service.payments()).toHaveLength(1);
    const settled = to === 'cancelled' ? await rig.goOn(await rig.process()) : undefined;
    expect(settled?.state).toBe(to === 'cancelled' ? 'cancelled' : undefined);
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('becomes unknown at the end of its quote', async () => {
    const rig = await openRig(redis);
    refusePayments(rig, 429, 'SYS_100');
    await rig.pay(await rig.process());
    await changeStored({ ...rig, line: 2 }, { x: String(Date.now() + 400) });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect((await rig.payout()).state).toBe('unknown');
  });
});

describe('credentials that change while a quote is spent', () => {
  test('do not arm it again: what the first ones sent is visible to them only', async () => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    rig.service.onPay = (request, answering) => {
      rig.service.commit(request);
      rig.service.onPay = (_again, later) => {
        rig.service.onPay = onPay;
        later.reset();
      };
      rig.service.reply(answering, { status: 429, headers: { 'retry-after': '1' } });
    };
    // Payments are shown to the credentials that made them (F68); the others see nothing of them.
    rig.service.onLookUp = (_request, answering) =>
      rig.service.reply(answering, { status: 404, json: errorBody('USR_002', 404) });
    await rig.pay(await rig.process({ clientId: 'old' }));
    expect(rig.service.book).toHaveLength(1);
    await expect.poll(() => rig.waitMs()).toBe(0);
    const rotated = await rig.process({ clientId: 'new' });
    for (let step = 0; step < 8; step++) {
      await rig.pay(rotated);
      await rig.lookUp(rotated);
      await rig.passTime(30_000);
    }
    expect(rig.service.book).toHaveLength(1);
  });
});
