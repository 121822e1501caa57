import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { infoFields, readDurability } from '../../src/redis/durability.ts';
import { openPrivateRedis, type PrivateRedis } from '../../src/redis/private-redis.ts';
import { findOnPath, findRedisServer } from '../../src/redis/redis-server.ts';
import { Refusal } from '../../src/refusal.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { startTestRedis } from '../support/redis.ts';
import { compileRedis, runScript } from './compiled.ts';

const USER_SCRIPT = `
import { systemClock } from './clock.js';
import { openPrivateRedis } from './redis/private-redis.js';
const redis = await openPrivateRedis(process.argv[2], { report: () => {}, clock: systemClock });
console.log(redis.socket);
process.stdin.resume().once('end', async () => {
  await redis.close();
  process.exit();
});
`;

let compiled: string;
let userScript: string;
let dir: string;
let opened: PrivateRedis[];
let connections: Redis[];
let lines: string[];
const path = process.env['PATH'];

beforeAll(async () => {
  compiled = mkdtempSync(join(tmpdir(), 'payrun-compiled-'));
  compileRedis(compiled);
  userScript = join(compiled, 'user.js');
  writeFileSync(userScript, USER_SCRIPT);
  await findRedisServer(undefined, (line) => console.error(line));
});
afterAll(() => {
  rmSync(compiled, { recursive: true, force: true });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'payrun-private-'));
  [opened, connections, lines] = [[], [], []];
});
afterEach(async () => {
  process.env['PATH'] = path;
  for (const redis of connections) redis.disconnect();
  await Promise.all(opened.map((redis) => redis.close()));
  for (const pid of serversOf(dir)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

async function open(dataDir = dir): Promise<PrivateRedis> {
  const redis = await openPrivateRedis(dataDir, { report: (line) => lines.push(line), clock: systemClock });
  opened.push(redis);
  return redis;
}

async function connect(socket: string): Promise<Redis> {
  const redis = await connectRedis({ socket }, { name: 'test', kind: 'commands' });
  connections.push(redis);
  return redis;
}

async function pidOf(socket: string): Promise<number> {
  const redis = await connect(socket);
  return Number(infoFields(await redis.info('server')).get('process_id'));
}

/** Processes whose working folder is the server's own: a server, whatever its files say. */
function serversOf(dataDir: string): number[] {
  const redisDir = join(realpathSync(dataDir), 'redis');
  return readdirSync('/proc').flatMap((entry) => {
    try {
      return /^[0-9]+$/.test(entry) && readlinkSync(`/proc/${entry}/cwd`) === redisDir ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

async function gone(pid: number): Promise<void> {
  await expect.poll(() => serversOf(dir).includes(pid), { timeout: 60_000 }).toBe(false);
}

/** As a container does it: process ids of its own. Killed together with what it started. */
const IN_OWN_NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];

function hasNamespaces(): boolean {
  const [program = '', ...words] = IN_OWN_NAMESPACE;
  return spawnSync(program, [...words, 'true']).status === 0;
}

describe.skipIf(!hasNamespaces())(
  'the private Redis, used from several pid namespaces (skipped where none can be made: that takes root)',
  () => {
    test('goes on when a user leaves that cannot see the process of another one, and is ended by the last', async () => {
      const ours = await open();
      const pid = await pidOf(ours.socket);
      const users = [1, 2].map(() => runScript(userScript, [dir], { through: IN_OWN_NAMESPACE }));
      for (const user of users) await user.line();
      const watching = await connect(ours.socket);
      await ours.close();
      expect(await pidOf(ours.socket)).toBe(pid);
      users[0]?.child.stdin?.end();
      expect(await users[0]?.ended).toBe(0);
      expect(await pidOf(ours.socket)).toBe(pid);
      expect(watching.status).toBe('ready');
      users[1]?.child.stdin?.end();
      expect(await users[1]?.ended).toBe(0);
      await gone(pid);
    });

    test('does not wait for a user in another namespace that was killed', async () => {
      const ours = await open();
      const pid = await pidOf(ours.socket);
      const user = runScript(userScript, [dir], { through: IN_OWN_NAMESPACE });
      await user.line();
      user.child.kill('SIGKILL');
      await user.ended;
      const watching = await connect(ours.socket);
      await expect
        .poll(async () => String(await watching.client('LIST')).match(/name=payrun-private/g)?.length)
        .toBe(1);
      await ours.close();
      await gone(pid);
    });
  },
);

describe('the private Redis', () => {
  test('is durable, on a socket that only its user can reach, with the pid in its file', async () => {
    const { socket } = await open();
    const redis = await connect(socket);
    expect(await readDurability(redis)).toEqual([]);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    expect(await redis.config('GET', 'hash-max-listpack-value')).toEqual(['hash-max-listpack-value', '256']);
    expect(await redis.config('GET', 'hash-max-listpack-entries')).toEqual(['hash-max-listpack-entries', '512']);
    expect(await redis.config('GET', 'enable-debug-command')).toEqual(['enable-debug-command', 'no']);
    expect(await redis.config('GET', 'save')).toEqual(['save', '']);
    expect(await redis.config('GET', 'port')).toEqual(['port', '0']);
    expect(await redis.dbsize()).toBe(0);
    expect(readFileSync(join(dir, 'redis.pid'), 'utf8').trim()).toBe(String(await pidOf(socket)));
    for (const file of ['redis.log', 'redis/appendonlydir/appendonly.aof.manifest']) {
      expect(statSync(join(dir, file)).mode & 0o077).toBe(0);
    }
  });

  test('runs in a process group of its own, without our environment', async () => {
    process.env['PAYRUN_CANARY'] = 'a-secret';
    try {
      const pid = await pidOf((await open()).socket);
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      expect(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]).toBe(String(pid));
      expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('a-secret');
    } finally {
      delete process.env['PAYRUN_CANARY'];
    }
  });

  test('is shared by users, ended by the last of them, and keeps its data for the next', async () => {
    const first = await open();
    const second = await open();
    const pid = await pidOf(first.socket);
    expect(await pidOf(second.socket)).toBe(pid);
    await (await connect(first.socket)).set('key', 'value');
    await first.close();
    await first.close();
    expect(await (await connect(second.socket)).get('key')).toBe('value');
    await second.close();
    await gone(pid);

    const third = await open();
    expect(await pidOf(third.socket)).not.toBe(pid);
    expect(await (await connect(third.socket)).get('key')).toBe('value');
  });

  test('outlives a user that is killed, is found again, and does not wait for the dead', async () => {
    const user = runScript(userScript, [dir]);
    const pid = await pidOf(await user.line());
    user.child.kill('SIGKILL');
    await user.ended;
    const found = await open();
    expect(await pidOf(found.socket)).toBe(pid);
    await found.close();
    await gone(pid);
  });

  test('is started again with its data when it is killed, under the same users', async () => {
    const first = await open();
    const second = await open();
    const redis = await connect(first.socket);
    await redis.set('key', 'acknowledged');
    const pid = await pidOf(first.socket);
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    expect(await redis.get('key')).toBe('acknowledged');
    await expect.poll(() => lines).toEqual(Array(2).fill(expect.stringContaining('started again')));
    expect(serversOf(dir)).toHaveLength(1);
    const again = await pidOf(first.socket);
    await first.close();
    expect(await redis.get('key')).toBe('acknowledged');
    await second.close();
    await gone(again);
  });

  test('on a full disk says so once, without its log, however often it ends, and is back once there is room', async ({
    skip,
  }) => {
    skip(missingRoot() !== undefined, missingRoot());
    await onSmallDisk(dir, 2048, async () => {
      let pauses = 0;
      const counting: typeof systemClock.sleep = async (ms, signal) => {
        if (ms === 1000) pauses += 1;
        await systemClock.sleep(ms, signal);
      };
      const clock = { ...systemClock, sleep: counting };
      const own = await openPrivateRedis(dir, { report: (line) => lines.push(line), clock });
      const redis = await connect(own.socket);
      await redis.set('kept', 'yes');
      writeFileSync(join(dir, 'filler'), '');
      expect(() => writeFileSync(join(dir, 'filler'), Buffer.alloc(4 * 1024 * 1024))).toThrow('ENOSPC');
      const writing = redis.set('lost', 'x'.repeat(1024 * 1024)).catch(() => {});
      await expect.poll(() => lines, { timeout: 30_000 }).toContainEqual(expect.stringContaining('its disk is full'));
      await expect.poll(() => pauses, { timeout: 30_000 }).toBeGreaterThan(2);
      expect(lines).toEqual([
        expect.stringContaining('went away'),
        expect.stringMatching(
          /^The private Redis of .* does not start: its disk is full\.\nMake room on the disk of .*$/,
        ),
      ]);
      rmSync(join(dir, 'filler'));
      await expect.poll(() => redis.get('kept').catch(() => ''), { timeout: 30_000 }).toBe('yes');
      await writing;
      redis.disconnect();
      await own.close();
    });
  });

  test('lies in the temporary directory when the data directory has a long path', async () => {
    const long = join(dir, 'a'.repeat(60), 'b'.repeat(60));
    const { socket } = await open(long);
    expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
    expect(dirname(dirname(socket))).toBe(tmpdir());
    expect(lstatSync(dirname(socket)).mode & 0o777).toBe(0o700);
    const link = join(dir, 'link');
    symlinkSync(long, link);
    expect((await open(link)).socket).toBe(socket);
    await Promise.all(opened.map((redis) => redis.close()));
    for (const pid of serversOf(long)) process.kill(pid, 'SIGKILL');
    rmSync(dirname(socket), { recursive: true });
  });

  test.each([
    ['others may look into', (folder: string) => mkdirSync(folder, { mode: 0o755 })],
    ['is a link', (folder: string) => symlinkSync(tmpdir(), folder)],
  ])('refuses a folder that %s', async (_, make) => {
    make(join(dir, 'redis'));
    await expect(open()).rejects.toMatchObject({
      name: 'Refusal',
      kind: 'unavailable',
      message: expect.stringContaining(join(dir, 'redis')),
    });
  });

  test('is one server when twenty callers and four processes open it at the same moment', async () => {
    const users = [1, 2, 3, 4].map(() => runScript(userScript, [dir]));
    const callers = await Promise.all(Array.from({ length: 20 }, () => open()));
    const sockets = [...callers.map(({ socket }) => socket), ...(await Promise.all(users.map((user) => user.line())))];
    expect(new Set(await Promise.all(sockets.map(pidOf))).size).toBe(1);
    const [pid, ...others] = serversOf(dir);
    expect(others).toEqual([]);
    await Promise.all(callers.map((caller) => caller.close()));
    expect(serversOf(dir)).toEqual([pid]);
    for (const user of users) user.child.stdin?.end();
    expect(await Promise.all(users.map((user) => user.ended))).toEqual([0, 0, 0, 0]);
    await gone(pid ?? 0);
  });

  test('answers whoever opens it, also while the last user is leaving', async () => {
    let last = await open();
    for (let round = 0; round < 15; round += 1) {
      const [next] = await Promise.all([open(), last.close()]);
      const redis = await connect(next.socket);
      expect(await redis.incr('rounds')).toBe(round + 1);
      redis.disconnect();
      last = next;
    }
    expect(lines).toEqual([]);
  });

  test('refuses damaged data with the line that mends them, and that line does', async () => {
    const first = await open();
    const redis = await connect(first.socket);
    await redis.set('kept', 'yes');
    await redis.set('cut', 'x'.repeat(100));
    const pid = await pidOf(first.socket);
    await first.close();
    await gone(pid);
    const log = join(dir, 'redis/appendonlydir/appendonly.aof.1.incr.aof');
    truncateSync(log, statSync(log).size - 5);

    const refusal: unknown = await open().catch((error: unknown) => error);
    if (!(refusal instanceof Refusal)) throw new Error('it was not refused', { cause: refusal });
    expect(refusal.kind).toBe('unavailable');
    expect(refusal.message).toContain('damaged');
    const [, line = ''] = /then run: (.*)$/.exec(refusal.remedy) ?? [];
    expect(line).toMatch(/(redis|valkey)-check-aof' --fix/);
    execFileSync('/bin/sh', ['-c', line], { input: 'y\n', stdio: ['pipe', 'ignore', 'inherit'] });
    expect(await (await connect((await open()).socket)).get('kept')).toBe('yes');
  });

  test('shows the end of its log when it does not start', async () => {
    mkdirSync(join(dir, 'redis'), { mode: 0o700 });
    writeFileSync(join(dir, 'redis', 'appendonlydir'), '');
    await expect(open()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not start.*redis\.log:\n.*appendonlydir/s),
    });
  });

  test('names the process whose socket is gone, and the command that ends it', async () => {
    const { socket } = await open();
    const pid = await pidOf(socket);
    rmSync(socket);
    const hurried = { ...systemClock, monotonic: () => 50 * systemClock.monotonic() };
    await expect(openPrivateRedis(dir, { report: () => {}, clock: hurried })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(new RegExp(`as process ${pid}, and its socket .* is gone`)),
      remedy: expect.stringContaining(`kill ${pid}`),
    });
    process.kill(pid);
  });

  test('gives up on a lock whose holder never answers', async ({ skip }) => {
    const flock = await findOnPath(['flock']);
    if (flock === undefined) skip();
    const holder = spawn(flock ?? '', ['-F', join(dir, 'redis.lock'), 'sleep', '60']);
    try {
      await expect.poll(() => existsSync(join(dir, 'redis.lock'))).toBe(true);
      const hurried = { ...systemClock, monotonic: () => 50 * systemClock.monotonic() };
      await expect(openPrivateRedis(dir, { report: () => {}, clock: hurried })).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('does not answer'),
      });
      await expect.poll(() => serversOf(dir)).toEqual([]);
    } finally {
      holder.kill();
    }
  });

  test('never takes another server on its socket for its own', async () => {
    const folder = join(dir, 'redis');
    mkdirSync(folder, { mode: 0o700 });
    const foreign = await startTestRedis();
    symlinkSync(foreign.socket, join(folder, 'redis.sock'));
    try {
      const { socket } = await open();
      expect(await pidOf(socket)).not.toBe(foreign.pid);
      expect(await foreign.redis.info('keyspace')).toBe('# Keyspace\r\n');
    } finally {
      await foreign.stop();
    }
  });

  test('is one server without flock too, and a lock whose holder is gone is taken over', async () => {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    process.env['PATH'] = bin;
    await Promise.all(Array.from({ length: 5 }, () => open()));
    expect(readFileSync(join(dir, 'redis.lock'), 'utf8')).toBe(String(serversOf(dir)[0]));
    expect(serversOf(dir)).toHaveLength(1);
    const [pid = 0] = serversOf(dir);
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    await expect.poll(() => serversOf(dir), { timeout: 60_000 }).toHaveLength(1);
    expect(await pidOf((await open()).socket)).not.toBe(pid);
    expect(serversOf(dir)).toHaveLength(1);
  });

  test('that hangs is told of seconds before it is given up', async () => {
    await open();
    const [pid = 0] = serversOf(dir);
    process.kill(pid, 'SIGSTOP');
    const opening = open();
    try {
      await expect
        .poll(() => lines, { timeout: 10_000 })
        .toEqual([`The private Redis of ${dir} has not answered for 3 s; payrun still waits.`]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await opening;
  });

  test('is no second server, without flock, beside one that does not answer and whose process cannot be seen', async () => {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    process.env['PATH'] = bin;
    await open();
    const [pid = 0] = serversOf(dir);
    // As in another namespace, where it has another id.
    writeFileSync(join(dir, 'redis.lock'), String(spawnSync(process.execPath, ['--version']).pid));
    process.kill(pid, 'SIGSTOP');
    const hurried = { ...systemClock, monotonic: () => 50 * systemClock.monotonic() };
    await expect(openPrivateRedis(dir, { report: () => {}, clock: hurried })).rejects.toMatchObject({
      message: expect.stringContaining('does not answer'),
    });
    expect(serversOf(dir)).toEqual([pid]);
    process.kill(pid, 'SIGCONT');
  });
});
