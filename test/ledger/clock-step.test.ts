import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openLedgerState } from '../../src/ledger/season/ledger-state.ts';
import { openSlices } from '../../src/ledger/slices.ts';
import { useTestRedis } from '../support/redis.ts';
import { armPayout, freshRows, movePayout, newLedger, payingRun, sendTo, useArming } from './test-ledger.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** The clock of Redis was ahead by that for a minute. */
const AHEAD_MS = 400 * DAY_MS;

const server = await useTestRedis();
const arming = await useArming(server);

/** A clock that steps back is like all that was noted by it standing an hour later: only that can be done to a Redis here. */
async function stepBack(redis: Redis, prefix: string): Promise<void> {
  const later = Date.now() + HOUR_MS;
  await redis.hincrby(`${prefix}:head`, 'clockSeen', HOUR_MS);
  await redis.set(`${prefix}:turn:sweep`, '1', 'PX', HOUR_MS + 2000);
  await redis.set(`${prefix}:pace:pay`, String(later * 1000), 'PX', HOUR_MS);
  await redis.set(`${prefix}:wait`, '1', 'PX', HOUR_MS + 1000);
  for (const set of await redis.keys(`${prefix}:*`)) {
    if ((await redis.type(set)) !== 'zset') continue;
    for (const member of await redis.zrange(set, 0, -1)) await redis.zincrby(set, HOUR_MS, member);
  }
}

/** A Redis whose scripts answer with the time of a clock that is ahead. */
function withClock(redis: Redis, clock: { readonly aheadMs: number }): Redis {
  const evalsha = async (...args: Parameters<Redis['evalsha']>): Promise<unknown> => {
    const reply = await redis.evalsha(...args);
    return Array.isArray(reply) ? [String(Number(reply[0]) + clock.aheadMs), ...reply.slice(1)] : reply;
  };
  return new Proxy(redis, {
    get: (target, name): unknown => (name === 'evalsha' ? evalsha : Reflect.get(target, name)),
  });
}

/** A Redis for somebody who dies after so many scripts. */
function dyingAfter(redis: Redis, scripts: number): Redis {
  let left = scripts;
  const evalsha = async (...args: Parameters<Redis['evalsha']>): Promise<unknown> => {
    if (left-- === 0) throw new Error('it died');
    return await redis.evalsha(...args);
  };
  return new Proxy(redis, {
    get: (target, name): unknown => (name === 'evalsha' ? evalsha : Reflect.get(target, name)),
  });
}

describe('a clock of Redis that steps back by an hour', () => {
  test('keeps nothing waiting: turns, paces, slices and due payouts go on', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const { state: head, slices, payouts } = ledger;
    const runId = await payingRun(ledger, freshRows(3));
    await slices.feed(runId, { seen: 0, cursor: 5, slices: [{ from: 2, to: 4 }] });
    const unknown = await armPayout(ledger, { runId, line: 2 });
    await movePayout(ledger, unknown, { to: 'unknown', dueMs: 0 });
    const accepted = await armPayout(ledger, { runId, line: 3 });
    await movePayout(ledger, accepted, { to: 'accepted', dueMs: 0 });
    expect(await head.lookAtClock()).toBe(0);
    expect(await head.takeTurn('sweep', 2000)).toBe(true);

    await stepBack(server.redis, prefix);
    expect(await slices.takeDue({ look: 9, track: 9 })).toEqual([]);
    expect(await head.takeTurn('sweep', 2000)).toBe(true);
    expect(await head.takeTurn('sweep', 2000)).toBe(false);
    expect(await head.lookAtClock()).toBeGreaterThan(HOUR_MS - 60_000);
    expect(new Set((await slices.takeDue({ look: 9, track: 9 })).map(({ line }) => line))).toEqual(new Set([2, 3]));
    expect((await slices.take(runId, 9)).map(({ from }) => from)).toContain(2);
    expect(await head.takePace('pay', { count: 1, perSecond: 10 })).toBeLessThan(1000);
    expect((await payouts.read({ runId, line: 4 })).waitMs).toBe(0);
    expect((await head.read()).clockStep?.ms).toBeGreaterThan(HOUR_MS - 60_000);
    expect(await head.lookAtClock()).toBe(0);
  });

  test('keeps nothing waiting either when nobody looked at the clock while it was ahead', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const runId = await payingRun(ledger, freshRows(1));
    const unknown = await armPayout(ledger, { runId, line: 2 });
    await movePayout(ledger, unknown, { to: 'unknown', dueMs: 0 });
    await stepBack(server.redis, prefix);
    expect(await ledger.state.lookAtClock()).toBeGreaterThan(HOUR_MS - 60_000);
    expect((await ledger.slices.takeDue({ look: 9, track: 9 })).map(({ line }) => line)).toEqual([2]);
  });

  test('keeps nothing waiting when whoever looked at it dies before all is due again', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const runId = await payingRun(ledger, freshRows(1));
    const unknown = await armPayout(ledger, { runId, line: 2 });
    await movePayout(ledger, unknown, { to: 'unknown', dueMs: 0 });
    await stepBack(server.redis, prefix);
    const dying = openLedgerState(dyingAfter(server.redis, 1), ledgerKeys(prefix));
    await expect(dying.lookAtClock()).rejects.toThrow('it died');
    expect(await ledger.state.lookAtClock()).toBeGreaterThan(HOUR_MS - 60_000);
    expect((await ledger.slices.takeDue({ look: 9, track: 9 })).map(({ line }) => line)).toEqual([2]);
    expect(await ledger.state.lookAtClock()).toBe(0);
  });

  test('keeps no payout back that was given out right before', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const runId = await payingRun(ledger, freshRows(1));
    const unknown = await armPayout(ledger, { runId, line: 2 });
    await movePayout(ledger, unknown, { to: 'unknown', dueMs: 0 });
    const clock = { aheadMs: HOUR_MS };
    const slices = openSlices(withClock(server.redis, clock), ledgerKeys(prefix));
    const due = async () => (await slices.takeDue({ look: 9, track: 9 })).map(({ line }) => line);
    expect(await due()).toEqual([2]);
    clock.aheadMs = 0;
    await server.redis.hset(`${prefix}:head`, 'clockSeen', Date.now() + HOUR_MS);
    expect(await ledger.state.lookAtClock()).toBeGreaterThan(0);
    expect(await due()).toEqual([2]);
    expect(await due()).toEqual([]);
  });

  test('is told from two looks of one moment, and from a clock that goes on', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    await server.redis.hset(`${prefix}:head`, 'clockSeen', Date.now() + 4000);
    expect(await ledger.state.lookAtClock()).toBe(0);
    await server.redis.hset(`${prefix}:head`, 'clockSeen', Date.now() - HOUR_MS);
    expect(await ledger.state.lookAtClock()).toBe(0);
    expect((await ledger.state.read()).clockStep).toBeNull();
  });
});

describe('a clock of Redis that was ahead for a minute, and is right again', () => {
  test('does not end the looks for returned payments', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const runId = await payingRun(ledger, freshRows(1));
    await sendTo(ledger, { runId, line: 2 }, 'completed');
    await ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
    expect(await ledger.runs.takeWatch(60 * DAY_MS, Date.now())).toEqual([]);
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
