import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { openMovingPace } from '../../src/pay/pace.ts';
import { openSharedRate, type SharedRate } from '../../src/pay/shared-rate.ts';
import { type Answer, answerOf } from '../../src/service/answer.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const BOUNDS = { floor: 8, top: 100 };

const server = await useTestRedis();
let prefix: string;
let ledger: Ledger;
beforeEach(() => {
  prefix = freshPrefix();
  ledger = openLedger({ redis: server.redis, arming: server.redis }, { prefix, dataDirId: randomUUID() });
});

function answered(status: number): Answer {
  return answerOf(status, {}, Buffer.from('{}'));
}

const TIMED_OUT: Answer = { kind: 'lost', reason: 'time-out', status: null };

/** Of a process whose own time a test moves. */
function openProcess(bounds = BOUNDS): { rate: SharedRate; later: (ms: number) => void } {
  let moved = 0;
  const clock: Clock = { ...systemClock, monotonic: () => moved };
  const rate = openSharedRate(ledger.state, { bounds, clock, log: silentLog });
  return { rate, later: (ms) => (moved += ms) };
}

/** The rate once what this process saw is shared: a step may be under way that does not have all of it. */
async function rateAfter({ rate, later }: ReturnType<typeof openProcess>): Promise<number> {
  later(1000);
  await rate.perSecond();
  later(1000);
  return await rate.perSecond();
}

async function keepRate(perSecond: number): Promise<void> {
  await server.redis.set(`${prefix}:rate`, JSON.stringify({ perSecond, limit: null, isEstimate: false, cutAt: 0 }));
}

describe('the shared rate', () => {
  test('begins at the floor', async () => {
    expect(await rateAfter(openProcess())).toBe(BOUNDS.floor);
  });

  test('stays within its bounds, and goes on, whatever stands in Redis', async () => {
    await keepRate(1e12);
    expect(await rateAfter(openProcess())).toBe(BOUNDS.top);
    await keepRate(1e-9);
    expect(await rateAfter(openProcess())).toBe(BOUNDS.floor);
    for (const text of ['{"perSecond":1e999}', '{"perSecond":-1}', 'no rate', '[]']) {
      await server.redis.set(`${prefix}:rate`, text);
      expect(await rateAfter(openProcess())).toBe(BOUNDS.floor);
    }
  });

  test('climbs for payments that are made, in all processes', async () => {
    const [one, other] = [openProcess(), openProcess()];
    for (let count = 0; count < BOUNDS.floor; count++) one.rate.saw('payment', answered(201));
    expect(await rateAfter(one)).toBeGreaterThan(BOUNDS.floor * 1.5);
    expect(await rateAfter(other)).toBe(await rateAfter(one));
  });

  test('does not climb for quotes and look-ups', async () => {
    const one = openProcess();
    for (const operation of ['quote', 'look-up', 'token'] as const) one.rate.saw(operation, answered(200));
    expect(await rateAfter(one)).toBe(BOUNDS.floor);
  });

  test.each([
    ['a 429', answered(429)],
    ['a time-out', TIMED_OUT],
  ])('is halved by %s that one process meets, in all processes', async (_name, answer) => {
    await keepRate(80);
    const [one, other] = [openProcess(), openProcess()];
    expect(await rateAfter(other)).toBe(80);
    one.rate.saw('quote', answer);
    expect(await rateAfter(one)).toBe(40);
    expect(await rateAfter(other)).toBe(40);
  });

  test('is halved once by what several processes meet at a time', async () => {
    await keepRate(80);
    const processes = Array.from({ length: 8 }, () => openProcess());
    for (const { rate } of processes) for (let count = 0; count < 4; count++) rate.saw('payment', answered(429));
    expect(await Promise.all(processes.map(rateAfter))).toEqual(processes.map(() => 40));
  });

  test('loses nothing of what several processes saw well at a time', async () => {
    const processes = Array.from({ length: 5 }, () => openProcess({ floor: 1000, top: 2000 }));
    for (const { rate } of processes) for (let count = 0; count < 50; count++) rate.saw('payment', answered(201));
    await Promise.all(processes.map(rateAfter));
    const alone = 1000 * 1.6 ** 0.25;
    // Who writes later counts its share of a second at a rate that is higher by then.
    expect(await rateAfter(openProcess({ floor: 1000, top: 2000 }))).toBeGreaterThan(alone * 0.98);
  });

  test('stays in the bounds of each process, whatever another one or a person wrote', async () => {
    await keepRate(5000);
    const one = openProcess();
    one.rate.saw('payment', answered(201));
    expect(await rateAfter(one)).toBe(BOUNDS.top);
  });

  test('stays as it was where Redis does not answer', async () => {
    await keepRate(80);
    const broken = { swapRate: () => Promise.reject(new Error('no Redis')) };
    let isBroken = false;
    const rate = openSharedRate(
      { swapRate: (seen, next) => (isBroken ? broken : ledger.state).swapRate(seen, next) },
      { bounds: BOUNDS, clock: { ...systemClock, monotonic: () => performance.now() * 1000 }, log: silentLog },
    );
    expect(await rate.perSecond()).toBe(80);
    isBroken = true;
    expect(await rate.perSecond()).toBe(80);
  });
});

describe('a pace that moves', () => {
  const lead = { ms: () => 0, saw: () => {} };

  test('gives places at the rate of the time at which they come', async () => {
    let perSecond = 20;
    const pace = openMovingPace(ledger.state, systemClock, { what: 'pay', perSecond: async () => perSecond, lead });
    const { signal } = new AbortController();
    const places = Array.from({ length: 40 }, () => pace.take(signal));
    await places[3];
    perSecond = 200;
    const at = await Promise.all(places);
    const ms = (at.at(-1) ?? 0) - (at[0] ?? 0);
    // As many at 200 a second would be a fifth of one.
    expect(ms).toBeGreaterThan(250);
    // 40 places at 20 a second would be two seconds.
    expect(ms).toBeLessThan(1200);
  });

  test('lets go whoever is told to stop, and gives its place to another', async () => {
    const pace = openMovingPace(ledger.state, systemClock, { what: 'pay', perSecond: async () => 1, lead });
    const stopping = new AbortController();
    await pace.take(stopping.signal);
    const waits = Array.from({ length: 5 }, () => pace.take(stopping.signal));
    stopping.abort();
    const now = systemClock.monotonic();
    for (const startAt of await Promise.all(waits)) expect(startAt).toBeLessThanOrEqual(now + 2000);
    expect(await pace.take(stopping.signal)).toBeLessThanOrEqual(systemClock.monotonic());
  });

  test('tells whoever waits that Redis failed, and goes on with the next', async () => {
    let fails = true;
    const head = {
      takePace: (what: string, places: { count: number; perSecond: number }) =>
        fails ? Promise.reject(new Error('no Redis')) : ledger.state.takePace(what, places),
    };
    const pace = openMovingPace(head, systemClock, { what: 'pay', perSecond: async () => 100, lead });
    await expect(pace.take()).rejects.toThrow('no Redis');
    fails = false;
    expect(await pace.take()).toBeLessThanOrEqual(systemClock.monotonic() + 100);
  });
});
