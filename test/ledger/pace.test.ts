import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerState } from '../../src/ledger/season/ledger-state.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { useTestRedis } from '../support/redis.ts';
import { newLedger, PATIENCE, type TestLedger } from './test-ledger.ts';

/** As much lost time as the pace makes up for. */
const MADE_UP_MICROSECONDS_MAX = 25_000;

const server = await useTestRedis();
let second: Redis;
let desk: TestLedger;
let heads: readonly LedgerState[];

beforeAll(async () => {
  second = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'commands' });
});
afterAll(async () => {
  second.disconnect();
});
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming: server.redis });
  heads = [
    desk.ledger.state,
    openLedger({ redis: second, arming: second }, { prefix: desk.prefix, dataDirId: 'dir-a' }).state,
  ];
});

/** When the next place would be, in microseconds of Redis's own clock. */
async function nextPlace(what = 'pay'): Promise<number> {
  return Number(await desk.redis.get(`${desk.prefix}:pace:${what}`));
}

async function redisTime(): Promise<number> {
  const [seconds, microseconds] = await desk.redis.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

/** Milliseconds until the first of the places. */
async function takePlaces(
  head: LedgerState,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<number> {
  return await head.takePace('pay', { count, perSecond });
}

describe('a shared pace', () => {
  test('gives the first place at once and the next ones an interval apart', async () => {
    expect(await takePlaces(desk.ledger.state, { count: 1, perSecond: 2 })).toBeLessThanOrEqual(0);
    const after = await nextPlace();
    await takePlaces(desk.ledger.state, { count: 3, perSecond: 2 });
    expect(await nextPlace()).toBe(after + 3 * 500_000);
  });

  test('never lets places of two connections be closer than the interval, and holds the mean', async () => {
    const interval = 1_000_000;
    await takePlaces(desk.ledger.state, { count: 1, perSecond: 1 });
    const begin = await nextPlace();
    const counts = Array.from({ length: 40 }, (_value, index) => 1 + (index % 3));
    const waits = await Promise.all(
      counts.map(async (count, index) => {
        const head = heads[index % 2];
        if (head === undefined) throw new Error('no head');
        return { count, ms: await takePlaces(head, { count, perSecond: 1 }) };
      }),
    );
    const places = counts.reduce((sum, count) => sum + count, 0);
    expect(await nextPlace()).toBe(begin + places * interval);
    const waiting = waits.toSorted((a, b) => a.ms - b.ms);
    // A wait is counted from its own call, a little later than the one before: in places of a second that is nothing.
    const gaps = waiting.slice(1).map(({ ms }, index) => Math.round((ms - (waiting[index]?.ms ?? 0)) / 1000));
    expect(gaps).toEqual(waiting.slice(0, -1).map(({ count }) => count));
  });

  test('makes up for places that nobody took, but for a few milliseconds only', async () => {
    await takePlaces(desk.ledger.state, { count: 1, perSecond: 1000 });
    const first = await nextPlace();
    await expect.poll(redisTime, PATIENCE).toBeGreaterThan(first + 2 * MADE_UP_MICROSECONDS_MAX);
    const now = await redisTime();
    const ms = await takePlaces(desk.ledger.state, { count: 5, perSecond: 1000 });
    expect(ms).toBeLessThanOrEqual(0);
    expect(ms).toBeGreaterThanOrEqual(-MADE_UP_MICROSECONDS_MAX / 1000);
    expect(await nextPlace()).toBeGreaterThanOrEqual(now + 5000 - MADE_UP_MICROSECONDS_MAX);
  });

  test('is never above its rate by rounding', async () => {
    const { state: head } = desk.ledger;
    const rates: number[] = [];
    for (const perSecond of [3, 7, 64, 700, 70_000, 96_000]) {
      await desk.redis.del(`${desk.prefix}:pace:pay`);
      await takePlaces(head, { count: 1, perSecond });
      await desk.redis.incrby(`${desk.prefix}:pace:pay`, 60_000_000);
      const begin = await nextPlace();
      await takePlaces(head, { count: 1000, perSecond });
      if ((await nextPlace()) - begin < 1_000_000_000 / perSecond) rates.push(perSecond);
    }
    expect(rates).toEqual([]);
  });

  test('of one kind leaves the others alone', async () => {
    await desk.ledger.state.takePace('pay', { count: 100, perSecond: 1 });
    expect(await desk.ledger.state.takePace('track', { count: 1, perSecond: 1 })).toBeLessThanOrEqual(0);
  });
});
