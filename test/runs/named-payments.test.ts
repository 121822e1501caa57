import { expect, test } from 'vitest';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { compareAfterRestart, decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

test('a payment that people made by hand and named says nothing of the service, nor after a restart of Redis', async () => {
  const rig = await openRig(redis);
  const pay = await rig.process();
  const deps = decideDeps(rig, pay);

  // Its request is lost on the way, and nothing can prove that; people pay it by hand at the service's console.
  rig.service.onPay = (_request, answering) => answering.reset();
  await rig.pay(pay);
  await rig.ledger.payouts.move({ runId: rig.runId, line: 2, to: 'held', actor: 'test', reason: 'E_NOT_PROVABLE' });
  const { row, quoteId } = await rig.payout();
  const byHand = '99999999-2222-4333-8444-555555555555';
  rig.service.book.push({
    paymentId: byHand,
    paymentState: 'COMPLETED',
    beneficiaryIdentityId: row.beneficiaryIdentityId,
  });
  for (const by of ['anna', 'bob'])
    await decidePayout(deps, await rig.payout(), { decision: 'paid', paymentId: byHand, by, reason: 'paid by hand' });
  expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentId: byHand, quoteId });
  expect((await rig.ledger.state.read()).disproved).toEqual([]);

  await compareAfterRestart(rig);
  expect((await rig.ledger.state.read()).disproved).toEqual([]);
});

test('a payment of an earlier quote of the payout, which people settle as the runbook says, says nothing of the service', async () => {
  const rig = await openRig(redis);
  const pay = await rig.process();
  const deps = decideDeps(rig, pay);
  const requests: Parameters<typeof rig.service.commit>[0][] = [];
  rig.service.onPay = (request, answering) => {
    requests.push(request);
    answering.reset();
  };
  // Its first quote is proven dead, its second one is under way; then the payment of the first one shows (or a late host tells of it).
  await rig.pay(pay);
  const first = (await rig.payout()).quoteId ?? '';
  for (let tries = 0; tries < 40 && (await rig.payout()).state !== 'ready'; tries++) {
    await rig.passTime(5000);
    await rig.lookUp(pay);
  }
  await rig.pay(pay);
  const second = (await rig.payout()).quoteId ?? '';
  expect([first === second, requests.length]).toEqual([false, 2]);
  if (requests[0] !== undefined) rig.service.commit(requests[0]);
  const values = {
    reasonCode: 'E_BREACH',
    reason: `the quote ${first} was armed by a data directory that was missing`,
  };
  const { runId } = rig;
  await rig.ledger.payouts.move({ runId, line: 2, to: 'held', breach: true, actor: 'test', reason: 'breach', values });
  for (const by of ['anna', 'bob'])
    await decidePayout(deps, await rig.payout(), { decision: 'paid', paymentId: first, by, reason: 'it is there' });
  expect(await rig.payout()).toMatchObject({ state: 'accepted', paymentId: first });
  // The payment has the id of its quote, as all have.
  expect((await rig.ledger.state.read()).disproved).toEqual([]);
});
