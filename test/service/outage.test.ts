import { describe, expect, test } from 'vitest';
import { type Clock, systemRandom } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import { type Answer, notSent } from '../../src/service/answer.ts';
import { type Outage, openOutage } from '../../src/service/outage.ts';

/** Time that passes only when it is told to, and wakes who sleeps. */
function handClock(): Clock & { pass(ms: number): Promise<void> } {
  let at = 0;
  const sleepers = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => at,
    monotonic: () => at,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        const sleeper = { until: at + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          resolve();
        });
        if (ms <= 0 || signal?.aborted === true) {
          sleepers.delete(sleeper);
          resolve();
        }
      });
    },
    async pass(ms) {
      const end = at + ms;
      for (; at < end; at += 10) {
        for (const sleeper of sleepers) {
          if (sleeper.until > at) continue;
          sleepers.delete(sleeper);
          sleeper.wake();
        }
        await new Promise(setImmediate);
      }
    },
  };
}

const OK: Answer = { kind: 'answered', status: 201, date: null, retryAfter: null, json: {}, requestId: null };
const BAD: Answer = { ...OK, status: 503 };
/** Of a gateway in the place of the service. */
const PAGE: Answer = { ...OK, status: 200, json: undefined, isPage: true };
const LOST: Answer = { kind: 'lost', reason: 'reset', status: null };

interface Service {
  readonly outage: Outage;
  readonly clock: ReturnType<typeof handClock>;
  answer: Answer;
  /** Times at which requests came. */
  readonly asked: number[];
  ask(): Promise<Answer>;
}

function openService(signal = new AbortController().signal): Service {
  const clock = handClock();
  const outage = openOutage({ clock, random: systemRandom, log: silentLog, signal });
  const service: Service = {
    outage,
    clock,
    answer: OK,
    asked: [],
    ask: () =>
      outage.through('quote', async () => {
        service.asked.push(clock.monotonic());
        return service.answer;
      }),
  };
  return service;
}

async function goAway(service: Service): Promise<void> {
  service.answer = BAD;
  for (let time = 0; time < 6; time++) await service.ask();
  expect(service.outage.isAway()).toBe(true);
  service.asked.length = 0;
}

describe('a service that fails', () => {
  test.each([BAD, LOST, notSent('ECONNREFUSED'), { ...BAD, status: 500 }, PAGE, { ...PAGE, status: 404 }])(
    'six times in a row counts as away',
    async (answer) => {
      const service = openService();
      service.answer = answer;
      for (let time = 0; time < 5; time++) await service.ask();
      expect(service.outage.isAway()).toBe(false);
      await service.ask();
      expect(service.outage.isAway()).toBe(true);
    },
  );

  test.each([
    OK,
    { ...OK, status: 400 },
    { ...OK, status: 404 },
    { ...OK, status: 429 },
    { ...PAGE, status: 403 },
    { ...PAGE, status: 429 },
    notSent('deadline'),
  ])('but answers in between is there', async (answer) => {
    const service = openService();
    for (let time = 0; time < 20; time++) {
      service.answer = time % 5 === 4 ? answer : BAD;
      await service.ask();
    }
    expect(service.outage.isAway()).toBe(false);
  });
});

describe('a service that is away', () => {
  test('is tried by one request at a time, each after a longer wait, whoever asks', async () => {
    const service = openService();
    await goAway(service);
    for (let asker = 0; asker < 200; asker++) service.ask().catch(() => {});
    await service.clock.pass(300_000);
    expect(service.asked.length).toBeLessThanOrEqual(80);
    expect(service.asked.length).toBeGreaterThanOrEqual(38);
    const waits = service.asked.slice(1).map((at, index) => at - (service.asked[index] ?? 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(8020);
    expect(Math.min(...waits.slice(-2))).toBeGreaterThanOrEqual(4000);
  });

  test('is asked by everybody again when it is back, spread over a second', async () => {
    const service = openService();
    await goAway(service);
    const asking = Array.from({ length: 50 }, () => service.ask());
    service.answer = OK;
    await service.clock.pass(3000);
    expect(await Promise.all(asking)).toEqual(asking.map(() => OK));
    const [first = 0, ...others] = service.asked;
    expect(others).toHaveLength(49);
    expect(new Set(others).size).toBeGreaterThan(10);
    expect(Math.max(...others) - first).toBeLessThanOrEqual(1100);
    expect(service.outage.isAway()).toBe(false);
  });

  test('is back as well when a payment that was under way is answered', async () => {
    const service = openService();
    await goAway(service);
    const asking = service.ask();
    service.outage.saw('payment', OK);
    service.answer = OK;
    await service.clock.pass(1100);
    expect(await asking).toBe(OK);
  });

  test('keeps nobody who is told to stop', async () => {
    const stop = new AbortController();
    const service = openService(stop.signal);
    await goAway(service);
    const asking = service.ask();
    stop.abort();
    expect(await asking).toBe(BAD);
    await service.outage.waitedOut();
  });
});
