import { beforeEach, describe, expect, test } from 'vitest';
import { openTokenStore } from '../../src/ledger/people/token-store.ts';
import type { TokenStore } from '../../src/service/token.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const redis = await useTestRedis();
let keys: { token: string; lock: string };
let store: TokenStore;

beforeEach(() => {
  const prefix = freshPrefix();
  keys = { token: `${prefix}:token`, lock: `${prefix}:token-lock` };
  store = openTokenStore(redis.redis, keys);
});

describe('the stored token', () => {
  test('is nothing before the first', async () => {
    expect(await store.read()).toBeNull();
  });

  test('comes back byte for byte and ends by itself', async () => {
    const sealed = Uint8Array.from({ length: 256 }, (_value, index) => index);
    await store.write(sealed, 60_000);
    expect([...((await store.read()) ?? [])]).toEqual([...sealed]);
    expect(await redis.redis.pttl(keys.token)).toBeGreaterThan(0);
    await store.write(sealed, 1);
    await expect.poll(() => store.read()).toBeNull();
  });
});

describe('the right to ask', () => {
  test('belongs to one of many that want it at once', async () => {
    const owners = Array.from({ length: 20 }, (_value, index) => `owner-${index}`);
    const got = await Promise.all(owners.map((owner) => store.lock(owner, 60_000)));
    expect(got.filter(Boolean)).toHaveLength(1);
  });

  test('is taken again by its owner, as when a command is sent twice', async () => {
    expect(await store.lock('a', 60_000)).toBe(true);
    expect(await store.lock('a', 60_000)).toBe(true);
    expect(await store.lock('b', 60_000)).toBe(false);
  });

  test('is given back by its owner only', async () => {
    await store.lock('a', 60_000);
    await store.unlock('b');
    expect(await store.lock('b', 60_000)).toBe(false);
    await store.unlock('a');
    expect(await store.lock('b', 60_000)).toBe(true);
    await store.unlock('a');
    expect(await redis.redis.get(keys.lock)).toBe('b');
  });

  test('ends by itself', async () => {
    await store.lock('a', 1);
    await expect.poll(() => store.lock('b', 60_000)).toBe(true);
  });
});
