import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { DECISIONS } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

test('people can settle a payout whose log names the quote by which another payout was paid', async () => {
  const rig = await openRig(redis, [{}, {}]);
  const pay = await rig.process();
  // The service gave both the same quote, as for equal requests: line 2 was armed with it and not sent, line 3 took it.
  await rig.pay(pay, 3);
  const { quoteId } = await rig.payout(3);
  const armedAt = Date.now() - 2 * 86_400_000;
  const line = {
    r: rig.runId,
    l: 2,
    s: 'f'.repeat(64),
    n: 'f'.repeat(64),
    h: hashReference('INV-1'),
    q: quoteId,
    x: String(armedAt + 10_000),
    k: 1,
    c: 99,
    d: '20260101',
    o: 'test',
    t: String(armedAt),
    f: pay.service.fingerprint,
  };
  const { server } = await rig.ledger.state.season();
  const json = JSON.stringify([line]);
  await rig.ledger.state.compare({ dataDirId: 'dir-1', server, last: true, json, peers: ['dir-1'] });
  const values = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 h and is still unknown' };
  await rig.ledger.payouts.move({ runId: rig.runId, line: 2, to: 'held', actor: 'test', reason: 'E_TRIED', values });
  expect(await rig.payout()).toMatchObject({ state: 'held', quoteId });

  const deps = decideDeps(rig, pay);
  const said: string[] = [];
  for (const decision of DECISIONS) {
    const paymentId = decision === 'paid' ? (quoteId ?? '') : '';
    const asked = { decision, paymentId, by: 'anna', reason: 'a good reason', caveats: 'read' } as const;
    const deciding = decidePayout(deps, await rig.payout(), asked).then(({ result }) => result);
    said.push(await deciding.catch((error: unknown) => (error instanceof Refusal ? error.message : String(error))));
  }
  expect(said).toContain('proposed');
});
