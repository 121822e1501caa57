import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { DEPTH } from './depth.ts';
import { armings, SLOWLY } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';
import {
  busy,
  ended,
  type Fault,
  odds,
  PAYMENT,
  pausedReason,
  requestsTo,
  resumed,
  watchFlights,
} from './service-steps.ts';

/* The service as a whole: away, asking to wait, its tokens and its permissions. */

const ONCE = { short: 1, long: 2 } as const;
const WAIT = '{payrun}:wait';
const CONCURRENCY = 4;
/** Of one worker at a time: half as many more for a moment (docs/settings.md). */
const PAYMENTS_MAX = 1.5 * CONCURRENCY;

const AWAY: readonly Fault[] = ['error503BeforeCommit', 'quoteError503', 'lookUpError503', 'tokenFails'];
/** Three times the time-out of a request in CI. */
const AWAY_MS = DEPTH === 'short' ? 3000 : 5 * 60_000;
/** How often one process tries a service that stays away: after 0.25 s at least, doubling to 4 s (src/service/outage.ts). */
const triesMax = (ms: number): number => {
  let tries = 0;
  for (let at = 0, wait = 250; at + wait <= ms; at += wait, wait = Math.min(2 * wait, 4000)) tries += 1;
  return tries + 1;
};
/** Failures in a row before a process takes the service to be away. */
const FAILURES = 6;

/** Before the file comes, so that work is left for both however long they take to start. */
async function twoWorkers(rig: Rig): Promise<void> {
  await Promise.all(['one', 'two'].map((name) => rig.startWorker(name)));
  await rig.submit();
}

faultRow({
  ids: ['F37'],
  fault: `the service answers 503 to everything for a while, with two workers: few requests, nothing armed, no storm after it`,
  tries: { short: 1, long: 1 },
  rows: 160,
  ...SLOWLY,
  settings: { PAYRUN_CONCURRENCY: String(CONCURRENCY) },
  tryMsMax: AWAY_MS + 2 * 60_000,
  async body(rig) {
    await twoWorkers(rig);
    await rig.booked(8);
    rig.service.switches.set(odds(AWAY, 1));
    const before = requestsTo(rig);
    await delay(AWAY_MS / 3);
    const armed = await armings(rig);
    await delay((AWAY_MS * 2) / 3);
    // What was in flight, or held a quote already, comes on top of what notices and what tries.
    const budget = 2 * (3 * CONCURRENCY + FAILURES + triesMax(AWAY_MS));
    expect(requestsTo(rig) - before).toBeLessThanOrEqual(budget);
    expect(await armings(rig)).toBe(armed);
    const flights = watchFlights(rig, PAYMENT);
    rig.service.switches.set(odds(AWAY, 0));
    await rig.booked(rig.rows);
    expect(flights.peak).toBeGreaterThan(0);
    expect(flights.peak).toBeLessThanOrEqual(2 * PAYMENTS_MAX);
  },
});

/** Until what was in flight when the service asked to wait has come back. */
const IN_FLIGHT_MS = 500;
const TOO_MANY: readonly Fault[] = ['tooMany', 'quoteTooMany'];
/** Retry-After as it stands, and how long everybody waits for it at most and at least, in milliseconds. */
const RETRY_AFTER: readonly (readonly [text: string, leastMs: number, mostMs: number])[] = [
  ['4', 2000, 4000],
  ['date+4', 2000, 4000],
  ['date-60', 3000, 5000],
  ['', 3000, 5000],
  ['soon', 3000, 5000],
  ['864000', 298_000, 300_000],
];

faultRow({
  ids: ['F38'],
  fault:
    '429 with Retry-After in seconds, as dates ahead and past, missing, unreadable and of 10 days: both workers wait',
  tries: ONCE,
  rows: 160,
  ...SLOWLY,
  tryMsMax: 4 * 60_000,
  async body(rig) {
    await twoWorkers(rig);
    const flights = watchFlights(rig, PAYMENT);
    for (const [retryAfter, leastMs, mostMs] of RETRY_AFTER) {
      await rig.until('the end of the pause before', async () => (await rig.redis.client.exists(WAIT)) === 0);
      await rig.booked(rig.book().length + 8);
      rig.service.switches.set({ ...odds(TOO_MANY, 1), retryAfter });
      const left = await waited(rig);
      expect(left).toBeGreaterThan(leastMs);
      expect(left).toBeLessThanOrEqual(mostMs);
      rig.service.switches.set(odds(TOO_MANY, 0));
      await quiet(rig);
    }
    expect(rig.book().length).toBeLessThan(rig.rows);
    for (const worker of rig.started.filter(({ wasReady }) => wasReady)) await ended(worker);
    // Nobody waits for 10 days, nor, who knows better, for 5 minutes.
    await rig.redis.client.del(WAIT);
    await rig.startWorker('one');
    await rig.booked(rig.rows);
    expect(flights.peak).toBeGreaterThan(0);
    expect(flights.peak).toBeLessThanOrEqual(2 * PAYMENTS_MAX);
  },
});

/** Nothing reaches the service until the shared pause is over, or for some seconds of it. */
async function quiet(rig: Rig): Promise<void> {
  await delay(IN_FLIGHT_MS);
  const before = requestsTo(rig);
  const left = await rig.redis.client.pttl(WAIT);
  await delay(Math.min(3000, Math.max(0, left - 200)));
  expect(requestsTo(rig)).toBe(before);
}

/** Until the service asked to wait; for how long still, in milliseconds. */
async function waited(rig: Rig): Promise<number> {
  let left = -2;
  await rig.until('a shared pause', async () => {
    left = await rig.redis.client.pttl(WAIT);
    return left > 0;
  });
  return left;
}

faultRow({
  ids: ['F39'],
  fault: 'all tokens are revoked again and again under four workers: one token request each time',
  tries: ONCE,
  rows: 80,
  switches: { answerDelayMs: { payments: 200 }, revokeTokensEveryMs: 2500 },
  settings: { PAYRUN_CONCURRENCY: '2' },
  times: { quoteLifeMs: 5000 },
  async body(rig) {
    const from = Date.now();
    await rig.submit();
    await Promise.all(['one', 'two', 'three', 'four'].map((name) => rig.startWorker(name)));
    await rig.booked(rig.rows);
    await rig.until('the end of all payouts', async () => (await rig.states())['completed'] === rig.rows);
    const revocations = Math.floor(Date.now() / 2500) - Math.floor(from / 2500);
    expect(revocations).toBeGreaterThan(0);
    expect(rig.service.counters().token).toBeLessThanOrEqual(1 + revocations);
    rig.service.switches.set({ revokeTokensEveryMs: 0 });
  },
});

faultRow({
  ids: ['F40'],
  fault: 'tokens live shorter than they say, say that they have no time to live, or do not say: nothing has failed',
  tries: ONCE,
  switches: { answerDelayMs: { payments: 300 }, tokenLifeMs: 2000 },
  settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_TOKEN_MARGIN: '1s' },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    for (const [count, tokenExpiresIn] of [
      [12, 'too-long'],
      [24, 'zero'],
      [36, 'missing'],
    ] as const) {
      rig.service.switches.set({ tokenExpiresIn });
      await rig.booked(count);
    }
    rig.service.switches.set({ tokenLifeMs: 60_000, tokenExpiresIn: 'right' });
  },
});

const NO_TOKEN: readonly Fault[] = ['tokenFails', 'tokenHtml', 'tokenDrop', 'tokenTooMany', 'tokenRedirect'];

faultRow({
  ids: ['F40'],
  fault: 'tokens come late, and often as 500, HTML, a reset, 429 or a redirect: the run waits, nothing has failed',
  tries: ONCE,
  switches: {
    answerDelayMs: { payments: 200 },
    revokeTokensEveryMs: 4000,
    tokenDelayMs: 300,
    ...odds(NO_TOKEN, 0.1),
  },
  settings: { PAYRUN_CONCURRENCY: '4' },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(rig.rows / 2);
    rig.service.switches.set({ ...odds(NO_TOKEN, 0), revokeTokensEveryMs: 0 });
  },
});

faultRow({
  ids: ['F40'],
  fault: 'token requests are not answered for a while: the run waits, nothing has failed',
  tries: { long: 2 },
  switches: { answerDelayMs: { payments: 200 } },
  settings: { PAYRUN_CONCURRENCY: '4' },
  async body(rig) {
    await busy(rig);
    rig.service.switches.set({ tokenTimeout: 1, revokeTokensEveryMs: 1000 });
    await delay(30_000);
    rig.service.switches.set({ tokenTimeout: 0, revokeTokensEveryMs: 0 });
  },
});

const WRONG_SECRET = 'a-wrong-secret';

/** What strikes all payouts of the run before anything is sent, and how the pause reason begins. */
const RUN_WIDE: readonly (readonly [switches: SwitchSettings, says: RegExp])[] = [
  [{ quoteForbidden: 1 }, /^AUTH_001: .+/],
  [{ quoteForbidden: 0, quotePaymentRequired: 1 }, /^USR_067: .+/],
  [{ quotePaymentRequired: 0, tokenForbidden: 1, revokeTokensEveryMs: 500 }, /^TOKEN_REFUSED: .*403/],
];

faultRow({
  ids: ['F41'],
  fault:
    'the client secret is wrong, or tokens and quotes are refused with 403 or 402: the run pauses and keeps its rows',
  tries: ONCE,
  async body(rig) {
    await rig.submit();
    const wrong = await rig.launchWorker('one', { settings: { PAYRUN_CLIENT_SECRET: WRONG_SECRET } }).ended;
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('Check PAYRUN_CLIENT_ID') });
    expect(wrong.stderr).not.toContain(WRONG_SECRET);
    for (const [index, [switches, says]] of RUN_WIDE.entries()) {
      rig.service.switches.set(switches);
      if (index === 0) await rig.startWorker('one');
      else await resumed(rig);
      expect(await pausedReason(rig)).toMatch(says);
    }
    rig.service.switches.set({ tokenForbidden: 0, revokeTokensEveryMs: 0 });
    expect((await rig.states())['ready']).toBe(rig.rows);
    expect(rig.service.counters().payments).toBe(0);
    await resumed(rig);
  },
});

faultRow({
  ids: ['F41'],
  fault: 'payment requests are refused with 403, later with 402: the run pauses at once, what was sent is looked up',
  tries: ONCE,
  rows: 60,
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    for (const [fault, says] of [
      ['forbidden', /^AUTH_001: .+/],
      ['paymentRequired', /^USR_067: .+/],
    ] as const) {
      rig.service.switches.set(odds([fault], 1));
      expect(await pausedReason(rig)).toMatch(says);
      const sent = rig.service.counters().payments;
      await delay(1000);
      expect(rig.service.counters().payments - sent).toBeLessThanOrEqual(CONCURRENCY);
      const { unknown = 0, ready = 0, rejected = 0, held = 0 } = await rig.states();
      expect(unknown + ready).toBeGreaterThan(0);
      expect([rejected, held]).toEqual([0, 0]);
      rig.service.switches.set(odds([fault], 0));
      await resumed(rig);
      await rig.booked(rig.book().length + 8);
    }
  },
});
