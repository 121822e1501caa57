import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { letsAnybodyIn } from '../../src/redis/connect.ts';
import { EXIT } from '../../src/refusal.ts';
import { type NetworkRedis, startNetworkRedis } from '../support/network-redis.ts';
import { startTestRedis } from '../support/redis.ts';

const USER = ['--user', 'payrun', 'on', '>secret', '~*', '&*', '+@all'];

let open: NetworkRedis;
let half: NetworkRedis;
let guarded: NetworkRedis;
let closed: NetworkRedis;

beforeAll(async () => {
  [open, half, guarded, closed] = await Promise.all([
    startNetworkRedis(),
    startNetworkRedis(...USER),
    startNetworkRedis('--requirepass', 'secret'),
    startNetworkRedis('--user', 'default', 'off', ...USER),
  ]);
});
afterAll(() => Promise.all([open, half, guarded, closed].map((redis) => redis.stop())));

describe('a Redis over the network', () => {
  test('lets anybody in when it has no password, whatever our address says', async () => {
    expect(await letsAnybodyIn({ url: `redis://${open.host}` })).toBe(true);
    expect(await letsAnybodyIn({ url: `redis://:secret@${open.host}/3` })).toBe(true);
  });

  test('lets anybody in when only our own user has a password', async () => {
    expect(await letsAnybodyIn({ url: `redis://payrun:secret@${half.host}` })).toBe(true);
  });

  test('lets nobody in without a password or a user of its own', async () => {
    expect(await letsAnybodyIn({ url: `redis://:secret@${guarded.host}/3` })).toBe(false);
    expect(await letsAnybodyIn({ url: `redis://payrun:secret@${closed.host}` })).toBe(false);
  });

  test('that does not answer is refused, and no password is shown', async () => {
    await expect(letsAnybodyIn({ url: 'redis://:secret@127.0.0.1:1' })).rejects.toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.not.stringContaining('secret'),
    });
  });
});

test('a Redis on a socket is not asked', async () => {
  const server = await startTestRedis();
  try {
    expect(await letsAnybodyIn({ url: server.url })).toBe(false);
    expect(await letsAnybodyIn({ socket: server.socket })).toBe(false);
  } finally {
    await server.stop();
  }
});
