import { expect, test } from 'vitest';
import type { ReceivedRequest } from '../support/answering-server.ts';
import { GAP_MS, openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { errorBody } from '../support/scripted-service.ts';

const redis = await useTestRedis();

test('a "not found" that a cache says is older than the end of the quote proves nothing', async () => {
  const rig = await openRig(redis);
  const { onPay } = rig.service;
  let request: ReceivedRequest | undefined;
  rig.service.onPay = (received, answering) => {
    request = received;
    rig.service.onPay = onPay;
    answering.reset();
  };
  const deps = await rig.process();
  await rig.pay(deps);
  if (request === undefined) throw new Error('nothing was sent');
  // The first look-up comes a moment before the payment is there: a "not found", which the cache keeps for an hour.
  const keptAt = rig.service.now();
  rig.service.onLookUp = (_request, answering) => {
    const age = Math.floor((rig.service.now() - keptAt) / 1000);
    rig.service.reply(answering, { status: 404, json: errorBody('USR_002', 404), headers: { age: String(age) } });
  };
  await rig.lookUp(deps);
  rig.service.commit(request);
  for (let look = 0; look < 4; look++) {
    await rig.passTime(look === 0 ? 60_000 : GAP_MS + 1000);
    await rig.lookUp(deps);
  }
  expect.soft((await rig.payout()).state).toBe('unknown');
  await rig.pay(await rig.process());
  expect(rig.service.payments()).toHaveLength(1);
});
