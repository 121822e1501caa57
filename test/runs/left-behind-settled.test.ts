import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { compareAfterRestart, decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

test('people can settle a payout that a comparison held for a yes to a quote which it left behind', async () => {
  const rig = await openRig(redis);
  const pay = await rig.process();
  const deps = decideDeps(rig, pay);
  const requests: Parameters<typeof rig.service.commit>[0][] = [];
  rig.service.onPay = (request, answering) => {
    requests.push(request);
    answering.reset();
  };
  await rig.pay(pay);
  const first = (await rig.payout()).quoteId ?? '';
  for (let tries = 0; tries < 40 && (await rig.payout()).state !== 'ready'; tries++) {
    await rig.passTime(5000);
    await rig.lookUp(pay);
  }
  expect((await rig.payout()).state).toBe('ready');
  // The service makes the payment late and says yes; this process wrote that down and held the payout. Redis forgot the latter.
  if (requests[0] !== undefined) rig.service.commit(requests[0]);
  const log = openIntentLog(rig.dataDir, { clock: systemClock, random: systemRandom });
  await log.noteAnswer({ quoteId: first, paymentId: first });
  await log.close();
  await compareAfterRestart(rig);
  const held = await rig.payout();
  expect(held.state).toBe('held');
  for (const [decision, paymentId] of [
    ['paid', first],
    ['not-paid', ''],
    ['drop', ''],
    ['allow', ''],
  ] as const) {
    for (const by of ['anna', 'bob']) {
      const order = { decision, paymentId, by, reason: 'settle it', caveats: 'read' } as const;
      await decidePayout(deps, await rig.payout(), order).catch(() => {});
    }
  }
  expect((await rig.payout()).state).not.toBe('held');
});
