import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { writeBackup } from '../../src/ledger/season/backup.ts';
import { type RedisFiles, readRedisFiles, saveSnapshot } from '../../src/ledger/season/snapshot.ts';
import { runScript } from '../crash/run-script.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { payoutFile } from './payrun.ts';

const TEST_MS_MAX = 180_000;

const processes = useProcesses();
let server: TestRedis;
/** Where a file was paid on the private Redis. */
let place: Place;

beforeAll(async () => {
  server = await startTestRedis();
  place = await paidPlace();
}, TEST_MS_MAX);
afterAll(async () => {
  await server.stop();
});

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Place {
  readonly cwd: string;
  readonly run: (words: readonly string[]) => Promise<Ended>;
}

async function paidPlace(): Promise<Place> {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile([['A-1', '10.00']]));
  const run = (words: readonly string[]): Promise<Ended> => processes.run(words, { cwd });
  expect(await run(['run', 'payouts.csv'])).toMatchObject({ code: 0 });
  return { cwd, run };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .toSorted();
}

describe('payrun backup', { timeout: TEST_MS_MAX }, () => {
  test('--to copies Redis, intent logs, audit copies, identity and reports, with the hash of each, for its owner only', async () => {
    const { cwd, run } = place;
    const made = await run(['backup', '--to', 'copies/first', '--json']);
    expect(made).toMatchObject({ code: 0 });
    const folder = join(cwd, 'copies/first');
    const files = filesBelow(folder);
    const kinds = files.map((name) => name.replace(/[^/]+\.(log|csv|json)$/, '*.$1'));
    expect(new Set(kinds)).toEqual(
      new Set([
        'SHA256SUMS',
        '*.json',
        'audit/*.log',
        'intents/*.log',
        'redis/appendonlydir/appendonly.aof.1.base.rdb',
        'redis/appendonlydir/appendonly.aof.manifest',
        'reports/*.csv',
        'reports/*.json',
      ]),
    );
    expect(files).toEqual(expect.arrayContaining(['backup.json', 'ledger.json', 'peers.json']));
    const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
    expect(sums.map((line) => line.slice(66)).toSorted()).toEqual(files.filter((name) => name !== 'SHA256SUMS'));
    const checked = await runScript('sha256sum -c --quiet SHA256SUMS', { cwd: folder, path: '' });
    expect(checked).toEqual({ code: 0, output: '' });
    for (const name of files) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    expect(JSON.parse(made.stdout)).toMatchObject({ files: files.length - 1, hasRedis: true, service: 'sandbox' });
    expect(readdirSync(join(cwd, '.payrun/redis'))).toEqual(['appendonlydir']);
    expect(readdirSync(join(cwd, 'copies'))).toEqual(['first']);
  });

  test('--to writes over nothing, and not into what it copies', async () => {
    const { cwd, run } = place;
    mkdirSync(join(cwd, 'there'));
    mkdirSync(join(cwd, 'cut.partial'));
    for (const target of ['there', 'cut', '.payrun/copy', '.payrun/reports/copy']) {
      expect(await run(['backup', '--to', target])).toMatchObject({ code: 2, stdout: '' });
    }
    expect(readdirSync(join(cwd, 'there'))).toEqual([]);
    expect(readdirSync(cwd)).not.toContain('there.partial');
  });

  test('is refused where there is no ledger, and where Redis and data directory do not belong together', async () => {
    const { run } = place;
    const folder = processes.folder();
    const empty = await processes.run(['backup', '--to', 'copy'], { cwd: folder });
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing to back up') });
    expect(readdirSync(folder)).toEqual(['data']);
    const identity = join(place.cwd, '.payrun/ledger.json');
    const text = readFileSync(identity, 'utf8');
    onTestFinished(() => writeFileSync(identity, text));
    writeFileSync(identity, text.replace(/"instance":"[^"]+"/, '"instance":"another"'));
    expect(await run(['backup', '--to', 'copy'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('belongs to another ledger'),
    });
  });

  test('without --to names the steps in their order, with the paths of this set-up', async () => {
    const { cwd, run } = place;
    const { code, stdout } = await run(['backup']);
    expect(code).toBe(0);
    const places = ['BGSAVE', `${cwd}/.payrun/redis/dump.rdb`, `${cwd}/.payrun/intents`, `${cwd}/.payrun/reports`];
    const found = places.map((text) => stdout.indexOf(text));
    expect(found).toEqual(found.toSorted((one, other) => one - other));
    expect(found).not.toContain(-1);
  });
});

describe('a backup', () => {
  test('has the intent logs as they are after the snapshot of Redis: they are never older than it', async () => {
    const folder = freshFolder();
    const log = join(folder, 'data/intents/1.log');
    mkdirSync(join(folder, 'data/intents'), { recursive: true });
    writeFileSync(log, 'before');
    const snapshot = join(folder, 'dump.rdb');
    const redis: RedisFiles = { snapshot, base: 'base.rdb', manifest: undefined };
    const saveRedis = async (): Promise<RedisFiles> => {
      writeFileSync(snapshot, 'snapshot');
      writeFileSync(log, 'armed while Redis was saved');
      return redis;
    };
    const source = { dataDir: join(folder, 'data'), reportDir: join(folder, 'data/reports'), saveRedis, about: {} };
    await writeBackup(source, join(folder, 'copy'));
    expect(readFileSync(join(folder, 'copy/intents/1.log'), 'utf8')).toBe('armed while Redis was saved');
    const sums = readFileSync(join(folder, 'copy/SHA256SUMS'), 'utf8');
    expect(sums).toContain(`${createHash('sha256').update('snapshot').digest('hex')}  redis/base.rdb\n`);
  });

  test('that could not be finished has no name that passes for one', async () => {
    const folder = freshFolder();
    const source = {
      dataDir: join(folder, 'data'),
      reportDir: join(folder, 'data/reports'),
      saveRedis: () => Promise.reject(new Error('no')),
      about: {},
    };
    await expect(writeBackup(source, join(folder, 'copy'))).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual(['copy.partial']);
  });
});

describe('a snapshot of Redis', () => {
  test('is a file of everything that was acknowledged before', async () => {
    const files = await readRedisFiles(server.redis);
    await server.redis.set('acknowledged', 'uncommon-value');
    expect(await saveSnapshot(server.redis, files, systemClock)).toBe(true);
    expect(readFileSync(files.snapshot, 'latin1')).toContain('uncommon-value');
    expect(files.manifest?.text).toBe('file appendonly.aof.1.base.rdb seq 1 type b\n');
  });

  test('is not taken from a server on another host, whose file would be of the same name here', async () => {
    const files = await readRedisFiles(server.redis);
    const folder = freshFolder();
    const snapshot = join(folder, 'dump.rdb');
    expect(await saveSnapshot(server.redis, { ...files, snapshot }, systemClock)).toBe(false);
    writeFileSync(snapshot, 'of another server');
    expect(await saveSnapshot(server.redis, { ...files, snapshot }, systemClock)).toBe(false);
  });

  test('waits for one that is being written already', async () => {
    const files = await readRedisFiles(server.redis);
    const both = [1, 2].map(() => saveSnapshot(server.redis, files, systemClock));
    expect(await Promise.all(both)).toEqual([true, true]);
  });

  test('that the server cannot write is refused', async () => {
    const files = await readRedisFiles(server.redis);
    rmSync(files.snapshot, { force: true });
    mkdirSync(join(files.snapshot, 'a folder that is not empty'), { recursive: true });
    await expect(saveSnapshot(server.redis, files, systemClock)).rejects.toThrow('did not save');
  });
});
