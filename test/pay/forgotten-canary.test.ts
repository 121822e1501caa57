import { expect, test } from 'vitest';
import { openCanary } from '../../src/pay/look-up/canary.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { GRACE_MS, openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { errorBody, QUOTE_LIFE_MS } from '../support/scripted-service.ts';

const redis = await useTestRedis();

test('a gateway that shows no payment, and answers all else, does not talk payrun out of the one that must be found', async () => {
  const rig = await openRig(redis, [{}, {}]);
  const { service } = await rig.process();
  const canary = openCanary({ service, known: () => rig.ledger.payouts.knownPayments(service.fingerprint) });
  const deps = await rig.process({ canary });
  await rig.pay(deps);
  expect(await rig.payout()).toMatchObject({ state: 'accepted' });
  rig.service.onPay = (request, answering) => {
    rig.service.commit(request);
    answering.reset();
  };
  await rig.pay(deps, 3);
  expect(await rig.payout(3)).toMatchObject({ state: 'unknown' });
  // From here on the gateway lies about payments alone.
  rig.service.onLookUp = (request, answering) => {
    const isPayment = request.path.includes('/v2/payments/');
    if (isPayment) rig.service.reply(answering, { status: 404, json: errorBody('USR_002', 404) });
    else rig.service.reply(answering, { json: { data: [] } });
  };
  const track = (): Promise<void> => trackPayout(deps, { runId: rig.runId, line: 2 }, new AbortController().signal);
  await track();
  await rig.passTime(QUOTE_LIFE_MS + 13 * GRACE_MS);
  for (let looks = 0; looks < 5; looks++) {
    await rig.lookUp(deps, 3);
    await track();
    await rig.passTime(5000);
  }
  await rig.pay(deps, 3);
  const paid = rig.service.book.map(({ originator }) => (originator as { internalId: string }).internalId);
  expect(paid).toEqual(['INV-1', 'INV-2']);
});
