import { expect, test } from 'vitest';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';

const desk = await useBesideDesk();

const TRIED = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
const OTHER_AMOUNT = { originator: { internalId: 'INV-2', sourceCurrency: 'USD', sourceAmount: '99.00' } };

/** What one person is told who settles the payout as not paid, having read what speaks against it. */
async function settleAlone(by: string, days: number): Promise<{ result: string; caveats: string }> {
  const pay = await desk.onDay(days);
  const deps = { ...desk.app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
  const asked = { decision: 'not-paid', paymentId: '', by, reason: 'the console', caveats: 'read' } as const;
  const { result, evidence } = await decidePayout(deps, await desk.payout(), asked);
  return { result, caveats: evidence.join('; ') };
}

test.each([
  ['of another quote', BESIDE, {}],
  ['with another amount', OWN, OTHER_AMOUNT],
])(
  'a proposal from before a payment %s was found is void, and whoever settles the payout reads of that payment',
  async (_what, id, more) => {
    const { redis } = desk.server;
    const { prefix } = desk.app.config;
    await redis.rpush(`${prefix}:run:${desk.runId}:beside`, `2 ${BESIDE}`);
    await redis.hset(`${prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${desk.runId}-2`);
    await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: TRIED });
    expect((await settleAlone('anna', 2)).result).toBe('proposed');
    desk.answer({ [id]: payment(id, 'COMPLETED', more) });
    await desk.lookUp(await desk.onDay(2.5));
    const { reasonCode, reason } = await desk.payout();
    expect(reasonCode).toBe('E_BREACH');
    desk.answer({});
    const told = await settleAlone('bob', 3);
    expect(told).toEqual({ result: 'proposed', caveats: expect.stringContaining(reason ?? '') });
  },
);
