import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { referencesKey } from '../../src/ledger/keys.ts';
import { acceptPayment } from '../../src/pay/facts.ts';
import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { parsePayment } from '../../src/service/replies.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

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

/** As a comparison of logs leaves a row and its retry that Redis forgot: nobody knows what came of either. */
async function bothUnknown(): Promise<Place> {
  const { ledger, config } = desk.app;
  const hash = hashReference(rowAt(2).reference);
  await desk.server.redis.hdel(referencesKey(config.prefix, hash), hash);
  const retry = { runId: await recordRun(ledger, { id: 'r2', lines: [2] }), line: 2 };
  await armPayout(ledger, retry, BESIDE);
  await movePayout(ledger, retry, 'unknown');
  await desk.server.redis.hset(referencesKey(config.prefix, hash), hash, 'r2-2 r1-2');
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  return retry;
}

const LOOKS: Readonly<Record<string, (retry: Place) => Promise<void>>> = {
  async 'the row first'(retry) {
    await desk.lookUp(await desk.onDay(0.01));
    await lookUpPayout(await desk.onDay(0.01), retry);
  },
  async 'the retry first'(retry) {
    await lookUpPayout(await desk.onDay(0.01), retry);
    await desk.lookUp(await desk.onDay(0.01));
  },
  async 'the retry, while the row counts as accepted still'(retry) {
    await movePayout(desk.app.ledger, desk.place, 'accepted');
    await lookUpPayout(await desk.onDay(0.01), retry);
  },
};

test.each(Object.keys(LOOKS))(
  'a row whose payment failed, and whose retry was paid, is no breach after a restore that forgot both: %s is looked up',
  async (look) => {
    const retry = await bothUnknown();
    await LOOKS[look]?.(retry);
    for (const place of [retry, desk.place])
      await trackPayout(await desk.onDay(0.01), place, AbortSignal.timeout(10_000));
    expect((await payoutAt(desk.app.ledger, retry)).state).toBe('completed');
    expect((await desk.payout()).state).toBe('failed');
    expect((await desk.app.ledger.state.read()).halt).toBeNull();
  },
);
