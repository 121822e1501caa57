import { once } from 'node:events';
import { createServer as createTcpServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ConnectOptions, connectRedis, type RedisAddress } from '../../src/redis/connect.ts';
import { requireDurability } from '../../src/redis/durability.ts';
import { isRedisLoss } from '../../src/redis/loss.ts';
import { Refusal } from '../../src/refusal.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';

const PASSWORD = 'hunter-2-secret';
/** Longer than a lost connection takes to be there again. */
const FORGOTTEN_AFTER_MS = 30_000;

let server: TestRedis;
let guarded: TestRedis;
const connections: Redis[] = [];
const listeners: Server[] = [];

beforeAll(async () => {
  [server, guarded] = await Promise.all([startTestRedis(), startTestRedis()]);
  await guarded.redis.call('ACL', 'SETUSER', 'payrun', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
  await guarded.redis.config('SET', 'requirepass', PASSWORD);
});
afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect();
  for (const listener of listeners.splice(0)) listener.close();
});
afterAll(async () => {
  await Promise.all([server.stop(), guarded.stop()]);
});

async function connect(address: RedisAddress, options: Partial<ConnectOptions> = {}): Promise<Redis> {
  const redis = await connectRedis(address, { name: 'test', kind: 'commands', ...options });
  connections.push(redis);
  return redis;
}

async function refusalOf(address: RedisAddress, options: Partial<ConnectOptions> = {}): Promise<Refusal> {
  const error: unknown = await connect(address, options).catch((refused: unknown) => refused);
  if (!(error instanceof Refusal)) throw new Error('the connection was not refused', { cause: error });
  return error;
}

/** A server on loopback that answers each command with what `reply` says; undefined cuts the connection. */
async function listen(reply: (command: string) => string | undefined): Promise<number> {
  const listener = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (text: string) => {
      for (const [, command = ''] of text.matchAll(/\*[0-9]+\r\n\$[0-9]+\r\n([a-z]+)\r\n/gi)) {
        const answer = reply(command.toLowerCase());
        if (answer === undefined) socket.destroy();
        else socket.write(answer);
      }
    });
  });
  listeners.push(listener);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Greets like Redis; cuts the connection at each INCR and counts them. */
async function listenAndCut(): Promise<{ url: string; seen: () => number; greeted: () => number }> {
  let seen = 0;
  let greeted = 0;
  const port = await listen((command) => {
    if (command === 'info') return '$9\r\nloading:0\r\n';
    if (command === 'client') return '+OK\r\n';
    if (command === 'ping') return '+PONG\r\n';
    if (command === 'get') {
      greeted += 1;
      return '+here\r\n';
    }
    seen += 1;
    return undefined;
  });
  return { url: `redis://127.0.0.1:${port}`, seen: () => seen, greeted: () => greeted };
}

describe('a connection', () => {
  test('is known to the server by its name', async () => {
    const redis = await connect({ socket: server.socket }, { name: 'payrun-reader' });
    expect(await redis.client('LIST')).toContain('name=payrun-reader');
  });

  test('takes a unix:// address with a database', async () => {
    const key = `${freshPrefix()}:key`;
    const redis = await connect({ url: `${server.url}?db=3` });
    await redis.set(key, 'there');
    expect(await server.redis.get(key)).toBeNull();
    expect(await redis.get(key)).toBe('there');
  });

  test('takes user and password, escaped as in any address', async () => {
    const port = await listen((command) => (command === 'info' ? '$9\r\nloading:0\r\n' : '+OK\r\n'));
    const redis = await connect({ url: `redis://user:p%25%3Aword@127.0.0.1:${port}/2` });
    expect(redis.options).toMatchObject({ username: 'user', password: 'p%:word', db: 2 });
  });

  test('speaks TLS to a rediss:// address', async () => {
    const firstByte = new Promise<number | undefined>((settle) => {
      const listener = createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', (bytes) => {
          settle(bytes[0]);
          socket.destroy();
        });
      });
      listeners.push(listener);
      listener.listen(0, '127.0.0.1', () => {
        const address = listener.address();
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        refusalOf({ url: `rediss://127.0.0.1:${port}` }).catch(() => {});
      });
    });
    expect(await firstByte).toBe(0x16);
  });

  test('writes nothing to a Redis that is not ours', async () => {
    const before = await server.redis.info('persistence');
    for (const kind of ['commands', 'arming', 'jobs'] as const) {
      await requireDurability(await connect({ socket: server.socket }, { kind }), 'required');
    }
    const changes = /rdb_changes_since_last_save:[0-9]+/;
    expect(changes.exec(await server.redis.info('persistence'))?.[0]).toBe(changes.exec(before)?.[0]);
  });

  test('for commands waits out a restart of the server', async () => {
    const key = `${freshPrefix()}:key`;
    const redis = await connect({ socket: server.socket });
    await redis.set(key, 'before');
    const restarted = server.restart('SIGKILL');
    await closed(redis);
    expect(await redis.get(key)).toBe('before');
    await restarted;
  });

  test('for jobs never gives a command up, and sets it no time', async () => {
    const redis = await connect({ socket: server.socket }, { kind: 'jobs', commandTimeoutMs: 5 });
    expect(redis.options.maxRetriesPerRequest).toBeNull();
    expect(redis.options.commandTimeout).toBeUndefined();
  });
});

/** Not `once` of node:events, which throws when the loss is told as an error first. */
function closed(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    redis.once('close', () => resolve());
  });
}

describe('a connection that was lost while it waited for a reply', () => {
  test.each(['itself', 'its duplicate, on which BullMQ blocks'])('does not cut the next one: %s', async (which) => {
    await expect.poll(() => server.redis.ping().catch(() => '')).toBe('PONG');
    const given = await connect({ socket: server.socket }, { kind: 'arming', commandTimeoutMs: 1000 });
    const redis = which === 'itself' ? given : given.duplicate({ autoResendUnfulfilledCommands: true });
    redis.on('error', () => {});
    let isOpen = true;
    let losses = 0;
    redis.on('connect', () => {
      isOpen = true;
    });
    // A try that failed while the server was away is no loss.
    redis.on('close', () => {
      if (isOpen) losses++;
      isOpen = false;
    });
    redis.blpop('nobody-puts-anything-here', 0).catch(() => {});
    await expect.poll(() => redis.status).toBe('ready');
    const restarted = server.restart('SIGKILL');
    await closed(redis);
    await restarted;
    await expect.poll(() => redis.status).toBe('ready');
    // Twice as long as the silence after which a connection is given up.
    for (let until = Date.now() + 4000; Date.now() < until; ) expect(await redis.ping()).toBe('PONG');
    expect(losses).toBe(1);
    redis.disconnect();
  });
});

test('a command that was sent before the connection was ready, and lost with it, is rejected: nobody waits for it for ever', async () => {
  let isLoading = false;
  const port = await listen((command) => {
    if (command === 'time') return undefined;
    if (command === 'info') return isLoading ? '' : '$9\r\nloading:0\r\n';
    return '+PONG\r\n';
  });
  const given = await connect({ url: `redis://127.0.0.1:${port}` }, { kind: 'jobs' });
  for (const redis of [given, given.duplicate()]) {
    redis.on('error', () => {});
    await redis.ping();
    isLoading = true;
    redis.disconnect(true);
    await expect.poll(() => redis.status).toBe('connect');
    const fault = redis.time().catch((error: unknown) => error);
    isLoading = false;
    const late = delay(FORGOTTEN_AFTER_MS, 'nobody answers');
    expect(isRedisLoss(await Promise.race([fault, late]))).toBe(true);
    await expect.poll(() => redis.status).toBe('ready');
    redis.disconnect();
  }
});

describe('the arming connection', () => {
  test('sends a command once, whatever becomes of its reply, and comes back', async () => {
    const cutting = await listenAndCut();
    const redis = await connect({ url: cutting.url }, { kind: 'arming' });
    await expect(redis.incr('counter')).rejects.toThrow(/max retries per request/);
    await expect.poll(() => redis.status).toBe('ready');
    expect(await redis.get('anything')).toBe('here');
    expect(cutting.seen()).toBe(1);
  });

  test('differs in that from one for commands', async () => {
    const cutting = await listenAndCut();
    const redis = await connect({ url: cutting.url });
    redis.incr('counter').catch(() => {});
    await expect.poll(cutting.seen).toBeGreaterThan(1);
  });

  test('refuses a command at once while it has no connection', async () => {
    const redis = await connect({ socket: server.socket }, { kind: 'arming' });
    const restarted = server.restart('SIGKILL');
    await closed(redis);
    await expect(redis.ping()).rejects.toThrow(/enableOfflineQueue/);
    await restarted;
    await expect.poll(() => redis.status).toBe('ready');
    expect(await redis.ping()).toBe('PONG');
  });

  test('gives up on a reply that does not come in time, and keeps replies apart afterwards', async () => {
    const redis = await connect({ socket: server.socket }, { kind: 'arming', commandTimeoutMs: 100 });
    process.kill(server.pid, 'SIGSTOP');
    try {
      await expect(redis.echo('late')).rejects.toThrow('Command timed out');
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await expect.poll(() => redis.echo('next').catch(() => undefined)).toBe('next');
  });

  test('tells its losses to the listener', async () => {
    const cutting = await listenAndCut();
    const errors: Error[] = [];
    const redis = await connect({ url: cutting.url }, { kind: 'arming', onError: (error) => errors.push(error) });
    for (const listener of listeners) listener.close();
    await expect(redis.incr('counter')).rejects.toThrow(/max retries/);
    await expect.poll(() => errors).toContainEqual(expect.objectContaining({ code: 'ECONNREFUSED' }));
  });
});

describe('a connection that cannot be made', () => {
  test.each([
    { when: 'nobody listens there', url: 'redis://127.0.0.1:1/0', message: /127\.0\.0\.1:1\/0.*ECONNREFUSED/ },
    { when: 'there is no such socket', url: 'unix:///nowhere/redis.sock', message: /unix:\/\/\/nowhere.*ENOENT/ },
    { when: 'the name does not resolve', url: 'redis://redis.invalid', message: /redis:\/\/redis\.invalid:6379\/0/ },
  ])('is refused when $when, naming address and remedy', async ({ url, message }) => {
    const refusal = await refusalOf({ url });
    expect(refusal.kind).toBe('unavailable');
    expect(refusal.message).toMatch(message);
    expect(refusal.remedy).toMatch(
      /Start that server or correct REDIS_URL, then give the same command again.*another ledger/,
    );
  });

  test('is refused without a password where one is needed', async () => {
    const refusal = await refusalOf({ socket: guarded.socket });
    expect(refusal).toMatchObject({ kind: 'unavailable', remedy: expect.stringContaining('password') });
    expect(refusal.message).toContain(guarded.socket);
  });

  test.each([['WRONGPASS wrong'], ['NOPERM not allowed'], ['ERR invalid password']])(
    'does not show the password when the server answers %s',
    async (answer) => {
      const port = await listen((command) => (command === 'auth' ? `-${answer}\r\n` : '-NOAUTH needed\r\n'));
      const refusal = await refusalOf({ url: `redis://payrun:${PASSWORD}@127.0.0.1:${port}` });
      expect(refusal.kind).toBe('unavailable');
      expect(refusal.message).toContain(`redis://127.0.0.1:${port}/0`);
      expect(inspect(refusal, { depth: 20, showHidden: true }) + refusal.remedy).not.toContain(PASSWORD);
    },
  );

  test('is refused for a database that the server has not', async () => {
    const refusal = await refusalOf({ url: `${server.url}?db=999` });
    expect(refusal).toMatchObject({ kind: 'unavailable', remedy: expect.stringContaining('database') });
  });

  test('is refused when the server takes the connection and says nothing', async () => {
    const port = await listen(() => '');
    const refusal = await refusalOf({ url: `redis://127.0.0.1:${port}` }, { commandTimeoutMs: 200 });
    expect(refusal.kind).toBe('unavailable');
    expect(refusal.message).toMatch(/timed out/);
  });

  test.each([
    ['http://127.0.0.1:6379', 'begins with http:'],
    ['nonsense', 'is no address'],
    ['redis://127.0.0.1/zero', 'database that is no number'],
    ['redis://127.0.0.1/0?enableOfflineQueue=true', '?enableOfflineQueue'],
    ['redis://user:50%@127.0.0.1', 'begins no escape'],
    ['unix://host/redis.sock', 'no absolute path'],
    ['unix://', 'no absolute path'],
  ])('is a wrong setting when the address is %s', async (url, problem) => {
    const refusal = await refusalOf({ url });
    expect(refusal).toMatchObject({ kind: 'usage', message: expect.stringContaining(problem) });
  });
});
