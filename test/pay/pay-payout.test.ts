import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRig } from '../support/pay-rig.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.stop();
});

test('smoke', async () => {
  const rig = await openRig(redis);
  expect(await rig.pay(await rig.process())).toBe('done');
  expect(await rig.payout()).toMatchObject({ state: 'accepted', attempts: 1, quotes: 1 });
  console.log(await rig.record(), await rig.dueMs());
});
