import { expect, test } from 'vitest';
import { openCanary } from '../../src/pay/look-up/canary.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { GRACE_MS, openRig } from '../support/pay-rig.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { QUOTE_LIFE_MS } from '../support/scripted-service.ts';
import { decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

test('people settle a payout as not paid whose payment the service said to have made and lost, though no other one is known', async () => {
  const rig = await openRig(redis);
  const { service } = await rig.process();
  const canary = openCanary({ service, known: () => rig.ledger.payouts.knownPayments(service.fingerprint) });
  const pay = await rig.process({ canary });
  const showPayment = rig.service.onLookUp;
  rig.service.onLookUp = (request, answering) =>
    request.path.includes('/v2/payments/')
      ? showPayment(request, answering)
      : rig.service.reply(answering, { json: { data: [] } });
  // Its answer is in the intent log; Redis went back to before it, and the service to before the payment.
  rig.service.onPay = (_request, answering) => answering.reset();
  await rig.pay(pay);
  const { quoteId } = await rig.payout();
  const { server } = await rig.ledger.state.season();
  const json = JSON.stringify([{ y: quoteId, p: quoteId }]);
  await rig.ledger.state.compare({ dataDirId: 'dir-1', server, last: true, json, peers: ['dir-1'] });
  expect(await rig.payout()).toMatchObject({ state: 'unknown', seen2xx: true });
  await rig.passTime(QUOTE_LIFE_MS + 5 * GRACE_MS);
  await rig.lookUp(pay);
  expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE' });
  const armedAt = Date.now() - 2 * 86_400_000;
  await changeStored({ ...rig, line: 2 }, { aa: String(armedAt), ql: '10000', x: String(armedAt + 10_000) });

  const deps = decideDeps(rig, pay);
  const asked = { decision: 'not-paid', paymentId: '', reason: 'the service has none', caveats: 'read' } as const;
  for (const by of ['anna', 'bob']) await decidePayout(deps, await rig.payout(), { ...asked, by });
  expect(await rig.payout()).toMatchObject({ state: 'rejected' });
});
