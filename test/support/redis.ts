import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';
import { DURABLE_ARGUMENTS } from '../../src/redis/durability.ts';
import { findRedisServer, type RedisServer } from '../../src/redis/redis-server.ts';

const START_MS_MAX = 15_000;
const POLL_MS = 10;

export interface TestRedis {
  readonly socket: string;
  /** unix:// address of the same. */
  readonly url: string;
  /** A connection of kind `commands`, closed by `stop`. */
  readonly redis: Redis;
  /** The present server's. */
  readonly pid: number;
  /** Ends the server with this signal (SIGTERM unless told) and starts it again on the same data; resolves when it answers. */
  restart(signal?: NodeJS.Signals): Promise<void>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/** The Redis of a test file, which ends with it; tests are told apart by `freshPrefix`. */
export async function useTestRedis(...extra: readonly string[]): Promise<TestRedis> {
  const server = await startTestRedis(...extra);
  afterAll(() => server.stop());
  return server;
}

/**
 * A throw-away Redis of its own, as durable as payrun asks for, on a unix socket in a private folder; further arguments
 * go to the server.
 */
export async function startTestRedis(...extra: readonly string[]): Promise<TestRedis> {
  const server = await findRedisServer(undefined, (line) => console.error(line));
  const dir = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  chmodSync(dir, 0o700);
  const socket = join(dir, 'redis.sock');
  const start = async (): Promise<ChildProcess> => {
    const started = launch(server, ['--dir', dir, '--unixsocket', socket, ...extra]);
    try {
      await answering(socket, started);
    } catch (error) {
      started.kill('SIGKILL');
      throw error;
    }
    return started;
  };
  let child = await start();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  const killWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const redis = await connectRedis({ socket }, { name: 'test', kind: 'commands' });
  return {
    socket,
    url: `unix://${socket}`,
    redis,
    get pid() {
      return child.pid ?? 0;
    },
    async restart(signal = 'SIGTERM') {
      await end(signal);
      child = await start();
      await redis.ping();
    },
    async stop() {
      redis.disconnect();
      await end('SIGKILL');
      process.off('exit', killWithUs);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A key prefix that no other test uses, with a hash tag as `PAYRUN_PREFIX` has it. */
export function freshPrefix(): string {
  return `{t${randomBytes(6).toString('hex')}}`;
}

function launch(server: RedisServer, args: readonly string[]): ChildProcess {
  const common = ['--port', '0', '--unixsocketperm', '700', '--save', '', '--loglevel', 'warning'];
  return spawn(server.command, [...common, ...DURABLE_ARGUMENTS, ...args], {
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function answering(socket: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_MS_MAX;
  while (!(await answers(socket))) {
    if (child.exitCode !== null) throw new Error(`the test Redis ended with ${child.exitCode}`);
    if (Date.now() > deadline) throw new Error('the test Redis does not answer');
    await delay(POLL_MS);
  }
}

async function answers(socket: string): Promise<boolean> {
  const redis = new Redis({ path: socket, lazyConnect: true, retryStrategy: null, disableClientInfo: true });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
