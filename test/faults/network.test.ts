import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { onceForwarded, onReplyTo, type When } from '../support/proxy-moment.ts';
import type { Deed } from '../support/tcp-proxy.ts';
import { DEPTH } from './depth.ts';
import { answerNames, FRONT_PORT, JUMPING_CLOCK, NAMES_FROM_FILE, ownAddress, startFront } from './front.ts';
import { SLOWLY } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';
import { busy, type Fault, odds, PAYMENT, requestsTo, struck } from './service-steps.ts';

/*
 * The way to the service and to Redis: connections that break or fall silent, names that are not resolved, clocks that are
 * wrong. Partitions are those of the proxy: what it swallows or keeps arrives at nobody, and new connections to it stand.
 */

const ONCE = { short: 1, long: 2 } as const;
const BOTH = ['request', 'reply'] as const;
const GIVEN_UP_MS = 30_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Three times the time-out of a request, or the arm deadline, in CI. */
const partedMs = (shortMs: number): number => (DEPTH === 'short' ? shortMs : 120_000);

interface Broken {
  readonly deed: Deed;
  readonly when: When;
}

/** Each of them on a few connections, one after the other, while payments go on. */
async function broken(rig: Rig, faults: readonly Broken[]): Promise<void> {
  await rig.submit();
  for (const [index, { deed, when }] of faults.entries()) {
    const met = rig.serviceLink.set({ ...deed, when, connectionsMax: 4 });
    if (index === 0) await rig.startWorker('one');
    await rig.until('broken connections', () => met.hits === 4);
  }
  rig.serviceLink.set({ do: 'pass' });
}

faultRow({
  ids: ['F31'],
  fault: 'connections are reset after a whole payment request, and in the middle of its answer',
  tries: ONCE,
  ...SLOWLY,
  body: (rig) =>
    broken(rig, [
      { deed: { do: 'cut' }, when: onceForwarded(PAYMENT) },
      { deed: { do: 'cut' }, when: onReplyTo(PAYMENT, 20) },
    ]),
});

faultRow({
  ids: ['F32', 'F48'],
  fault:
    'after a payment request the service ends its side, sees the end of ours, or its answers are lost from then on',
  tries: ONCE,
  ...SLOWLY,
  body: (rig) =>
    broken(rig, [
      { deed: { do: 'end', side: 'client' }, when: onceForwarded(PAYMENT) },
      { deed: { do: 'end', side: 'target' }, when: onceForwarded(PAYMENT) },
      { deed: { do: 'swallow', ways: ['reply'] }, when: onReplyTo(PAYMENT) },
    ]),
});

faultRow({
  ids: ['F35'],
  fault: 'from the answer to a payment request on, everything on the connection comes a byte a second',
  tries: { long: 2 },
  ...SLOWLY,
  body: (rig) => broken(rig, [{ deed: { do: 'drip', everyMs: 1000 }, when: onReplyTo(PAYMENT) }]),
});

const HALF_OPEN: readonly Fault[] = ['halfOpenBeforeCommit', 'halfOpenAfterCommit'];

faultRow({
  ids: ['F32'],
  fault: 'the service closes its side without an answer, before or after the payment, and keeps the other open',
  tries: { long: 2 },
  switches: odds(HALF_OPEN, 0.25),
  body: (rig) => struck(rig, HALF_OPEN),
});

const NAME = 'payments.payrun.invalid';

faultRow({
  ids: ['F46'],
  fault: "the service's name is not found, cannot be asked for, and later stands for another address",
  tries: ONCE,
  ...SLOWLY,
  settings: {
    ...SLOWLY.settings,
    PAYRUN_SERVICE_URL: `http://${NAME}:${FRONT_PORT}`,
    PAYRUN_HTTP_HOST: NAME,
    ...NAMES_FROM_FILE,
  },
  async body(rig) {
    const [first, second] = [ownAddress(), ownAddress()];
    const before = await startFront(rig, first);
    answerNames(rig, first);
    await rig.submit();
    const worker = await rig.startWorker('one');
    await rig.booked(8);
    answerNames(rig, 'ENOTFOUND');
    await before.close();
    await worker.said('ENOTFOUND');
    await rig.until('an end of what was in flight', async () => ((await rig.states())['armed'] ?? 0) === 0);
    const { unknown = 0 } = await rig.states();
    const asked = requestsTo(rig);
    answerNames(rig, 'EAI_AGAIN');
    await worker.said('EAI_AGAIN');
    // What is not sent is in no doubt.
    expect((await rig.states())['unknown'] ?? 0).toBeLessThanOrEqual(unknown);
    expect(requestsTo(rig)).toBe(asked);
    const after = await startFront(rig, second);
    answerNames(rig, second);
    await rig.booked(rig.rows);
    await rig.until('the end of all payouts', async () => (await rig.states())['completed'] === rig.rows);
    await after.close();
  },
});

for (const [words, deed] of [
  ['is swallowed', { do: 'swallow', ways: BOTH }],
  ['is kept, and arrives at its end', { do: 'hold', ways: BOTH }],
] as const) {
  faultRow({
    ids: ['F48'],
    fault: `the service cannot be reached: everything between it and payrun ${words}`,
    tries: ONCE,
    ...SLOWLY,
    times: { quoteLifeMs: 4000 },
    tryMsMax: 4 * 60_000,
    async body(rig) {
      await busy(rig);
      rig.serviceLink.set(deed);
      await delay(partedMs(3000));
      const { held = 0, rejected = 0, failed = 0 } = await rig.states();
      expect({ held, rejected, failed }).toEqual({ held: 0, rejected: 0, failed: 0 });
      rig.serviceLink.set({ do: 'pass' });
    },
  });
}

faultRow({
  ids: ['F48'],
  fault: 'the service cannot be reached: its host resets all connections and refuses new ones',
  tries: ONCE,
  ...SLOWLY,
  tryMsMax: 4 * 60_000,
  async body(rig) {
    await busy(rig);
    await rig.serviceLink.refuse();
    rig.serviceLink.set({ do: 'cut' });
    await delay(partedMs(3000));
    rig.serviceLink.set({ do: 'pass' });
    await rig.serviceLink.listen();
  },
});

faultRow({
  ids: ['F48'],
  fault: 'Redis cannot be reached: everything between it and the worker is kept, and arrives at its end',
  tries: ONCE,
  ...SLOWLY,
  tryMsMax: 4 * 60_000,
  async body(rig) {
    await busy(rig);
    rig.redisLink.set({ do: 'hold', ways: BOTH });
    await delay(partedMs(6000));
    rig.redisLink.set({ do: 'pass' });
  },
});

faultRow({
  ids: ['F48'],
  fault: 'Redis cannot be reached: everything between it and the worker is swallowed, and connections stay open',
  tries: { long: 1 },
  ...SLOWLY,
  tryMsMax: 4 * 60_000,
  async body(rig) {
    await busy(rig);
    rig.redisLink.set({ do: 'swallow', ways: BOTH });
    await delay(partedMs(6000));
    rig.redisLink.set({ do: 'pass' });
    // Connections that were swallowed stay so until they are given up (src/redis/connect.ts: 30 s for those of the jobs).
    await delay(GIVEN_UP_MS);
  },
});

const LOST = ['dropBeforeCommit', 'dropAfterCommit', 'timeoutBeforeCommit', 'timeoutAfterCommit'] as const;

/** Waits until an unknown payout would be proven dead by right clocks, and expects that none was. */
async function stayInDoubt(rig: Rig): Promise<void> {
  await rig.until('nothing but doubts', async () => ((await rig.states())['ready'] ?? 0) === 0);
  const { quoteLifeMs, graceMs, gapMs } = rig.times;
  const { quotes } = rig.service.counters();
  await delay(quoteLifeMs + graceMs + gapMs + 2000);
  expect((await rig.states())['unknown']).toBeGreaterThan(0);
  expect(rig.service.counters().quotes).toBe(quotes);
  await rig.until('the end of all payments', async () => ((await rig.states())['accepted'] ?? 0) === 0);
}

for (const [words, skewMs] of [
  ['ahead', DAY_MS],
  ['behind', -DAY_MS],
] as const) {
  faultRow({
    ids: ['F50'],
    fault: `the service's clock is a day ${words}, and payment requests are lost: that only delays`,
    tries: ONCE,
    switches: { dateSkewMs: skewMs, quoteExpirySkewMs: skewMs, ...odds(LOST, 0.1) },
    staysInDoubt: true,
    outcomes: 'any',
    async body(rig) {
      await struck(rig, LOST);
      await stayInDoubt(rig);
    },
  });
}

faultRow({
  ids: ['F50'],
  fault:
    "the worker's wall clock jumps a day ahead or behind every second, and payment requests are lost: that only delays",
  tries: ONCE,
  switches: odds(LOST, 0.1),
  staysInDoubt: true,
  outcomes: 'any',
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one', { settings: JUMPING_CLOCK });
    await rig.until('all payment requests', () => rig.service.counters().payments >= rig.rows);
    rig.service.switches.set(odds(LOST, 0));
    await stayInDoubt(rig);
  },
});

faultRow({
  ids: ['F50'],
  fault:
    "the service's Date is a day behind its quotes, and right afterwards: by it the quotes live a day longer, so nothing is proven dead",
  tries: ONCE,
  switches: { dateSkewMs: -DAY_MS, dropBeforeCommit: 0.3 },
  staysInDoubt: true,
  outcomes: 'any',
  async body(rig) {
    await struck(rig, ['dropBeforeCommit'], 20);
    await stayInDoubt(rig);
    rig.service.switches.set({ dateSkewMs: 0 });
    await stayInDoubt(rig);
  },
});

faultRow({
  ids: ['F50'],
  fault: "the service's Date is a day ahead for some seconds, and payments whose requests were lost are made late",
  tries: ONCE,
  rows: 10,
  times: { quoteLifeMs: 20_000 },
  switches: { lateCommitAfterDrop: 1, lateCommitMs: 12_000 },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.until('lost requests', () => rig.service.counters().payments === rig.rows);
    rig.service.switches.set({ dateSkewMs: DAY_MS, lateCommitAfterDrop: 0 });
    await delay(6000);
    rig.service.switches.set({ dateSkewMs: 0 });
    await rig.booked(rig.rows);
  },
});
