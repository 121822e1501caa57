import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';
import { DURABLE_SETTINGS, readDurability, requireDurability } from '../../src/redis/durability.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();

const WRONG: Readonly<Record<(typeof DURABLE_SETTINGS)[number][0], string>> = {
  appendonly: 'no',
  appendfsync: 'everysec',
  'no-appendfsync-on-rewrite': 'yes',
  'aof-load-truncated': 'yes',
  'maxmemory-policy': 'allkeys-lru',
};

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function withSettings(settings: Readonly<Record<string, string>>, check: () => Promise<void>): Promise<void> {
  const before = await Promise.all(
    Object.keys(settings).map(async (name) => (await server.redis.config('GET', name)) as [string, string]),
  );
  for (const [name, value] of Object.entries(settings)) await server.redis.config('SET', name, value);
  try {
    await check();
  } finally {
    for (const [name, value] of before) await server.redis.config('SET', name, value);
  }
}

describe('durability', () => {
  test('a durable master has no findings', async () => {
    await expect(readDurability(server.redis)).resolves.toEqual([]);
    await expect(requireDurability(server.redis, 'required')).resolves.toEqual([]);
  });

  test.each(DURABLE_SETTINGS)(
    '%s other than %s is found, refused by name, and passes when overridden',
    async (setting, wanted) => {
      const found = WRONG[setting];
      await withSettings({ [setting]: found }, async () => {
        const finding = { setting, found, wanted, remedy: expect.stringContaining(`CONFIG SET ${setting} ${wanted}`) };
        await expect(readDurability(server.redis)).resolves.toEqual([finding]);
        await expect(requireDurability(server.redis, 'overridden')).resolves.toEqual([finding]);
        await expect(requireDurability(server.redis, 'required')).rejects.toMatchObject({
          kind: 'usage',
          message: expect.stringContaining(`${setting} is ${found}, must be ${wanted}`),
          remedy: expect.stringContaining('PAYRUN_REDIS_DURABILITY'),
        });
      });
    },
  );

  test('all that is wrong is named at once', async () => {
    await withSettings({ appendfsync: 'no', 'maxmemory-policy': 'volatile-lru' }, async () => {
      await expect(requireDurability(server.redis, 'required')).rejects.toMatchObject({
        message: expect.stringMatching(/appendfsync is no.*\n.*maxmemory-policy is volatile-lru/),
      });
    });
  });

  test('each remedy stands on a line of its own', async () => {
    await withSettings({ appendfsync: 'no', 'maxmemory-policy': 'volatile-lru' }, async () => {
      const refused = await requireDurability(server.redis, 'required').catch((error: unknown) => error);
      expect(refused).toMatchObject({
        remedy: expect.stringMatching(
          /^Set it with: redis-cli -u "\$REDIS_URL" CONFIG SET appendfsync always,.*\nSet it with: redis-cli -u "\$REDIS_URL" CONFIG SET maxmemory-policy noeviction,.*\nPAYRUN_REDIS_DURABILITY=/,
        ),
      });
    });
  });

  test('an ACL that forbids CONFIG is a finding for each setting that cannot be read', async () => {
    await server.redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '+@all', '-config');
    const redis = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'commands' });
    try {
      await redis.auth('limited', 'secret');
      const findings = await readDurability(redis);
      expect(findings.map(({ setting, found }) => [setting, found])).toEqual(
        DURABLE_SETTINGS.map(([setting]) => [setting, 'unreadable']),
      );
      expect(findings[0]?.remedy).toContain('+config|get');
    } finally {
      redis.disconnect();
    }
  });

  test('a replica is refused, and a master with a replica must wait for it', async () => {
    const port = await freePort();
    await server.redis.config('SET', 'port', String(port));
    await server.redis.config('SET', 'repl-diskless-sync-delay', '0');
    const replica = await useTestRedis('--replicaof', `127.0.0.1 ${port}`);
    try {
      await expect
        .poll(() => server.redis.info('replication'), { timeout: 60_000 })
        .toMatch(/connected_slaves:1\r\n(.|\r\n)*state=online/);
      await expect(readDurability(replica.redis)).resolves.toMatchObject([
        { setting: 'role', found: 'slave', wanted: 'master' },
      ]);
      await expect(readDurability(server.redis)).resolves.toMatchObject([
        { setting: 'min-replicas-to-write', found: '0', wanted: '1' },
      ]);
      await server.redis.config('SET', 'min-replicas-to-write', '1');
      await expect(readDurability(server.redis)).resolves.toEqual([]);
    } finally {
      await server.redis.config('SET', 'min-replicas-to-write', '0');
      await replica.stop();
      await server.redis.config('SET', 'port', '0');
    }
  });

  test('nothing is written', async () => {
    await withSettings({ appendfsync: 'no' }, async () => {
      await server.redis.config('RESETSTAT');
      await requireDurability(server.redis, 'overridden');
      const calls = [...(await server.redis.info('commandstats')).matchAll(/cmdstat_([^:]+):/g)].map(
        ([, name]) => name,
      );
      expect(new Set(calls)).toEqual(new Set(['config|resetstat', 'config|get', 'info']));
      expect(await server.redis.dbsize()).toBe(0);
    });
  });
});
