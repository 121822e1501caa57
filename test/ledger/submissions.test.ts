import { expect, test } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openSubmissions } from '../../src/ledger/ledger.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const DAY_MS = 24 * 60 * 60_000;

const server = await useTestRedis();

test('a name of a handing in is for what came first, for 30 days from then on, and then for something else', async () => {
  const keys = ledgerKeys(freshPrefix());
  const submissions = openSubmissions(server.redis, keys);
  expect(await submissions.claim('march', 'a')).toBe('a');
  const lifeMs = await server.redis.pttl(keys.submission('march'));
  expect(lifeMs).toBeGreaterThan(29 * DAY_MS);
  expect(lifeMs).toBeLessThanOrEqual(30 * DAY_MS);
  await server.redis.pexpire(keys.submission('march'), DAY_MS);
  expect(await submissions.claim('march', 'b')).toBe('a');
  // Sent again it lives no longer.
  expect(await server.redis.pttl(keys.submission('march'))).toBeLessThanOrEqual(DAY_MS);
  await server.redis.del(keys.submission('march'));
  expect(await submissions.claim('march', 'b')).toBe('b');
});
