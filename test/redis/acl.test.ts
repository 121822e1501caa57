import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { connectRedis, letsAnybodyIn } from '../../src/redis/connect.ts';
import { ACL_TEXT, startAclRedis } from '../support/acl-redis.ts';
import { startNetworkRedis } from '../support/network-redis.ts';
import { ROOT } from '../support/payrun-processes.ts';

/** What no script of BullMQ calls and no call in our code names: connections, their scripts and transactions. */
const BY_LIBRARIES = [
  'bzpopmin',
  'client|setname',
  'cluster|keyslot',
  'cluster|slots',
  'config|get',
  'exec',
  'script|exists',
  'script|load',
];
/** Of ioredis alone. */
const NO_COMMANDS = ['call', 'connect', 'disconnect', 'duplicate', 'on', 'once'];
/** The private Redis alone is ended, and it has no users but ours. */
const PRIVATE = ['shutdown'];

function textsBelow(folder: string, ending: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(ending)).map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
}

function named(texts: readonly string[], pattern: RegExp): string[] {
  return texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name.toLowerCase()));
}

const SOURCES = ['src', 'jobs'].flatMap((folder) => textsBelow(folder, '.ts'));
const SCRIPTS = named(SOURCES, /\bredis\.p?call\('([A-Za-z]+)'/g);
const CALLS = named(SOURCES, /\b(?:redis|arming|transaction)\s*\.([a-zA-Z]+?)(?:Buffer)?\(/g);
const BULLMQ = named(
  textsBelow('node_modules/bullmq/dist/cjs/scripts', '.js'),
  /\b(?:rcall|redis\.p?call)\(\s*["']([A-Za-z]+)["']/g,
);

const [DEFAULT_USER = '', PAYRUN = '', ...others] = ACL_TEXT.trimEnd().split('\n');

test('docs/redis.acl allows each command that payrun and BullMQ call, and no other', () => {
  expect([SCRIPTS.length, CALLS.length, BULLMQ.length].every((count) => count > 100)).toBe(true);
  const withWords = ['client', 'cluster', 'config', 'script'];
  const unnamed = new Set([...NO_COMMANDS, ...PRIVATE, ...withWords]);
  const needed = [...SCRIPTS, ...CALLS, ...BULLMQ].filter((name) => !unnamed.has(name));
  const allowed = PAYRUN.split(' ').flatMap((word) => (word.startsWith('+') ? [word.slice(1)] : []));
  expect(new Set(allowed).size).toBe(allowed.length);
  expect(allowed.toSorted()).toEqual([...new Set([...needed, ...BY_LIBRARIES])].toSorted());
});

test('docs/redis.acl has one user, with a password and the keys of the ledger alone; the one without a name is off', () => {
  expect(others).toEqual([]);
  expect(DEFAULT_USER).toBe('user default reset off ~* &* +@all');
  expect(PAYRUN).toMatch(/^user payrun reset on #PASSWORD_SHA256 ~\{payrun\} ~\{payrun\}:\* ~payrun-database \+/);
  expect(PAYRUN.match(/[~&@%]\S*|\bnopass\b|\ball\S+/g)).toEqual(['~{payrun}', '~{payrun}:*', '~payrun-database']);
});

test('with the users of docs/redis.acl a server that is killed has all that a script wrote, which it reads again without a name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-acl-'));
  const ask = async <T>(work: (redis: Redis) => Promise<T>): Promise<T> => {
    const server = await startAclRedis('--dir', dir);
    const redis = new Redis(server.url);
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  };
  try {
    const script = "redis.call('SET', KEYS[1], '1') redis.call('HSET', KEYS[2], 'a', 'b') return 1";
    await ask((redis) => redis.eval(script, 2, '{payrun}:one', '{payrun}:two'));
    expect(await ask((redis) => redis.hget('{payrun}:two', 'a'))).toBe('b');
    expect(await ask((redis) => redis.get('{payrun}:one'))).toBe('1');
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('the lines of docs/operation.md make a password, an address and users that fit each other', async () => {
  const guide = readFileSync(join(ROOT, 'docs/operation.md'), 'utf8');
  const [, lines = ''] = /```sh\n([^`]*docs\/redis\.acl[^`]*)```/.exec(guide) ?? [];
  const dir = mkdtempSync(join(tmpdir(), 'payrun-acl-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  execFileSync('sh', ['-euc', lines.replaceAll('docs/redis.acl', join(ROOT, 'docs/redis.acl'))], { cwd: dir });
  const server = await startNetworkRedis('--aclfile', join(dir, 'users.acl'));
  onTestFinished(() => server.stop());
  const address = readFileSync(join(dir, 'redis-url'), 'utf8').trimEnd();
  const url = address.replace('redis.example:6379', server.host);
  const redis = await connectRedis({ url }, { name: 'test', kind: 'commands' });
  expect(await redis.set('{payrun}:key', 'value')).toBe('OK');
  redis.disconnect();
  expect(await letsAnybodyIn({ url })).toBe(false);
});
