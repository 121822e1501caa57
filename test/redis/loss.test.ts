import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/log.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { isRedisLoss, openFaultLog } from '../../src/redis/loss.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();

/** What a command ends with. */
async function faultOf(command: Promise<unknown>): Promise<unknown> {
  return await command.then(
    () => 'none',
    (error: unknown) => error,
  );
}

async function connected(kind: 'commands' | 'arming') {
  const redis = await connectRedis({ socket: server.socket }, { name: 'test', kind, commandTimeoutMs: 200 });
  onTestFinished(() => redis.disconnect());
  return redis;
}

describe('it is Redis that failed', () => {
  test('when the connection is closed, or there is none', async () => {
    const [commands, arming] = [await connected('commands'), await connected('arming')];
    commands.disconnect();
    arming.disconnect();
    expect(isRedisLoss(await faultOf(commands.ping()))).toBe(true);
    expect(isRedisLoss(await faultOf(arming.ping()))).toBe(true);
  });

  test('when it does not answer in time', async () => {
    const redis = await connected('commands');
    expect(isRedisLoss(await faultOf(redis.blpop('nothing', 5)))).toBe(true);
  });

  test('when it has no room, is a replica, or does not let us in', async () => {
    const redis = await connected('commands');
    await server.redis.config('SET', 'maxmemory', '1');
    expect(isRedisLoss(await faultOf(redis.set('a', 'b')))).toBe(true);
    await server.redis.config('SET', 'maxmemory', '0');
    await server.redis.acl('SETUSER', 'reader', 'on', 'nopass', '+ping', '+select', '+client', '+auth');
    await redis.auth('reader', 'x');
    expect(isRedisLoss(await faultOf(redis.set('a', 'b')))).toBe(true);
    expect(isRedisLoss(await faultOf(redis.auth('nobody', 'x')))).toBe(true);
    await server.redis.replicaof('127.0.0.1', 1);
    const other = await connected('arming');
    expect(isRedisLoss(await faultOf(other.set('a', 'b')))).toBe(true);
    await server.redis.replicaof('NO', 'ONE');
  });
});

test('a wrong command, or a fault of another kind, is no loss of Redis', async () => {
  const redis = await connected('commands');
  await redis.set('text', 'x');
  expect(isRedisLoss(await faultOf(redis.lpush('text', 'y')))).toBe(false);
  expect(isRedisLoss(await faultOf(redis.eval('return redis.call("NOTHING")', 0)))).toBe(false);
  for (const other of [
    new Error('no'),
    'Connection is closed.',
    null,
    undefined,
    { name: 'MaxRetriesPerRequestError' },
  ]) {
    expect(isRedisLoss(other)).toBe(false);
  }
});

test('the same fault of the connections is logged once a minute, another one at once', () => {
  let now = 0;
  const said: unknown[] = [];
  const fault = openFaultLog({
    clock: { monotonic: () => now },
    log: { ...silentLog, warn: (_message, fields) => said.push(fields?.['error']) },
  });
  const [refused, reset] = ['ECONNREFUSED', 'ECONNRESET'].map((code) => Object.assign(new Error(code), { code }));
  for (const error of [reset, refused, refused, refused]) if (error !== undefined) fault(error);
  expect(said).toEqual([reset, refused]);
  now = 60_000;
  for (const error of [refused, refused]) if (error !== undefined) fault(error);
  expect(said).toEqual([reset, refused, refused]);
});
