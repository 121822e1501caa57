import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';

const MINUTES = { timeout: 180_000 };

const redis = await useTestRedis();
const payrun = usePayrun();
let place: Record<string, string>;
let reports: string;
let runId: string;

/** A signed report of a run that was paid through the sandbox, and the public key beside its folder. */
beforeAll(async () => {
  place = { REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() };
  writeFileSync(
    join(payrun.dir, 'two.csv'),
    payoutFile([
      ['INV-1', '10.00'],
      ['INV-2', '20.00'],
    ]),
  );
  writeFileSync(join(payrun.dir, 'one.csv'), payoutFile([['INV-0', '10.00']]));
  await payrun.run(['run', 'one.csv', '--report-dir', join(payrun.dir, 'before')], place);
  const made = await payrun.run(['key', 'sign-init'], place);
  writeFileSync(join(payrun.dir, 'payrun.pub'), made.stdout);
  runId = parsed(runSchema, (await payrun.run(['run', 'two.csv', '--json'], place)).stdout).runId;
  reports = join(payrun.dir, 'data', 'reports');
}, 180_000);

/** A copy of the reports on another machine: nothing of payrun's is there but the public key. */
function elsewhere(name: string): string {
  const folder = join(payrun.dir, name);
  mkdirSync(folder);
  cpSync(reports, folder, { recursive: true });
  cpSync(join(payrun.dir, 'payrun.pub'), join(folder, 'payrun.pub'));
  return folder;
}

describe('payrun key sign-init', MINUTES, () => {
  test('makes the private key for its owner alone, makes no second one, and sign-show prints the public half', async () => {
    expect(statSync(join(payrun.dir, 'data', 'signing-key.pem')).mode & 0o777).toBe(0o600);
    expect(await payrun.run(['key', 'sign-init'], place)).toMatchObject({ code: 2, stdout: '' });
    const nowhere = { ...place, PAYRUN_DATA_DIR: join(payrun.dir, 'nowhere') };
    expect(await payrun.run(['key', 'sign-init'], nowhere)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^There is no ledger in .*: nothing to sign\./),
    });
    const shown = await payrun.run(['key', 'sign-show'], place);
    expect(shown.stdout).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
    expect(shown).toMatchObject({ code: 0, stdout: readFileSync(join(payrun.dir, 'payrun.pub'), 'utf8') });
  });
});

describe('payrun verify', MINUTES, () => {
  test('says in one line what holds, with no settings but wrong ones, no Redis and no service', async () => {
    const folder = elsewhere('whole');
    const { code, stdout } = await payrun.run(['verify', folder, '--key', join(folder, 'payrun.pub')], {
      REDIS_URL: 'redis://127.0.0.1:1',
      PAYRUN_NO_SUCH_SETTING: 'x',
    });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `holds: ${runId}.v1.csv, ${runId}.v1.json are what was signed\n`,
    });
  });

  test('exits 1 and names file, line and column of one digit that was changed', async () => {
    const folder = elsewhere('changed');
    const csv = join(folder, `${runId}.v1.csv`);
    writeFileSync(csv, readFileSync(csv, 'utf8').replace('20.00,SOURCE', '26.00,SOURCE'));
    const { code, stdout } = await payrun.run(['verify', csv, '--key', join(folder, 'payrun.pub')]);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining(`${runId}.v1.csv: it is not what was signed: line 3, column amount`),
    });
    expect(stdout).toContain('26.00 in the CSV, 20.00 in the JSON');
  });

  test('refuses a key that is none, and a place that is not there', async () => {
    expect(await payrun.run(['verify', reports, '--key', 'two.csv'])).toMatchObject({ code: 2, stdout: '' });
    expect(await payrun.run(['verify', 'nowhere', '--key', 'payrun.pub'])).toMatchObject({ code: 2, stdout: '' });
  });
});

/** The reports, and the run's part of the audit log with its signature. */
async function exported(name: string): Promise<string> {
  const folder = elsewhere(name);
  const { code, stdout } = await payrun.run(['audit', 'export', runId, '--output', folder], place);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `${join(folder, `${runId}.audit.log`)}\n${join(folder, `${runId}.audit.sig`)}\n`,
  });
  return folder;
}

describe('payrun audit export', MINUTES, () => {
  test('gives the part of the chain that the reports name, and verify proves both', async () => {
    const folder = await exported('export');
    const { code, stdout } = await payrun.run(['verify', folder, '--key', join(folder, 'payrun.pub')]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `holds: ${runId}.audit.log, ${runId}.v1.csv, ${runId}.v1.json are what was signed\n`,
    });
    const log = readFileSync(join(folder, `${runId}.audit.log`), 'utf8');
    expect(log).toContain('"action":"run.submitted"');
    const [, reported = ''] = /"action":"run.reported".*"csv":"([0-9a-f]+)"/.exec(log) ?? [];
    expect(readFileSync(join(folder, `${runId}.v1.sig`), 'utf8')).toContain(`${reported}  ${runId}.v1.csv`);
  });

  test('and an entry that was changed is found', async () => {
    const folder = await exported('export-changed');
    const log = join(folder, `${runId}.audit.log`);
    writeFileSync(log, readFileSync(log, 'utf8').replace('"rows":"2"', '"rows":"3"'));
    const { code, stdout } = await payrun.run(['verify', folder, '--key', join(folder, 'payrun.pub')]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${runId}.audit.log: it is not what was signed`);
  });
});

test('payrun report says when the last report that was written is older', MINUTES, async () => {
  const words = ['report', runId, '--format', 'summary'];
  expect((await payrun.run(words, place)).stderr).toMatch(/^Service sandbox, ledger .*\.\n$/);
  await redis.redis.hincrby(`${place['PAYRUN_PREFIX']}:run:${runId}`, 'changes', 1);
  const { stderr } = await payrun.run(words, place);
  expect(stderr).toContain('This is newer than v1, the last report that was written');
});

describe('a key that somebody else made', MINUTES, () => {
  test('with openssl signs reports as the file of PAYRUN_SIGNING_KEY_FILE, and its public half proves them', async () => {
    const folder = join(payrun.dir, 'openssl-key');
    mkdirSync(folder);
    const [key, pub] = [join(folder, 'key.pem'), join(folder, 'payrun.pub')];
    execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', key], { stdio: 'ignore' });
    chmodSync(key, 0o600);
    writeFileSync(pub, execFileSync('openssl', ['pkey', '-in', key, '-pubout']));
    const env = {
      REDIS_URL: redis.url,
      PAYRUN_PREFIX: freshPrefix(),
      PAYRUN_DATA_DIR: join(folder, 'data'),
      PAYRUN_SIGNING_KEY_FILE: key,
    };
    const ran = await payrun.run(['run', 'two.csv', '--json'], env);
    const { runId: own, reports: paths } = parsed(runSchema, ran.stdout);
    expect(paths.map((path) => path.replace(/.*\.v/, 'v'))).toEqual(['v1.csv', 'v1.json', 'v1.sig']);
    expect((await payrun.run(['key', 'sign-show'], env)).stdout).toBe(readFileSync(pub, 'utf8'));
    const verified = await payrun.run(['verify', join(folder, 'data', 'reports'), '--key', pub]);
    expect(verified).toMatchObject({ code: 0, stdout: `holds: ${own}.v1.csv, ${own}.v1.json are what was signed\n` });
    const others = await payrun.run(['verify', join(folder, 'data', 'reports'), '--key', 'payrun.pub']);
    expect(others).toMatchObject({ code: 1, stdout: expect.stringContaining('none of those that were given') });
  });
});

describe('docs/verify.md without payrun', () => {
  const page = readFileSync('docs/verify.md', 'utf8');
  /** The commands of the page, as they stand there. */
  const [commands = ''] = /(?<=as they stand\. -->\n```sh\n)[^`]+/.exec(page) ?? [];
  const [chain = ''] = /(?<=names this one by its hashes:\n\n```sh\n)[^`]+/.exec(page) ?? [];
  const [keyId = ''] = /openssl pkey -pubin [^`]+/.exec(page) ?? [];

  function shell(folder: string, input = commands): string {
    return execFileSync('sh', ['-e'], {
      cwd: folder,
      input,
      env: { ...process.env, RUN: runId },
      encoding: 'utf8',
    });
  }

  test('proves a report with sha256sum and openssl alone', () => {
    expect(commands.split('\n').filter(Boolean)).toHaveLength(4);
    const said = shell(elsewhere('openssl'));
    expect(said).toContain('Signature Verified Successfully');
    expect(said).toContain(`${runId}.v1.csv: OK\n${runId}.v1.json: OK\n`);
  });

  test('shows that a version follows the one before, and by which key it was signed', MINUTES, async () => {
    await redis.redis.hincrby(`${place['PAYRUN_PREFIX']}:run:${runId}`, 'changes', 1);
    await payrun.run(['run', 'two.csv'], place);
    const folder = elsewhere('chain');
    const said = shell(folder, chain);
    const [csv, json] = said.split('\n').map((line) => line.split(' ')[0]);
    expect(said).toContain(`previous v1 ${csv} ${json}\n`);
    const id = shell(folder, keyId.replaceAll('\\|', '|')).split(' ')[0];
    expect(readFileSync(join(folder, `${runId}.v2.sig`), 'utf8')).toContain(`\nkey ${id}\n`);
  });

  test.each(['csv', 'json'])('and fails on a %s of which one digit was changed', (ending) => {
    const folder = elsewhere(`openssl-${ending}`);
    const file = join(folder, `${runId}.v1.${ending}`);
    writeFileSync(file, readFileSync(file, 'utf8').replace('20.00', '26.00'));
    expect(() => shell(folder)).toThrow(/sha256sum: WARNING: 1 computed checksum did NOT match/);
  });

  test('and on a signature file of which a hash was changed', () => {
    const folder = elsewhere('openssl-sig');
    const file = join(folder, `${runId}.v1.sig`);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^payout-file ./m, 'payout-file z'));
    expect(() => shell(folder)).toThrow(/./);
    expect(readdirSync(folder)).toContain('signed.txt');
    rmSync(folder, { recursive: true });
  });
});
