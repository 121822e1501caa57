import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import { readDurability } from '../../src/redis/durability.ts';
import { openDurabilityWatch, weakTimesOf } from '../../src/runs/safety/durability-watch.ts';
import { newLedger, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();
const arming = await useArming(server);

async function openWatch(accepted: readonly string[] = []) {
  const { ledger } = await newLedger({ redis: server.redis, arming });
  let monotonicMs = 0;
  const clock = { ...systemClock, monotonic: () => monotonicMs };
  const read = () => readDurability(server.redis);
  const watch = openDurabilityWatch({ read, accepted, ledger, clock, log: silentLog });
  return { ledger, watch, pass: (ms: number) => (monotonicMs += ms) };
}

describe('a Redis that becomes less durable while payrun works', () => {
  test('is noticed within a minute, and everything is halted; the report says from when to when', async () => {
    const { ledger, watch, pass } = await openWatch();
    const createdAt = Date.now();
    await server.redis.config('SET', 'appendfsync', 'everysec');
    await watch.look();
    expect((await ledger.state.read()).halt).toBeNull();
    pass(60_000);
    await watch.look();
    expect((await ledger.state.read()).halt).toBe('Redis became less durable: appendfsync is everysec, must be always');
    await server.redis.config('SET', 'appendfsync', 'always');
    const [still] = weakTimesOf({ createdAt, finishedAt: null }, await ledger.state.weakTimes());
    expect(still).toMatch(/^redis appendfsync from \S+Z on$/);
    await watch.look(true);
    const times = await ledger.state.weakTimes();
    expect(weakTimesOf({ createdAt, finishedAt: null }, times)).toEqual([
      expect.stringMatching(/^redis appendfsync from \S+Z to \S+Z$/),
    ]);
    expect(weakTimesOf({ createdAt: 0, finishedAt: createdAt - 60_000 }, times)).toEqual([]);
    expect(weakTimesOf({ createdAt: Date.now() + 60_000, finishedAt: null }, times)).toEqual([]);
  });

  test('is no news where that was accepted at the start', async () => {
    const { ledger, watch } = await openWatch(['appendfsync']);
    await server.redis.config('SET', 'appendfsync', 'everysec');
    await watch.look(true);
    await server.redis.config('SET', 'appendfsync', 'always');
    expect((await ledger.state.read()).halt).toBeNull();
    expect(await ledger.state.weakTimes()).toEqual([]);
  });
});
