import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openRecording } from '../../src/ledger/runs/recording.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  allRows,
  armPayout,
  claimRun,
  newLedger,
  payingRun,
  REMEMBER_MS,
  recordOf,
  rowOf,
  sendTo,
  useArming,
} from './test-ledger.ts';

const DAY_MS = 86_400_000;

const server = await useTestRedis();
const arming = await useArming(server);

/** A Redis whose scripts answer with the time of a clock that is ahead (test/ledger/clock-step.test.ts). */
function withClock(redis: Redis, clock: { readonly aheadMs: number }): Redis {
  const evalsha = async (...args: Parameters<Redis['evalsha']>): Promise<unknown> => {
    const reply = await redis.evalsha(...args);
    return Array.isArray(reply) ? [String(Number(reply[0]) + clock.aheadMs), ...reply.slice(1)] : reply;
  };
  return new Proxy(redis, {
    get: (target, name): unknown => (name === 'evalsha' ? evalsha : Reflect.get(target, name)),
  });
}

describe('the reference of a payout that was paid a minute ago', () => {
  test('is not free for a file that comes while the clock of Redis is ahead by more than PAYRUN_REMEMBER', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const first = await payingRun(ledger, [rowOf(2)]);
    await sendTo(ledger, { runId: first, line: 2 }, 'completed');
    const second = await claimRun(ledger, [rowOf(2, { reference: rowOf(2).reference })]);
    // A clock that is ahead by two remembering times (400 d each, unless set).
    const record = openRecording(withClock(server.redis, { aheadMs: 2 * REMEMBER_MS }), ledgerKeys(prefix));
    expect(await record(second, [recordOf(rowOf(2))], REMEMBER_MS)).toBe('recorded');
    expect((await allRows(ledger, second)).map((row) => ('row' in row ? row.state : 'refused'))).toEqual(['held']);
    expect(REMEMBER_MS).toBeLessThanOrEqual(DAY_MS);
  });

  test('is not armed for it once the clock is right again', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const first = await payingRun(ledger, [rowOf(2)]);
    await sendTo(ledger, { runId: first, line: 2 }, 'completed');
    const second = await claimRun(ledger, [rowOf(2)]);
    const record = openRecording(withClock(server.redis, { aheadMs: 2 * REMEMBER_MS }), ledgerKeys(prefix));
    await record(second, [recordOf(rowOf(2))], REMEMBER_MS);
    await ledger.runs.move(second, { to: 'paying', actor: 'test', reason: '' });
    await expect(armPayout(ledger, { runId: second, line: 2 })).rejects.toThrow(/not armed/);
  });

  test('is not free because it was paid while the clock of Redis was far behind', async () => {
    const { ledger, prefix } = await newLedger({ redis: server.redis, arming });
    const first = await payingRun(ledger, [rowOf(2)]);
    await sendTo(ledger, { runId: first, line: 2 }, 'completed');
    // A host that starts with the clock of its last snapshot, or of 1970: all times of the payout are early.
    const key = `${prefix}:run:${first}:rows:0`;
    const text = await server.redis.hget(key, '2');
    const early = (text ?? '').replaceAll(/\b1[0-9]{12}\b/g, (time) => String(Number(time) - 2 * REMEMBER_MS));
    expect(early).not.toBe(text);
    await server.redis.hset(key, '2', early);
    const second = await payingRun(ledger, [rowOf(2)]);
    expect((await allRows(ledger, second)).map((row) => ('row' in row ? row.state : 'refused'))).toEqual(['held']);
  });
});
