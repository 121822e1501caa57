import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { connectArming, freshRows, newLedger, payingRun, sendTo } from './test-ledger.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The clock of Redis was ahead by that for a minute. */
const AHEAD_MS = 400 * DAY_MS;

let server: TestRedis;
let arming: Redis;
beforeAll(async () => {
  server = await startTestRedis();
  arming = await connectArming(server);
});
afterAll(async () => {
  arming.disconnect();
  await server.stop();
});

describe('a clock of Redis that was ahead for a minute, and is right again', () => {
  test('does not end the looks for returned payments', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const runId = await payingRun(ledger, freshRows(1));
    await sendTo(ledger, { runId, line: 2 }, 'completed');
    await ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
    expect(await ledger.runs.takeWatch(60 * DAY_MS)).toEqual([]);
    // As a sweep in that minute leaves it: the next look is a day after that time. (With PAYRUN_WATCH_RETURNS below it, it is gone.)
    const key = `${prefix}:watch`;
    const score = await server.redis.zscore(key, runId);
    await server.redis.zadd(key, Number(score) + AHEAD_MS, runId);
    await server.redis.hset(`${prefix}:head`, 'clockSeen', Date.now() + AHEAD_MS);
    expect(await ledger.state.lookAtClock()).toBeGreaterThan(0);
    const next = Number(await server.redis.zscore(key, runId));
    expect(next).toBeLessThanOrEqual(Date.now() + DAY_MS);
  });
});
