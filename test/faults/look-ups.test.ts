import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { DEPTH } from './depth.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';
import {
  allOf,
  busy,
  ended,
  type Fault,
  nothingAskedTwice,
  odds,
  reported,
  struck,
  watchPayments,
} from './service-steps.ts';

/* What look-ups answer, and what the service says of payments later on. */

const ONCE = { short: 1, long: 2 } as const;

/** Long enough for several look-ups that find nothing. */
const VISIBLE_MS = DEPTH === 'short' ? 6000 : 10_000;

faultRow({
  ids: ['F51'],
  fault: 'payments whose answers were lost are not found for seconds',
  tries: ONCE,
  switches: { visibilityDelayMs: VISIBLE_MS, timeoutAfterCommit: 0.25, dropAfterCommit: 0.25 },
  times: { quoteLifeMs: VISIBLE_MS + 2000, graceMs: 3000 },
  settings: { PAYRUN_CONCURRENCY: '8' },
  async body(rig) {
    const requests = watchPayments(rig);
    await struck(rig, ['timeoutAfterCommit', 'dropAfterCommit']);
    await rig.until('all payments found', async () => ((await rig.states())['unknown'] ?? 0) === 0);
    nothingAskedTwice(rig, requests);
  },
});

const SEVERAL_LOOK_UPS_MS = 4000;
const SAYS_NOTHING: readonly Fault[] = [
  'lookUpDrop',
  'lookUpHalfOpen',
  'lookUpTimeout',
  'lookUpError500',
  'lookUpError502',
  'lookUpError503',
  'lookUpError504',
  'lookUpHtml',
  'lookUpEmpty',
  'lookUpCut',
  'lookUpDrip',
  'lookUpUnauthorised',
  'lookUpForbidden',
  'lookUpBadRequest',
  'lookUpBareNotFound',
  'lookUpRedirect',
];

async function nothingButDoubts(rig: Rig): Promise<void> {
  await rig.until('an end of all that can be sent', async () => {
    const { ready = 0, armed = 0, quoted = 0 } = await rig.states();
    return ready + armed + quoted === 0;
  });
}

/** Until long after the latest end of a quote, grace and gap: nothing that was unknown is anything else by then. */
async function stillUnknown(rig: Rig): Promise<void> {
  const { unknown: before = 0 } = await rig.states();
  const { quotes, payment: lookUps } = rig.service.counters();
  const { quoteLifeMs, graceMs, gapMs } = rig.times;
  await delay(quoteLifeMs + graceMs + gapMs + SEVERAL_LOOK_UPS_MS);
  expect(before).toBeGreaterThan(0);
  expect([(await rig.states())['unknown'], rig.service.counters().quotes]).toEqual([before, quotes]);
  expect(rig.service.counters().payment).toBeGreaterThan(lookUps);
}

for (const [words, lost] of [
  ['were made', 'dropAfterCommit'],
  ['were not made', 'dropBeforeCommit'],
] as const) {
  faultRow({
    ids: ['F52'],
    fault: `look-ups of payments that ${words} fail in every way, say 401, 403, 400, or 404 without a body`,
    tries: ONCE,
    switches: { lookUpBareNotFound: 1, [lost]: 0.5 },
    async body(rig) {
      await struck(rig, [lost]);
      await nothingButDoubts(rig);
      await stillUnknown(rig);
      rig.service.switches.set(allOf(SAYS_NOTHING));
      await stillUnknown(rig);
      rig.service.switches.set(odds(SAYS_NOTHING, 0));
    },
  });
}

faultRow({
  ids: ['F53'],
  fault: 'payments stand in a state that nobody knows',
  tries: ONCE,
  rows: 20,
  switches: { finalState: 'FROZEN_BY_BANK' },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.until('a state on all payouts', async () =>
      (await reported(rig)).every(({ paymentState }) => paymentState === 'FROZEN_BY_BANK'),
    );
    for (const { outcome } of await reported(rig)) expect(outcome).toBe('pending');
    rig.service.switches.set({ finalState: 'COMPLETED' });
  },
});

faultRow({
  ids: ['F53'],
  fault: 'look-ups show payments in a state that nobody knows, back where they began, or other payments',
  tries: ONCE,
  rows: 20,
  switches: { completesAfterMs: 6000, lookUpOtherId: 0.2, lookUpEarlierState: 0.3, lookUpUnknownState: 0.5 },
  async body(rig) {
    const requests = watchPayments(rig);
    await busy(rig, 20);
    await delay(6000);
    rig.service.switches.set(odds(['lookUpOtherId', 'lookUpEarlierState', 'lookUpUnknownState'], 0));
    nothingAskedTwice(rig, requests);
  },
});

faultRow({
  ids: ['F53'],
  fault: 'payments are completed and then returned',
  tries: ONCE,
  rows: 20,
  switches: { endsReturned: 1, completesAfterMs: 500, returnsAfterMs: 60 * 60_000 },
  outcomes: { returned: 20 },
  async body(rig) {
    const requests = watchPayments(rig);
    const runId = await rig.submit();
    await rig.startWorker('one');
    await rig.until('completed payouts', async () => (await rig.states())['completed'] === 20);
    const isWatched = async (): Promise<boolean> =>
      (await rig.redis.client.hexists(`{payrun}:run:${runId}`, 'watched')) === 1;
    await rig.until('a run whose returns are watched', isWatched);
    // A completed payment is looked at once a day: this is that day.
    rig.service.switches.set({ returnsAfterMs: 0 });
    await rig.redis.client.zadd('{payrun}:watch', 1, runId);
    await rig.until('returned payouts', async () => (await rig.states())['returned'] === 20);
    nothingAskedTwice(rig, requests);
  },
  async after(rig) {
    for (const { paymentState } of await reported(rig)) expect(paymentState).toBe('RETURNED');
  },
});

faultRow({
  ids: ['F68'],
  fault: 'credentials are rotated while payouts are unknown, and payments are visible to their own credential alone',
  tries: ONCE,
  switches: { paymentsVisibleTo: 'their-credential', dropAfterCommit: 0.5, answerDelayMs: { payments: 100 } },
  // The rows that wait stay sealed by the same key (docs/operation.md, "Credentials rotated").
  settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_LEDGER_KEY: 'the key of this ledger, for all its credentials' },
  async body(rig) {
    rig.service.switches.set(odds(['lookUpBareNotFound'], 1));
    const requests = watchPayments(rig);
    await rig.submit();
    const old = await rig.startWorker('one');
    await rig.until('unknown payouts', async () => ((await rig.states())['unknown'] ?? 0) >= 5);
    await ended(old);
    const { unknown: before = 0, accepted: unfollowed = 0 } = await rig.states();
    rig.service.switches.set(odds(['dropAfterCommit', 'lookUpBareNotFound'], 0));
    const other = await rig.service.createCredential('rotated', 'test');
    const rotated = await rig.startWorker('one', {
      settings: { PAYRUN_CLIENT_ID: other.clientId, PAYRUN_CLIENT_SECRET: other.clientSecret },
    });
    await nothingButDoubts(rig);
    const { quoteLifeMs, graceMs, gapMs } = rig.times;
    const { payment: lookUps } = rig.service.counters();
    await delay(quoteLifeMs + graceMs + gapMs + 2000);
    const { unknown = 0, held = 0 } = await rig.states();
    expect(unknown + held).toBeGreaterThanOrEqual(before);
    // What one credential paid, the other cannot follow.
    await rig.until('payments at their end', async () => ((await rig.states())['accepted'] ?? 0) <= unfollowed);
    expect(rig.service.counters().payment).toBeGreaterThan(lookUps);
    await ended(rotated);
    expect((await rotated.ended).stderr).not.toContain(other.clientSecret);
    await rig.startWorker('one');
    nothingAskedTwice(rig, requests);
  },
});
