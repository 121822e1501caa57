import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { DURABLE_ARGUMENTS } from '../../src/redis/durability.ts';
import type { RedisServer } from '../../src/redis/redis-server.ts';
import type { Place } from './network.ts';

const START_MS_MAX = 20_000;
const POLL_MS = 20;
/** Below those that systems give to connections that go out; servers of a cluster take the one 10,000 above as well. */
const PORT_MIN = 12_000;
const PORT_MAX = 22_000;

/** Nobody may ever read it in a log. */
export const PASSWORD = 'password-of-the-servers';
/** What sentinels call the primary. */
export const PRIMARY_NAME = 'payouts';

/** A server with a port at its place, and a socket by which the test reaches it wherever it is. */
export interface Server {
  readonly place: Place;
  readonly port: number;
  readonly client: Redis;
  readonly isRunning: boolean;
  start(...further: readonly string[]): Promise<void>;
  kill(): Promise<void>;
}

/** Servers of one test, which end with it. */
export interface Servers {
  /** A durable redis-server with further arguments. */
  redis(place: Place, ...args: readonly string[]): Promise<Server>;
  /** A sentinel that watches a primary, of which two sentinels must say that it is gone. */
  sentinel(place: Place, primary: Server): Promise<Server>;
  close(): Promise<void>;
}

export function openServers(program: RedisServer): Servers {
  const root = mkdtempSync(join(tmpdir(), 'payrun-hosts-'));
  chmodSync(root, 0o700);
  const opened: { close(): Promise<void> }[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(opened.splice(0).map((server) => server.close()));
  };
  const closeWithUs = (): void => void closeAll();
  process.once('exit', closeWithUs);

  async function open(place: Place, wordsOf: (dir: string, port: number) => readonly string[]): Promise<Server> {
    const port = await freePort();
    const dir = join(root, String(port));
    mkdirSync(dir);
    const server = serverOf(program, { place, port, dir, words: wordsOf(dir, port) });
    opened.push(server);
    await server.start();
    return server;
  }

  return {
    redis: (place, ...args) => open(place, (dir, port) => [...redisWords(place, dir, port), ...args]),
    sentinel: (place, primary) =>
      open(place, (dir, port) => {
        const file = join(dir, 'sentinel.conf');
        writeFileSync(file, sentinelLines(place, port, primary));
        return [file, '--sentinel'];
      }),
    async close() {
      process.off('exit', closeWithUs);
      await closeAll();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function redisWords({ address }: Place, dir: string, port: number): readonly string[] {
  const settings = {
    port: String(port),
    bind: address,
    dir,
    save: '',
    requirepass: PASSWORD,
    masterauth: PASSWORD,
    'repl-diskless-sync-delay': '0',
    'repl-ping-replica-period': '1',
  };
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...DURABLE_ARGUMENTS];
}

function sentinelLines({ address }: Place, port: number, primary: Server): string {
  const watch = {
    monitor: `${primary.place.address} ${primary.port} 2`,
    'auth-pass': PASSWORD,
    'down-after-milliseconds': '2500',
    'failover-timeout': '6000',
    'parallel-syncs': '2',
  };
  const lines = Object.entries(watch).map(([name, value]) => `sentinel ${name} ${PRIMARY_NAME} ${value}`);
  return [`port ${port}`, `bind ${address}`, 'protected-mode no', ...lines, ''].join('\n');
}

interface ServerParts {
  readonly place: Place;
  readonly port: number;
  readonly dir: string;
  readonly words: readonly string[];
}

function serverOf(program: RedisServer, { place, port, dir, words }: ServerParts): Server & { close(): Promise<void> } {
  const socket = join(dir, 'socket');
  const log = join(dir, 'log');
  const client = new Redis({
    path: socket,
    ...(words.includes('--sentinel') ? {} : { password: PASSWORD }),
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    disableClientInfo: true,
    enableReadyCheck: false,
  });
  client.on('error', () => {});
  let child: ChildProcess | undefined;
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    if (child === undefined || !isRunning()) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return {
    place,
    port,
    client,
    get isRunning() {
      return isRunning();
    },
    async start(...further) {
      const own = ['--unixsocket', socket, '--unixsocketperm', '700', '--logfile', log];
      const [command = '', ...args] = [...place.through, program.command, ...words, ...own, ...further];
      child = spawn(command, args, { cwd: dir, env: { ...process.env, ...program.env }, stdio: 'ignore' });
      const deadline = Date.now() + START_MS_MAX;
      while ((await client.ping().catch(() => '')) !== 'PONG') {
        if (!isRunning()) throw new Error(`the server ended: ${readFileSync(log, 'utf8').slice(-500)}`);
        if (Date.now() > deadline) throw new Error('the server does not answer');
        await delay(POLL_MS);
      }
    },
    kill,
    async close() {
      client.disconnect();
      await kill();
    },
  };
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    const listener = createServer().listen(port, '127.0.0.1');
    const isFree = await Promise.race([
      once(listener, 'listening').then(() => true),
      once(listener, 'error').then(() => false),
    ]).catch(() => false);
    listener.close();
    if (isFree) return port;
  }
}
