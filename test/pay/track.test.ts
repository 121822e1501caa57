import { describe, expect, test } from 'vitest';
import type { PayDeps } from '../../src/pay/deps.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { GRACE_MS, openRig, type PayRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import type { Json } from '../support/scripted-service.ts';

const redis = await useTestRedis();

/** A payout whose payment was made; `show` tells what the service shows of it from now on. */
async function openAccepted(): Promise<{
  rig: PayRig;
  deps: PayDeps;
  track: () => Promise<void>;
  show: (changes: Json) => void;
}> {
  const rig = await openRig(redis);
  const deps = await rig.process();
  await rig.pay(deps);
  expect((await rig.payout()).state).toBe('accepted');
  return {
    rig,
    deps,
    track: () => trackPayout(deps, { runId: rig.runId, line: 2 }, new AbortController().signal),
    show: (changes) => Object.assign(rig.service.book[0] ?? {}, changes),
  };
}

describe('an accepted payout', () => {
  test('whose payment the service does not know any more is held after twelve graces, and accepted when it is found', async () => {
    const { rig, deps, track } = await openAccepted();
    const book = rig.service.book.splice(0);
    await track();
    await rig.passTime(11 * GRACE_MS);
    await track();
    expect((await rig.payout()).state).toBe('accepted');
    await rig.passTime(2 * GRACE_MS);
    await track();
    expect(await rig.payout()).toMatchObject({
      state: 'held',
      reasonCode: 'E_PAYMENT_GONE',
      reason: expect.stringContaining(`made the payment ${rig.service.payments()[0]?.quoteId}`),
    });
    rig.service.book.push(...book);
    await rig.lookUp(deps);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', reasonCode: null });
  });

  test('whose payment a gateway hid for long is followed on where that gateway is gone before the service showed all else', async () => {
    const { rig, deps, track } = await openAccepted();
    const book = rig.service.book.splice(0);
    await track();
    await rig.passTime(13 * GRACE_MS);
    const canary: PayDeps['canary'] = {
      async sings() {
        rig.service.book.push(...book);
        return 'payment';
      },
    };
    await trackPayout({ ...deps, canary }, { runId: rig.runId, line: 2 }, new AbortController().signal);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', notFoundAt: null });
  });

  test('whose payment is not shown to other credentials stays accepted', async () => {
    const { rig } = await openAccepted();
    rig.service.book.splice(0);
    const other = await rig.process({ clientId: 'new' });
    for (let look = 0; look < 3; look++) {
      await trackPayout(other, { runId: rig.runId, line: 2 }, new AbortController().signal);
      await rig.passTime(20 * GRACE_MS);
    }
    expect(await rig.payout()).toMatchObject({ state: 'accepted', notFoundAt: null });
  });

  test('whose payment is found again before that begins anew', async () => {
    const { rig, track } = await openAccepted();
    for (let round = 0; round < 2; round++) {
      const book = rig.service.book.splice(0);
      await track();
      await rig.passTime(8 * GRACE_MS);
      await track();
      rig.service.book.push(...book);
      await track();
      expect(await rig.payout()).toMatchObject({ state: 'accepted', notFoundAt: null });
    }
  });

  test.each([
    ['COMPLETED', 'completed'],
    ['FAILED', 'failed'],
    ['DECLINED', 'failed'],
    ['RETURNED', 'returned'],
  ])('is settled by the state %s as %s, and not due any more', async (paymentState, state) => {
    const { rig, track, show } = await openAccepted();
    show({ paymentState });
    await track();
    const payout = await rig.payout();
    expect(payout).toMatchObject({ state, paymentState });
    expect(payout.settledAt).not.toBeNull();
    expect(await rig.dueMs()).toBeUndefined();
  });

  test.each(['VALIDATING', 'TRANSFERRING', 'AWAITING_FUNDING', 'FOO_BAR', 'completed', 'CANCELLED'])(
    'stays accepted in the state %s, which is shown as it is, and is due again',
    async (paymentState) => {
      const { rig, track, show } = await openAccepted();
      show({ paymentState });
      await track();
      expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentState });
      expect(await rig.dueMs()).toBeLessThanOrEqual(1000);
    },
  );

  test('stays accepted while its state goes backwards, and ends where it ends', async () => {
    const { rig, track, show } = await openAccepted();
    for (const paymentState of ['TRANSFERRING', 'INITIATED', 'VALIDATING']) {
      show({ paymentState });
      await track();
      expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentState });
    }
    show({ paymentState: 'COMPLETED' });
    await track();
    expect((await rig.payout()).state).toBe('completed');
  });

  test('keeps the reason that a failed payment names, in any form of errors', async () => {
    const error = { code: 'USR_067', type: 'INSUFFICIENT_BALANCE_ERROR', title: 'no balance' };
    for (const errors of [[error], error, { ...error, title: 'no money', description: 'no balance' }]) {
      const { rig, track, show } = await openAccepted();
      show({ paymentState: 'FAILED', errors });
      await track();
      expect(await rig.payout()).toMatchObject({ state: 'failed', reasonCode: 'USR_067', reason: 'no balance' });
    }
  });

  test('takes over what the payment shows at its end', async () => {
    const { rig, track, show } = await openAccepted();
    show({
      paymentState: 'COMPLETED',
      destination: { destinationCurrency: 'MXN', destinationAmount: 2400.5 },
      adjustedExchangeRate: { adjustedRate: 1.94e1 },
      fees: [{ totalFee: '3.10', feeCurrency: 'USD' }],
    });
    await track();
    expect(await rig.payout()).toMatchObject({
      destinationAmount: { minor: 240_050n, currency: 'MXN' },
      rate: '19.4',
      fees: [{ minor: 310n, currency: 'USD' }],
    });
  });

  test.each<[string, Json]>([
    ['another beneficiary', { destination: { beneficiaryIdentityId: 'somebody' } }],
    ['another amount', { originator: { sourceAmount: 1 } }],
  ])('whose payment shows %s is held, and everything is halted', async (what, changes) => {
    const { rig, track, show } = await openAccepted();
    show({ paymentState: 'COMPLETED', ...changes });
    await track();
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect((await rig.ledger.state.read()).halt).toContain(what);
  });

  test.each<[string, number | 'reset']>([
    ['404', 404],
    ['500', 500],
    ['a reset', 'reset'],
  ])('stays accepted and due when the look ends with %s', async (_what, status) => {
    const { rig, track } = await openAccepted();
    rig.service.onLookUp = (_request, answering) =>
      status === 'reset' ? answering.reset() : rig.service.reply(answering, { status, json: { code: 'USR_002' } });
    await track();
    expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentState: 'INITIATED' });
    expect(await rig.dueMs()).toBeDefined();
  });

  test('under another payment id is followed under that id', async () => {
    const rig = await openRig(redis);
    rig.service.onPay = (request, answering) =>
      rig.service.reply(answering, { status: 201, json: rig.service.commit(request, { paymentId: 'p-77' }) });
    const deps = await rig.process();
    await rig.pay(deps);
    Object.assign(rig.service.book[0] ?? {}, { paymentState: 'COMPLETED' });
    await trackPayout(deps, { runId: rig.runId, line: 2 }, new AbortController().signal);
    expect(rig.service.lookUps()).toEqual(['p-77']);
    expect(await rig.payout()).toMatchObject({ state: 'completed', paymentId: 'p-77' });
  });
});

describe('a completed payout', () => {
  test.each<[string, string]>([
    ['RETURNED', 'returned'],
    ['COMPLETED', 'completed'],
    ['FAILED', 'completed'],
    ['TRANSFERRING', 'completed'],
    ['FOO', 'completed'],
  ])('whose payment shows %s is %s', async (paymentState, state) => {
    const { rig, track, show } = await openAccepted();
    show({ paymentState: 'COMPLETED' });
    await track();
    show({ paymentState, errors: [{ code: 'SYS_120', title: 'the bank sent it back' }] });
    await track();
    const payout = await rig.payout();
    expect(payout).toMatchObject({ state, reasonCode: state === 'returned' ? 'SYS_120' : null });
    expect(await rig.dueMs()).toBeUndefined();
  });
});

test.each(['failed', 'returned'] as const)(
  'a payout that is %s is not looked at and never paid again',
  async (state) => {
    const { rig, track, show, deps } = await openAccepted();
    show({ paymentState: state === 'failed' ? 'FAILED' : 'RETURNED' });
    await track();
    await track();
    await rig.pay(deps);
    await rig.lookUp(deps);
    expect(rig.service.lookUps()).toHaveLength(1);
    expect(rig.service.payments()).toHaveLength(1);
    expect((await rig.payout()).state).toBe(state);
  },
);
