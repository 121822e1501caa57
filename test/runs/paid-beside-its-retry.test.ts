import { expect, test } from 'vitest';
import { acceptPayment } from '../../src/pay/facts.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { parsePayment } from '../../src/service/replies.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, movePayout, payoutAt, recordRun } from './recorded-run.ts';

const desk = await useBesideDesk();

interface Place {
  readonly runId: string;
  readonly line: number;
}

const TRIED = { to: 'held', actor: 'w', reason: 'E_TRIED', values: { reasonCode: 'E_TRIED' } } as const;

/** The payout is settled as not paid, and its retry is armed; then its payment is found. */
async function retriedAndFound(): Promise<Place> {
  const { ledger } = desk.app;
  await ledger.payouts.move({ ...desk.place, ...TRIED });
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  const retry = { runId: await recordRun(ledger, { id: 'r2', lines: [2] }), line: 2 };
  await armPayout(ledger, retry, BESIDE);
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(3));
  expect((await desk.payout()).state).toBe('accepted');
  return retry;
}

async function decide(place: Place, decision: 'allow' | 'not-paid', by: string): Promise<void> {
  const pay = await desk.onDay(4);
  const deps = { ...desk.app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
  const asked = { decision, paymentId: '', by, reason: 'the console', caveats: 'read' } as const;
  await decidePayout(deps, await payoutAt(desk.app.ledger, place), asked).catch(() => {});
}

const BREACH = {
  state: 'held',
  reasonCode: 'E_BREACH',
  reason: 'it has a payment, and so has payout r1-2 with the same reference',
};

test('a payment of a retry that people look up, beside one that was found before, is a breach', async () => {
  const { ledger } = desk.app;
  const retry = await retriedAndFound();
  await movePayout(ledger, retry, 'unknown');
  await ledger.payouts.move({ ...retry, ...TRIED });
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await decide(retry, 'not-paid', 'anna');
  expect(await payoutAt(ledger, retry)).toMatchObject(BREACH);
  expect((await ledger.state.read()).halt).toContain('r1-2');
});

test('a payment of a retry whose answer comes in after the first one was found is a breach', async () => {
  const { ledger } = desk.app;
  const retry = await retriedAndFound();
  const made = parsePayment((payment(BESIDE, 'INITIATED') as { json: unknown }).json);
  if (made === undefined) throw new Error('the answer has no payment');
  await acceptPayment(desk.deps, await payoutAt(ledger, retry), { quoteId: BESIDE, payment: made, exchange: '' });
  expect(await payoutAt(ledger, retry)).toMatchObject(BREACH);
  expect((await ledger.state.read()).halt).toContain('r1-2');
});

test('a payment that is found after people allowed another payout beside it is none: they agreed to both', async () => {
  const { ledger } = desk.app;
  const other = { runId: await recordRun(ledger, { id: 'r2', lines: [2] }), line: 2 };
  await decide(other, 'allow', 'anna');
  await decide(other, 'allow', 'bob');
  await armPayout(ledger, other, BESIDE);
  await movePayout(ledger, other, 'accepted', 'completed');
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(0.1));
  expect((await desk.payout()).state).toBe('accepted');
  expect((await ledger.state.read()).halt).toBeNull();
});
