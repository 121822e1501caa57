import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { type AclRedis, startAclRedis } from '../support/acl-redis.ts';
import { freePort } from '../support/network-redis.ts';
import { readBook } from '../support/paid-once.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';

const TEST_MS_MAX = 8 * 60_000;
const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
const ROWS = Array.from({ length: 20 }, (_, index) => [`R-${index}`, `${10 + index}.25`] as const);
const BENEFICIARY = '00000000-0000-4000-8000-000000000001';

const processes = useProcesses();
let redis: AclRedis;
let service: ServiceProcess;
let admin: Redis;
let cwd = '';
let env: Readonly<Record<string, string>> = {};

beforeAll(async () => {
  redis = await startAclRedis();
  admin = new Redis(redis.adminUrl);
  service = await startService(processes);
  cwd = processes.folder();
  env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_DATA_DIR: join(cwd, 'data'),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_QUOTE_GRACE: '1s',
    PAYRUN_NOT_FOUND_GAP: '1s',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
    PAYRUN_DUPLICATES_WITHIN: 'off',
    PAYRUN_RETENTION: '400d',
  };
});
afterAll(async () => {
  admin.disconnect();
  await redis.stop();
});

function run(...words: readonly string[]): Promise<Ended> {
  return processes.run(words, { cwd, env });
}

/** Gives what it printed; it must end with 0. */
async function does(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...words);
  if (code !== 0) throw new Error(`payrun ${words.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}

async function submit(name: string, rows: readonly (readonly [string, string])[], ...more: readonly string[]) {
  writeFileSync(join(cwd, name), payoutFile(rows));
  return (JSON.parse(await does('submit', name, '--json', ...more)) as { runId: string }).runId;
}

async function outcomesOf(runId: string): Promise<Record<string, number>> {
  return (JSON.parse(await does('status', runId, '--json')) as { outcomes: Record<string, number> }).outcomes;
}

/** Commands that were refused to somebody, as the server tells of them. */
async function refusals(): Promise<string[]> {
  return ((await admin.call('ACL', 'LOG')) as unknown[][]).map((entry) => entry.join(' '));
}

describe('with the users of docs/redis.acl', () => {
  test('payrun pays, reports, stops, releases, blocks, is looked at and backed up without one refusal', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const worker = processes.start(['worker'], { cwd, env });
    await worker.said('is ready');
    const port = await freePort();
    const serving = processes.start(['serve', '--port', String(port)], {
      cwd,
      env: { ...env, PAYRUN_DATA_DIR: join(cwd, 'web') },
    });
    await serving.said('is ready');
    const paid = await submit('paid.csv', ROWS);
    await does('preview', 'paid.csv');
    await vi.waitUntil(async () => (await outcomesOf(paid))['paid'] === ROWS.length, WAIT);
    expect(readBook(service.folder)).toHaveLength(ROWS.length);
    expect((await does('report', paid)).match(/,paid,/g)).toHaveLength(ROWS.length);

    const blocked = await submit('blocked.csv', [['B-1', '5.00']], '--at', LATER);
    await does('block', BENEFICIARY, '--reason', 'account taken over', '--as', 'anna');
    await does('resume', blocked);
    await vi.waitUntil(async () => (await outcomesOf(blocked))['held'] === 1, WAIT);
    await does('drop', blocked, 'B-1', '--reason', 'not ours', '--as', 'anna');
    await does('drop', blocked, 'B-1', '--reason', 'not ours', '--as', 'bob');
    for (const name of ['anna', 'bob']) await does('unblock', BENEFICIARY, '--as', name);

    const later = await submit('later.csv', [['L-1', '5.00']], '--at', LATER);
    for (const act of ['pause', 'cancel']) await does(act, later, '--reason', 'wrong month');
    await does('halt', '--reason', 'the bank called', '--as', 'anna');
    for (const name of ['anna', 'bob']) await does('release', '--as', name);

    await does('schedule', 'set', 'nightly', '--cron', '0 3 * * *', '--zone', 'UTC', '--do', 'purge');
    await does('user', 'add', 'anna', '--role', 'admin', '--as', 'anna');
    await does('key', 'create', 'books', '--role', 'viewer', '--as', 'anna');
    mkdirSync(join(cwd, 'inbox/in'), { recursive: true });
    writeFileSync(join(cwd, 'inbox/in/dropped.csv'), payoutFile([['D-1', '5.00']]));
    await does('inbox', 'inbox', '--once');
    const looks = [
      ['list'],
      ['list', paid],
      ['show', paid, 'R-1'],
      ['retry-file', blocked],
      ['block'],
      ['settings'],
      ['notifications'],
      ['schedule', 'list'],
      ['user', 'list'],
      ['key', 'list'],
    ];
    await Promise.all(looks.map((words) => does(...words)));
    await does('purge', '--older-than', '400d', '--as', 'anna');
    await does('audit', 'verify');
    const doctor = await does('doctor');
    expect(doctor).toMatch(/^ok +Redis access +over the network, only with a password/m);
    await does('backup', '--to', 'copy');
    expect(readFileSync(join(cwd, 'copy/SHA256SUMS'), 'utf8')).toContain('redis/');

    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(204);
    for (const started of [worker, serving]) {
      started.kill('SIGTERM');
      expect(await started.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('NOPERM') });
    }
    expect(await refusals()).toEqual([]);
  });

  test.each([
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['CONFIG', 'SET', 'appendonly', 'no'],
    ['DEBUG', 'SLEEP', '0'],
    ['MODULE', 'LIST'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['SELECT', '1'],
    ['SHUTDOWN', 'NOSAVE'],
    ['REPLICAOF', 'NO', 'ONE'],
    ['ACL', 'LIST'],
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['SCRIPT', 'FLUSH'],
    ['FUNCTION', 'LIST'],
    ['RESTORE', '{payrun}:x', '0', 'x'],
    ['MIGRATE', 'host', '1', '{payrun}:x', '0', '1'],
    ['GET', 'other'],
    ['SET', '{payrun}x:key', 'value'],
    ['HGETALL', '{other}:head'],
    ['EVAL', "return redis.call('GET', 'other')", '0'],
    ['EVAL', "return redis.call('FLUSHALL')", '0'],
  ])('its user is refused %s %s %s', async (command, ...words) => {
    const own = new Redis(redis.url);
    try {
      await expect(own.call(command, ...words)).rejects.toThrow(/NOPERM|can't (run|access)|not allowed/);
    } finally {
      own.disconnect();
    }
  });

  test('the server writes down each refusal', async () => {
    const own = new Redis(redis.url);
    await expect(own.flushall()).rejects.toThrow('NOPERM');
    own.disconnect();
    expect(await refusals()).toContainEqual(expect.stringContaining('object flushall username payrun'));
  });

  test('whoever names no user is refused all', async () => {
    const nobody = new Redis(`redis://${redis.host}`, { enableReadyCheck: false });
    try {
      for (const command of ['PING', 'INFO', 'GET']) await expect(nobody.call(command, 'x')).rejects.toThrow(/NOAUTH/);
    } finally {
      nobody.disconnect();
    }
  });
});
