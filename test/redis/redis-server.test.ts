import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findOnPath, findRedisServer } from '../../src/redis/redis-server.ts';
import { compileRedis, runScript } from './compiled.ts';

const run = promisify(execFile);
const FETCH_TEST_MS = 120_000;
const NOBODY = 65_534;

const FETCH_PROCESS = `
import { findRedisServer } from './redis/redis-server.js';
const server = await findRedisServer(process.argv[2], () => {});
console.log(server.command);
`;

/** Who fetches: an ordinary user, also when the tests run as root. */
const ordinary =
  process.getuid?.() === 0
    ? { uid: NOBODY, gid: NOBODY, env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' } }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let dir: string;
const path = process.env['PATH'];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'payrun-server-'));
  chmodSync(dir, 0o755);
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(dir, { recursive: true, force: true });
});

/** A PATH of nothing but links to these programs. */
function onlyOnPath(programs: Readonly<Record<string, string>>): void {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(bin, name));
  process.env['PATH'] = bin;
}

function hasPackages(): boolean {
  const here = ['/usr/bin/apt-get', '/usr/bin/dpkg', '/usr/bin/flock'].every((program) => existsSync(program));
  if (!here) console.error('skipped: this machine has no apt-get, so no packages can be fetched');
  return here;
}

describe('a server for a private Redis', () => {
  test.each(['redis-server', 'valkey-server'])(
    '%s on the PATH is taken first, and nothing is fetched',
    async (name) => {
      onlyOnPath({ [name]: '/bin/true' });
      const lines: string[] = [];
      const server = await findRedisServer(join(dir, 'cache'), (line) => lines.push(line));
      expect(server).toEqual({ command: join(dir, 'bin', name), env: {} });
      expect(lines).toEqual([]);
      expect(existsSync(join(dir, 'cache'))).toBe(false);
    },
  );

  test('without a server and without packages the refusal names the line that installs one', async () => {
    onlyOnPath({ apk: '/bin/true' });
    await expect(findRedisServer(join(dir, 'cache'), () => {})).rejects.toMatchObject({
      kind: 'unavailable',
      remedy: expect.stringContaining('sudo apk add redis'),
    });
  });

  test('a fetch that fails says why and leaves nothing half-made', async ({ skip }) => {
    if (!hasPackages() || (await findOnPath(['redis-server', 'valkey-server'])) !== undefined) skip();
    onlyOnPath({ 'apt-get': '/bin/false', timeout: '/usr/bin/timeout', flock: '/usr/bin/flock' });
    for (const tool of ['mkdir', 'rm', 'sed', 'mv']) symlinkSync(`/bin/${tool}`, join(dir, 'bin', tool));
    const cache = join(dir, 'cache');
    await expect(findRedisServer(cache, () => {})).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(cache),
      remedy: expect.stringContaining('sudo apt-get install redis-server'),
    });
    expect(readdirSync(cache)).toEqual(['lock']);
  });

  test(
    'three processes at once fetch the packages once, as an ordinary user, and the server runs',
    async ({ skip }) => {
      if (!hasPackages() || (await findOnPath(['redis-server', 'valkey-server'])) !== undefined) skip();
      compileRedis(dir);
      writeFileSync(join(dir, 'fetch.js'), FETCH_PROCESS);
      const cache = join(dir, 'a cache');
      mkdirSync(cache);
      chownSync(cache, ordinary.uid, ordinary.gid);
      const fetches = [1, 2, 3].map(() => runScript(join(dir, 'fetch.js'), [cache], ordinary));
      const printed = await Promise.all(fetches.map((fetch) => fetch.line()));
      expect(await Promise.all(fetches.map((fetch) => fetch.ended))).toEqual([0, 0, 0]);
      expect(new Set(printed).size).toBe(1);
      expect(readdirSync(cache).toSorted()).toEqual(['lock', 'server']);

      const lines: string[] = [];
      const server = await findRedisServer(cache, (line) => lines.push(line));
      expect(lines).toEqual([]);
      expect(server.command).toBe(printed[0]);
      const { stdout } = await run(server.command, ['--version'], { env: server.env });
      expect(stdout).toMatch(/^(Redis|Valkey) server v=/);
    },
    FETCH_TEST_MS,
  );
});
