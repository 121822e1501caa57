import { describe, expect, test } from 'vitest';

import { BLOCK_LIST_CHANGED } from '../../src/ledger/people/approvals.ts';
import { payPayout } from '../../src/pay/pay-payout.ts';
import { haltAll } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { movableClock } from '../service/test-service.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';

const redis = await useTestRedis();

const BENEFICIARY = '6f8a1c52-2b1d-4c8e-9a34-0123456789ab';

/** Its payment request was refused in a way that lets the same quote be armed again. */
async function openQuoted(): Promise<PayRig> {
  const rig = await openRig(redis);
  const { onPay } = rig.service;
  rig.service.onPay = (_request, answering) =>
    rig.service.reply(answering, { status: 429, headers: { 'retry-after': '1' } });
  await rig.pay(await rig.process({ clock: movableClock() }));
  rig.service.onPay = onPay;
  await rig.redis.del(`${rig.prefix}:wait`);
  expect((await rig.payout()).state).toBe('quoted');
  return rig;
}

const record = (rig: PayRig) => ({ ...rig, line: 2 });
const haltOf = async (rig: PayRig): Promise<string | null> => (await rig.ledger.state.read()).halt;

describe('somebody who writes to Redis', () => {
  test('does not have the quote of another payout paid: it is held, and everything is halted', async () => {
    const rig = await openQuoted();
    await changeStored(record(rig), { q: 'b7a0c4d2-9f3e-4f57-8a86-2f3c5c1d7e90' });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect(await haltOf(rig)).toContain('its quote was changed in Redis');
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('does not lengthen the life of a quote', async () => {
    const rig = await openQuoted();
    const { quoteExpiresAt } = await rig.payout();
    await changeStored(record(rig), { x: String((quoteExpiresAt ?? 0) + 3_600_000) });
    await rig.pay(await rig.process());
    expect(await haltOf(rig)).toContain('its quote was changed in Redis');
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('has a quote without a seal looked up, not armed again', async () => {
    const rig = await openQuoted();
    await changeStored(record(rig), { qs: '' });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect((await rig.payout()).state).toBe('unknown');
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('has nothing armed by making a run look as if it were being paid after a worker has read it', async () => {
    const rig = await openRig(redis);
    const order = { runId: rig.runId, line: 2, fileSha256: 'f'.repeat(64), mayArm: false };
    expect(await payPayout(await rig.process(), order, new AbortController().signal)).toBe('left');
    expect(await rig.payout()).toMatchObject({ state: 'ready', attempts: 0 });
    expect(rig.service.server.requests).toEqual([]);
  });

  test('does not get past a block by taking it out of Redis for a moment', async () => {
    const rig = await openRig(redis, [{ beneficiaryIdentityId: BENEFICIARY }]);
    await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
    const deps = await rig.process();
    expect(await deps.blockList.refresh()).toBe('true');
    await rig.redis.hdel(`${rig.prefix}:blocked`, BENEFICIARY);
    expect(await rig.pay(deps)).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BLOCKED' });
    expect(rig.service.payments()).toEqual([]);
  });

  test('does not get past a block by putting a former list and its seal back', async () => {
    const rig = await openRig(redis, [{ beneficiaryIdentityId: BENEFICIARY }]);
    const other = BENEFICIARY.replaceAll('6', '7');
    const keys = [`${rig.prefix}:blocked`, `${rig.prefix}:blocked-seal`] as const;
    await rig.ledger.approvals.block(other, { by: 'anna', reason: 'fraud' });
    const former = [await rig.redis.hgetall(keys[0]), (await rig.redis.get(keys[1])) ?? ''] as const;
    await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
    const deps = await rig.process();
    expect(await deps.blockList.refresh()).toBe('true');
    await rig.redis.del(keys[0]);
    await rig.redis.hset(keys[0], former[0]);
    await rig.redis.set(keys[1], former[1]);
    expect(await deps.blockList.refresh()).toBe('false');
    await rig.pay(deps);
    expect(rig.service.payments()).toEqual([]);
  });
});

test('a block that people made since a worker looked holds the payout', async () => {
  const rig = await openRig(redis, [{ beneficiaryIdentityId: BENEFICIARY }]);
  const deps = await rig.process();
  expect(await deps.blockList.refresh()).toBe('true');
  await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
  expect(await rig.pay(deps)).toBe('done');
  expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BLOCKED' });
  expect(rig.service.payments()).toEqual([]);
});

test('a block list that was taken away and sealed anew by people is believed by a worker that saw the former one', async () => {
  const rig = await openRig(redis);
  await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
  const deps = await rig.process();
  expect(await deps.blockList.refresh()).toBe('true');
  await rig.redis.del(`${rig.prefix}:blocked-seal`);
  expect(await deps.blockList.refresh()).toBe('false');
  await rig.ledger.approvals.sealBlockList(await rig.ledger.approvals.blockListDigest());
  expect(await deps.blockList.refresh()).toBe('true');
});

/** The block list was changed, everything is halted for some reason, and one person proposes to release it. */
async function openHalted(reason: string): Promise<PayRig> {
  const rig = await openRig(redis);
  await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
  await rig.redis.hdel(`${rig.prefix}:blocked`, BENEFICIARY);
  await haltAll(rig, { actor: 'payrun', reason });
  expect(await releaseHalt(rig, 'anna')).toBe('proposed');
  return rig;
}

describe('a release by two people', () => {
  test('believes a changed block list only where the halt told them of it', async () => {
    const rig = await openHalted('a disk is full');
    expect(await releaseHalt(rig, 'bob')).toBe('released');
    expect((await rig.ledger.approvals.blockList()).verdict).toBe('false');
    const told = await openHalted(BLOCK_LIST_CHANGED);
    expect(await releaseHalt(told, 'bob')).toBe('released');
    expect((await told.ledger.approvals.blockList()).verdict).toBe('true');
  });

  test('goes on while payrun finds the same again, and not after anything new or a halt by a person', async () => {
    const again = await openHalted(BLOCK_LIST_CHANGED);
    await haltAll(again, { actor: 'process w1', reason: BLOCK_LIST_CHANGED });
    expect(await releaseHalt(again, 'bob')).toBe('released');
    for (const more of [
      { actor: 'payrun', reason: 'a row was changed' },
      { actor: 'carl', reason: BLOCK_LIST_CHANGED },
    ]) {
      const rig = await openHalted(BLOCK_LIST_CHANGED);
      await haltAll(rig, more);
      expect(await releaseHalt(rig, 'bob')).toBe('proposed');
    }
  });
});

test('a block list that Redis went back to is believed by workers that saw a later one, once people released it', async () => {
  const rig = await openRig(redis);
  await rig.ledger.approvals.block(BENEFICIARY, { by: 'anna', reason: 'fraud' });
  const seal = (await rig.redis.get(`${rig.prefix}:blocked-seal`)) ?? '';
  const entry = await rig.redis.hgetall(`${rig.prefix}:blocked`);
  await rig.ledger.approvals.unblock(BENEFICIARY, 'bob', []);
  const deps = await rig.process();
  expect(await deps.blockList.refresh()).toBe('true');
  await rig.redis.set(`${rig.prefix}:blocked-seal`, seal);
  await rig.redis.hset(`${rig.prefix}:blocked`, entry);
  expect(await deps.blockList.refresh()).toBe('false');
  await rig.ledger.approvals.sealBlockList(await rig.ledger.approvals.blockListDigest());
  expect(await deps.blockList.refresh()).toBe('true');
});
