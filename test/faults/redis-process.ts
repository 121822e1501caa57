import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { DURABLE_ARGUMENTS } from '../../src/redis/durability.ts';
import { findRedisServer } from '../../src/redis/redis-server.ts';

const START_MS_MAX = 15_000;
const POLL_MS = 10;

/** Nobody may ever read it in a log. */
export const REDIS_PASSWORD = 'redis-password-of-the-rig';

export interface RedisOptions {
  /** Further arguments of the server, such as `--min-replicas-to-write 1`. */
  readonly args?: readonly string[];
  /** Its data lie on a file system in memory of this size, which needs root. */
  readonly memoryMiB?: number;
}

/** A redis-server of its own on a unix socket in a private folder, to be stopped, killed, and started again on the same data. */
export interface RedisProcess {
  readonly socket: string;
  /** Holds `appendonlydir` and `log`. */
  readonly dir: string;
  /** Of the present server. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** Straight to the server; it connects again by itself. */
  readonly client: Redis;
  /** Starts it, with further arguments, and waits until it answers. Throws with the server's own words when it ends instead. */
  start(...args: readonly string[]): Promise<void>;
  /** SIGTERM, until it has ended. */
  stop(): Promise<void>;
  /** kill -9, until it has ended. */
  kill(): Promise<void>;
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Copies the data away, at any time: an append-only file is whole but for its last line. */
  copyTo(folder: string): void;
  /** Puts a copy in place of the data of a server that is not running. */
  restoreFrom(folder: string): void;
  /** `redis-check-aof --fix`, answered with yes. */
  fix(): void;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

export async function startRedis({ args = [], memoryMiB }: RedisOptions = {}): Promise<RedisProcess> {
  const server = await findRedisServer(undefined, (line) => console.error(line));
  const folder = mkdtempSync(join(tmpdir(), 'payrun-rig-'));
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  mkdirSync(data);
  if (memoryMiB !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${memoryMiB}m`, 'tmpfs', data]);
  const socket = join(folder, 'redis.sock');
  let child: ChildProcess | undefined;
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined || !isRunning()) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  const killWithUs = (): boolean => child?.kill('SIGKILL') ?? false;
  process.on('exit', killWithUs);

  async function start(...further: readonly string[]): Promise<void> {
    const own = ['--port', '0', '--dir', data, '--unixsocket', socket, '--unixsocketperm', '700', '--save', ''];
    const rig = ['--requirepass', REDIS_PASSWORD, '--masterauth', REDIS_PASSWORD, '--enable-debug-command', 'local'];
    const logs = ['--loglevel', 'notice', '--logfile', join(folder, 'log')];
    child = spawn(server.command, [...own, ...rig, ...logs, ...DURABLE_ARGUMENTS, ...args, ...further], {
      env: { ...process.env, ...server.env },
      stdio: 'ignore',
    });
    await answering(socket, () => {
      if (!isRunning()) throw new Error(`redis-server ended: ${lastLines(join(folder, 'log'))}`);
    });
  }

  await start();
  const client = connection(socket);
  return {
    socket,
    dir: data,
    client,
    get pid() {
      return child?.pid ?? -1;
    },
    get isRunning() {
      return isRunning();
    },
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    signal: (signal) => void child?.kill(signal),
    copyTo: (to) => cpSync(join(data, 'appendonlydir'), join(to, 'appendonlydir'), { recursive: true }),
    restoreFrom(from) {
      if (isRunning()) throw new Error('its data belong to a server that runs');
      rmSync(join(data, 'appendonlydir'), { recursive: true });
      cpSync(join(from, 'appendonlydir'), join(data, 'appendonlydir'), { recursive: true });
    },
    fix() {
      // The server is its own checker under this name.
      const manifest = join(data, 'appendonlydir/appendonly.aof.manifest');
      const fixed = spawnSync(server.command, ['--fix', manifest], {
        argv0: 'redis-check-aof',
        env: { ...process.env, ...server.env },
        input: 'y\n',
        encoding: 'utf8',
      });
      if (fixed.status !== 0) throw new Error(`redis-check-aof ended with ${fixed.status}: ${fixed.stdout}`);
    },
    async close() {
      client.disconnect();
      await end('SIGKILL');
      process.off('exit', killWithUs);
      if (memoryMiB !== undefined) execFileSync('umount', [data]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A connection straight to a server of the rig. */
export function connection(socket: string, options: { retryStrategy?: null } = {}): Redis {
  const redis = new Redis({
    path: socket,
    password: REDIS_PASSWORD,
    lazyConnect: true,
    maxRetriesPerRequest: null,
    disableClientInfo: true,
    ...options,
  });
  redis.on('error', () => {});
  return redis;
}

async function answering(socket: string, check: () => void): Promise<void> {
  const deadline = Date.now() + START_MS_MAX;
  for (;;) {
    const redis = connection(socket, { retryStrategy: null });
    const pong = await redis.ping().catch(() => undefined);
    redis.disconnect();
    if (pong === 'PONG') return;
    check();
    if (Date.now() > deadline) throw new Error('redis-server does not answer');
    await delay(POLL_MS);
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-5).join('\n');
}
