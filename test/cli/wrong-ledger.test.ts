import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { explain } from '../../src/cli/explain.ts';
import { openProgram } from '../../src/cli/program.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { payoutFile } from './payrun.ts';

const ID = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';

const redis = await useTestRedis();
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'payrun-wrong-'));
  vi.stubEnv('PAYRUN_DATA_DIR', dir);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

/** What is told of a command line that ends in a refusal; nothing where it does what it is for. */
async function refused(words: string): Promise<{ text: string; exitCode: number } | undefined> {
  const program = await openProgram({ end: () => {} });
  try {
    await program.parseAsync(
      words.split(' ').map((word) => word.replaceAll('_', ' ')),
      { from: 'user' },
    );
    return undefined;
  } catch (error) {
    return explain(error);
  }
}

const REFUSED = [
  'halt --reason x --as anna',
  'release --as anna',
  'pause r1 --reason x',
  'resume r1',
  'cancel r1',
  `approve r1 --sha256 ${'a'.repeat(64)} --as anna`,
  'allow r1 INV-1 --reason x --as anna',
  'drop r1 INV-1 --reason x --as anna',
  'resolve r1 INV-1 --not-paid --reason x --as anna',
  `block ${ID} --reason x --as anna`,
  `unblock ${ID} --as anna`,
  'list',
  'status r1',
  'watch r1',
  'show r1 INV-1',
  'report r1',
  'retry-file r1',
  'purge --older-than 400d --as anna',
  'notifications',
  'schedule list',
  'schedule set nightly --cron 0_3_*_*_* --zone UTC --do start',
  'user add anna --role admin --as anna',
  'user list',
  'key create erp --role maker --as anna',
  'key list',
  'settings',
  'settings adopt --as anna',
  'write-off d1 --reason x --as anna',
  'audit list',
  'audit verify',
  'audit export r1 --output log.jsonl',
  `reconcile r1 --statement box`,
  'report --day 2026-01-31',
  'key revoke erp --as anna',
  'key sign-init',
  'notifications retry erp',
  'notifications drop erp',
  'schedule remove nightly',
  'user disable anna --as anna',
  'user enable anna --as anna',
  'user role anna admin --as anna',
  'user reset anna --as anna',
  'user remove-factor anna --as anna',
];

/** They need no ledger, make one, or have nothing to say of one that there is not. */
const MAY_GO_ON = [
  'validate',
  'preview',
  'run',
  'verify',
  'adopt-ledger',
  'sandbox',
  'init',
  'settings show',
  'key sign-show',
  'doctor',
  'probe',
  'template',
  'backup',
  'completion',
  'completion-server',
  'help',
];

/** The words of each command that does something. */
function commandWords(command: Command, above = ''): string[] {
  return command.commands.flatMap((one) => {
    const words = `${above}${one.name()}`;
    return [words, ...commandWords(one, `${words} `)];
  });
}

// It loads all commands.
test('no command is left out here', { timeout: 300_000 }, async () => {
  const all = commandWords(await openProgram({ end: () => {} }));
  const tried = new Set(
    [...REFUSED, ...WITH_SERVICE].flatMap((line) => [
      line.split(' ').slice(0, 1).join(' '),
      line.split(' ').slice(0, 2).join(' '),
    ]),
  );
  const goesOn = new RegExp(`^(${MAY_GO_ON.join('|')})( |$)`);
  expect(all.filter((words) => !tried.has(words) && !goesOn.test(words))).toEqual([]);
  expect(MAY_GO_ON.filter((one) => !all.includes(one))).toEqual([]);
});

const ADDS_ANNA = 'user add anna --role admin --as anna';
/** What has to be there for a command to have something to do. */
const BEFORE = new Map([
  ['user disable anna --as anna', [ADDS_ANNA]],
  ['key create erp --role maker --as anna', [ADDS_ANNA]],
  ['key revoke erp --as anna --yes', [ADDS_ANNA, 'key create erp --role maker --as anna']],
  ['schedule remove nightly', ['schedule set nightly --cron 0_3_*_*_* --zone UTC --do start']],
]);

const WITH_SERVICE = ['submit two.csv --as anna', 'inbox box --once', 'worker --allow-root', 'serve --allow-root'];
const SERVICE = {
  PAYRUN_SERVICE_URL: 'http://127.0.0.1:9',
  PAYRUN_CLIENT_ID: 'id',
  PAYRUN_CLIENT_SECRET: 'secret',
  PAYRUN_TENANT_ID: 'tenant',
  PAYRUN_ENVIRONMENT: 'test',
};

describe.each(['private', 'shared'])('where there is no ledger, on a %s Redis', (kind) => {
  let prefix: string;
  beforeEach(() => {
    prefix = freshPrefix();
    vi.stubEnv('REDIS_URL', kind === 'shared' ? redis.url : undefined);
    vi.stubEnv('PAYRUN_PREFIX', prefix);
  });

  test.each(WITH_SERVICE)(
    'payrun %s is refused with a service too, unless it is told to make a ledger',
    async (words) => {
      for (const [name, value] of Object.entries(SERVICE)) vi.stubEnv(name, value);
      const told = await refused(words);
      expect(told).toMatchObject({ exitCode: 2, text: expect.stringContaining('There is no ledger in ') });
      expect(told?.text).toContain('with --new-ledger');
      expect(await redis.redis.keys(`${prefix}*`)).toEqual([]);
      expect(readdirSync(dir)).toEqual([]);
    },
  );

  test.each(REFUSED)('payrun %s is refused, names the place and leaves nothing behind', async (words) => {
    const told = await refused(words);
    expect(told).toMatchObject({ exitCode: 2, text: expect.stringContaining('There is no ledger in ') });
    expect(told?.text).toContain(kind === 'shared' ? `${prefix} on Redis at ` : dir);
    expect(told?.text).toContain('Load the settings that payrun runs with');
    expect(await redis.redis.keys(`${prefix}*`)).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  });
});

test('where REDIS_URL is set beside a data directory with a private Redis, another data directory is the first remedy', async () => {
  writeFileSync(join(dir, 'ledger.json'), JSON.stringify({ id: 'd1', instance: 'i1' }));
  mkdirSync(join(dir, 'redis'));
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', freshPrefix());
  const file = join(dir, 'one.csv');
  writeFileSync(file, payoutFile([['INV-1', '10.00']]));
  const told = await refused(`run ${file}`);
  expect(told?.exitCode).toBe(2);
  expect(told?.text).toMatch(/is in its private Redis.*\n.*set PAYRUN_DATA_DIR to another folder/);
  expect(told?.text).not.toContain('adopt-ledger');
});

test('where Redis alone is gone, the data directory is told to be of a ledger that was lost', async () => {
  writeFileSync(join(dir, 'ledger.json'), JSON.stringify({ id: 'd1', instance: 'i1' }));
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', freshPrefix());
  expect((await refused('list'))?.text).toContain('adopt-ledger');
});

test('--new-ledger lets the first command in', async () => {
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', freshPrefix());
  const onDisk = mkdtempSync(join(import.meta.dirname, '../../.tmp-wrong-'));
  onTestFinished(() => rmSync(onDisk, { recursive: true }));
  vi.stubEnv('PAYRUN_DATA_DIR', onDisk);
  for (const [name, value] of Object.entries(SERVICE)) vi.stubEnv(name, value);
  const file = join(dir, 'one.csv');
  writeFileSync(file, payoutFile([['INV-1', '10.00']]));
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  expect(await refused(`submit ${file} --new-ledger`)).toBeUndefined();
  expect(await refused('list')).toBeUndefined();
  vi.restoreAllMocks();
});

test('a halt says that there was nothing to halt; with --sandbox it halts a new ledger, and names it', async () => {
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', freshPrefix());
  const told = await refused('halt --reason x --as anna');
  expect(told?.text).toContain(': nothing to halt.');
  const written: string[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    expect(await refused('halt --reason x --as anna --sandbox')).toBeUndefined();
  } finally {
    stdout.mockRestore();
  }
  expect(written.join('')).toMatch(/^Everything is halted: x \(service sandbox, ledger \{.*\} on Redis at .*\)\n$/);
});

test.each([
  [`block ${ID} --reason x --as anna`, `${ID} is blocked`],
  [`unblock ${ID} --as bob`, 'not blocked'],
  ['user add anna --role admin --as anna', 'anna'],
  ['user disable anna --as anna', 'cannot sign in'],
  ['key create erp --role maker --as anna', ''],
  ['key revoke erp --as anna --yes', 'revoked'],
  ['schedule set nightly --cron 0_3_*_*_* --zone UTC --do start', 'nightly'],
  ['schedule remove nightly', 'removed'],
  ['purge --older-than 400d --as anna', 'nothing to purge'],
])('payrun %s answers on standard output, and says of which service and ledger', async (words, answer) => {
  const prefix = freshPrefix();
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', prefix);
  const [printed, said]: [string[], string[]] = [[], []];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  try {
    await refused('halt --reason x --as anna --sandbox');
    for (const before of BEFORE.get(words) ?? []) expect(await refused(before)).toBeUndefined();
    printed.length = 0;
    said.length = 0;
    expect(await refused(words)).toBeUndefined();
  } finally {
    vi.restoreAllMocks();
  }
  expect(printed.join('')).toContain(answer);
  expect(printed.join('')).not.toBe('');
  expect(said.join('')).toMatch(/^Service sandbox, ledger \{t[0-9a-f]+\} on Redis at .*\.$/m);
});

const LOOKS = [
  'list',
  'list RUN',
  'watch RUN',
  'show RUN INV-1',
  'report RUN',
  'report RUN --format summary',
  'report --day 2026-01-31',
  'retry-file RUN',
  'audit list',
  'audit verify',
  'settings',
  'notifications',
  'schedule list',
  'user list',
  'key list',
  'block',
];

test('a look says first of which service and ledger it answers, and not where a program reads it', async () => {
  vi.stubEnv('REDIS_URL', redis.url);
  vi.stubEnv('PAYRUN_PREFIX', freshPrefix());
  const file = join(dir, 'one.csv');
  writeFileSync(file, payoutFile([['INV-1', '10.00']]));
  const [printed, said]: [string[], string[]] = [[], []];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  const told: Record<string, string> = {};
  try {
    await refused(`submit ${file} --sandbox --json`);
    const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(printed.join('')));
    await refused(`cancel ${runId}`);
    for (const words of LOOKS) {
      said.length = 0;
      const fault = await refused(words.replace('RUN', runId));
      told[words] = fault === undefined ? (said.join('').split('\n')[0] ?? '') : fault.text;
    }
    said.length = 0;
    for (const words of ['list --json', `show ${runId} INV-1 --json`, `report ${runId} --json`, 'user list --json'])
      expect(await refused(words)).toBeUndefined();
  } finally {
    vi.restoreAllMocks();
  }
  for (const line of Object.values(told))
    expect(line).toMatch(/^Service sandbox, ledger \{t[0-9a-f]+\} on Redis at .*\.$/);
  expect(said.join('')).not.toContain('Service sandbox');
});

test('a payout file that is not there makes no ledger', async () => {
  const told = await refused(`run ${join(dir, 'nothing.csv')}`);
  expect(told).toMatchObject({ exitCode: 3, text: expect.stringContaining('does not exist') });
  expect(readdirSync(dir)).toEqual([]);
});

test('a halt that cannot reach Redis says that nothing was halted, and what goes on by itself', async () => {
  vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:9');
  const { text, exitCode } = (await refused('halt --reason x --as anna')) ?? {};
  expect(exitCode).toBe(69);
  expect(text).toMatch(/^Nothing was halted\. Redis at redis:\/\/127\.0\.0\.1:9\/0 cannot be used/);
  expect(text).toContain('once it answers, what waits goes on by itself. To prevent that, stop the workers');
  expect((await refused('release --as anna'))?.text).not.toContain('halted');
});

test('a disk that is read-only is told in words, with the file that was asked for', () => {
  const fault = { code: 'EROFS', syscall: 'open', path: '/mnt/ledger.json' };
  const { text, exitCode } = explain(Object.assign(new Error('EROFS: read-only file system'), fault));
  expect(text).toMatch(/^\/mnt\/ledger\.json is on a disk that is read-only\.\nMake that disk writable again\./);
  expect(exitCode).toBe(69);
});
