import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DURABLE_ARGUMENTS } from '../../src/redis/durability.ts';
import { findRedisServer } from '../../src/redis/redis-server.ts';

const START_MS_MAX = 15_000;
const POLL_MS = 10;

/** A throw-away Redis on a port of loopback, which answers whoever it lets in. */
export interface NetworkRedis {
  /** `127.0.0.1:` and its port. */
  readonly host: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

/** As durable as payrun asks for; further arguments go to the server. */
export async function startNetworkRedis(...extra: readonly string[]): Promise<NetworkRedis> {
  const server = await findRedisServer(undefined, (line) => console.error(line));
  const dir = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  const port = await freePort();
  const common = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', '--loglevel', 'warning'];
  const child = spawn(server.command, [...common, ...DURABLE_ARGUMENTS, ...extra], {
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const killWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const stop = async (): Promise<void> => {
    const exited = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await exited;
    process.off('exit', killWithUs);
    rmSync(dir, { recursive: true, force: true });
  };
  const deadline = Date.now() + START_MS_MAX;
  while (!(await listens(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`the test Redis does not answer (exit code ${child.exitCode})`);
    }
    await delay(POLL_MS);
  }
  return { host: `127.0.0.1:${port}`, stop };
}

/** One of loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('there is no free port');
  return address.port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
