import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openLedgerState } from '../../src/ledger/season/ledger-state.ts';
import { Refusal } from '../../src/refusal.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeEach(async () => {
  server = await startTestRedis();
});
afterEach(async () => {
  await server.stop();
});

const CLAIM = { knownInstance: '', newInstance: 'i1', service: 'sandbox', safety: 'test', requireMatch: true };

function open(prefix: string): Promise<string> {
  return openLedgerState(server.redis, ledgerKeys(prefix)).open(CLAIM);
}

describe('a Redis database', () => {
  test('that is empty becomes one for ledgers, and further ledgers may join the first', async () => {
    expect(await open(freshPrefix())).toBe('i1');
    expect(await open(freshPrefix())).toBe('i1');
  });

  test('that is opened by two at once while it is empty serves both', async () => {
    expect(await Promise.all([open('{a}'), open('{b}')])).toEqual(['i1', 'i1']);
  });

  test.each(['exists', 'dbsize'] as const)(
    'that becomes one by another process right after %s was asked is joined',
    async (asked) => {
      const { redis } = server;
      vi.spyOn(redis, asked).mockImplementationOnce(async () => {
        const answer = await (asked === 'exists' ? redis.exists('payrun-database') : redis.dbsize());
        await open('{other}');
        return answer;
      });
      expect(await open('{payrun}')).toBe('i1');
    },
  );

  test('that is empty stays so when the data directory belongs to another ledger', async () => {
    const head = openLedgerState(server.redis, ledgerKeys('{payrun}'));
    await expect(head.open({ ...CLAIM, knownInstance: 'lost' })).rejects.toThrow('does not hold');
    expect(await server.redis.keys('*')).toEqual([]);
  });

  test('that holds somebody else’s data is refused, and nothing is written to it', async () => {
    await server.redis.mset('user:1', 'x', 'bull:foo:meta', '1');
    await expect(open('{payrun}')).rejects.toThrow(Refusal);
    expect((await server.redis.keys('*')).toSorted()).toEqual(['bull:foo:meta', 'user:1']);
  });

  test('in which our key is somebody else’s is refused with its name, and nothing is written to it', async () => {
    await server.redis.set('{payrun}:head', 'hello');
    await expect(open('{payrun}')).rejects.toThrow('{payrun}:head');
    expect(await server.redis.keys('*')).toEqual(['{payrun}:head']);
  });

  test('in which our key is a hash of somebody else’s is refused, and nothing is written to it', async () => {
    await server.redis.hset('{payrun}:head', 'a', 'b');
    await expect(open('{payrun}')).rejects.toThrow(Refusal);
    expect(await server.redis.hgetall('{payrun}:head')).toEqual({ a: 'b' });
  });
});
