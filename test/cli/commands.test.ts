import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { explain } from '../../src/cli/explain.ts';
import { exitCodeOfUsage, openProgram } from '../../src/cli/program.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { selfSignedUrl } from '../pay/unreachable.ts';
import { makeLedger } from '../runs/opened-app.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import {
  doctorSchema,
  type Ended,
  parsed,
  payoutFile,
  problemsSchema,
  runSchema,
  statusSchema,
  usePayrun,
} from './payrun.ts';

const SAMPLES = resolve(import.meta.dirname, '../../samples');
const VERSION = JSON.parse(readFileSync(join(SAMPLES, '../package.json'), 'utf8')).version;
const NOWHERE = {
  PAYRUN_SERVICE_URL: 'http://127.0.0.1:9',
  PAYRUN_CLIENT_ID: 'id',
  PAYRUN_CLIENT_SECRET: 'secret',
  PAYRUN_TENANT_ID: 'tenant',
  PAYRUN_ENVIRONMENT: 'test',
};

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
/** A ledger and data directory of its own for each test. */
let place: Record<string, string>;
let places = 0;

beforeAll(async () => {
  writeFileSync(
    join(payrun.dir, 'two.csv'),
    payoutFile([
      ['INV-1', '10.00'],
      ['INV-2', '20.00'],
    ]),
  );
}, 180_000);

// Each test starts several processes.
vi.setConfig({ testTimeout: 180_000 });

beforeEach(() => {
  places++;
  place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, `data-${places}`) };
});

const run = (...words: string[]): Promise<Ended> => payrun.run(words, place);

async function submitTwo(): Promise<string> {
  const { stdout } = await run('submit', 'two.csv', '--sandbox', '--json');
  return parsed(runSchema, stdout).runId;
}

const ALL = await openProgram({ end: () => {} });

describe('help', () => {
  test('names the commands group by group', () => {
    expect(ALL.commands.map((command) => command.name())).toEqual(
      'validate preview run submit retry-file list status watch show report reconcile verify audit approve allow drop resolve block unblock halt release pause resume cancel write-off adopt-ledger worker serve inbox schedule sandbox init settings doctor probe template notifications user key backup purge completion help completion-server'.split(
        ' ',
      ),
    );
  });

  test.each(ALL.commands.map((command) => ({ name: command.name(), command })))(
    '$name --help tells what it does, each option, and an example',
    ({ name, command }) => {
      let help = '';
      command.configureOutput({ writeOut: (text) => void (help += text) });
      command.outputHelp();
      expect(command.description()).not.toBe('');
      expect(command.options.filter(({ description }) => description === '')).toEqual([]);
      expect(help).toMatch(new RegExp(`Examples?:\n  .*payrun ${name}\\b`));
    },
  );
});

/** What a command line that is wrong comes to, before anything is opened. */
async function misuse(words: readonly string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const program = await openProgram({ end: () => {} });
  listenTo(program, (text) => void (said += text));
  const error: unknown = await program.parseAsync(words, { from: 'user' }).catch((thrown: unknown) => thrown);
  const code = exitCodeOfUsage(error);
  if (code !== undefined) return { code, said };
  const { text, exitCode } = explain(error);
  return { code: exitCode, said: `${said}${text}` };
}

function listenTo(command: Command, writeErr: (text: string) => void): void {
  command.configureOutput({ writeErr });
  for (const nested of command.commands) listenTo(nested, writeErr);
}

describe('usage', () => {
  test.each([
    { words: ['--help'], code: 0, says: /^Usage: payrun/ },
    { words: ['--version'], code: 0, says: new RegExp(`^${VERSION}\n$`) },
    { words: ['help', 'report'], code: 0, says: /^Usage: payrun report/ },
  ])('$words exits 0 and prints on standard output alone', async ({ words, code, says }) => {
    const ended = await run(...words);
    expect(ended).toMatchObject({ code, stderr: '' });
    expect(ended.stdout).toMatch(says);
  });

  test.each([
    { words: [], says: /Usage: payrun/ },
    { words: ['statu', 'x'], says: /Did you mean status/ },
    { words: ['list', '--jsn'], says: /Did you mean --json.*\n.*payrun list --help/s },
    { words: ['submit', 'two.csv'], says: /No payments service is configured/ },
    { words: ['worker'], says: /No payments service is configured/ },
    { words: ['status', 'no\u001b[31m-run'], says: /There is no run no\\u\{1b\}\[31m-run/ },
  ])('$words exits 2 and says on standard error alone what to do', async ({ words, says }) => {
    await makeLedger(redis.url, place);
    const { code, stdout, stderr } = await run(...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^ {4}at |defect/m);
  });

  test.each([
    { words: ['settings', 'adopted'], says: /payrun settings/ },
    { words: ['sandbox', 'credential', 'create'], says: /payrun sandbox credential create --help/ },
    { words: ['show', 'x'], says: /missing required argument 'reference'/ },
    { words: ['pause', 'x'], says: /--reason/ },
    {
      words: ['status'],
      says: /missing required argument 'run'\nSee "payrun status --help"\. "payrun list" shows the runs\./,
    },
    { words: ['release'], says: /--as/ },
    { words: ['halt', '--reason', ' '], says: /--reason must not be empty/ },
    { words: ['serve', '--port', '99999'], says: /--port must be an integer from 1 to 65535/ },
    { words: ['submit', 'two.csv', '--sandbox', '--as', 'a|b'], says: /--as must have no/ },
    { words: ['run', 'two.csv', '--as', 'a\nb'], says: /--as must have no/ },
    { words: ['list', '--outcome', 'held'], says: /payrun list RUN --outcome held/ },
    { words: ['list', 'x', '--outcome', 'lost'], says: /Allowed choices are waiting, unknown/ },
    { words: ['report', 'x', '--format', 'ods'], says: /Allowed choices are csv, xlsx, json, summary/ },
    { words: ['report', 'x', '--format', 'csv', '--json'], says: /exclude each other/ },
  ])('$words is refused with exit code 2 before anything is opened', async ({ words, says }) => {
    const { code, said } = await misuse(words);
    expect(code).toBe(2);
    expect(said).toMatch(says);
  });

  test('a Redis that cannot be reached is exit 69, for a look as for a stop', async () => {
    const env = { ...place, REDIS_URL: 'redis://127.0.0.1:9' };
    const ended = await Promise.all([payrun.run(['list'], env), payrun.run(['halt', '--reason', 'x'], env)]);
    expect(ended.map(({ code }) => code)).toEqual([69, 69]);
  });
});

describe('validate', () => {
  test.each([
    { file: 'payouts.csv', code: 0 },
    { file: 'mistakes.csv', code: 3 },
  ])('$file exits $code, and touches nothing', async ({ file, code }) => {
    const words = ['validate', join(SAMPLES, file)];
    const wrong = { ...place, REDIS_URL: 'redis://127.0.0.1:9', PAYRUN_NO_SUCH: 'x' };
    const [json, text] = await Promise.all([payrun.run([...words, '--json'], wrong), payrun.run(words, wrong)]);
    const found = parsed(problemsSchema, json.stdout);
    expect(found.problemsTotal === 0).toBe(code === 0);
    expect(json).toMatchObject({ code, stderr: '' });
    expect(text).toMatchObject({ code, stderr: '' });
    for (const problem of found.problems) expect(text.stdout).toContain(problem.code);
  });

  test.each([
    {
      file: 'payouts.csv',
      options: [],
      next: ['see what it would cost -> payrun preview FILE', 'pay it -> payrun run FILE'],
    },
    {
      file: 'mistakes.csv',
      options: [],
      next: [
        'write the problems beside their rows -> payrun validate FILE --marked-up COPY',
        'pay the 2 valid rows alone -> payrun run FILE --skip-invalid',
      ],
    },
    {
      file: 'mistakes.csv',
      options: ['--marked-up', 'copy.csv'],
      next: ['pay the 2 valid rows alone -> payrun run FILE --skip-invalid'],
    },
  ])('$file $options ends with the commands that come next', async ({ file, options, next }) => {
    const path = join(SAMPLES, file);
    const { stdout } = await run('validate', path, ...options);
    const commands = stdout.split('\n').filter((line) => line.includes(' -> '));
    expect(commands).toEqual(next.map((line) => line.replace('FILE', path)));
  });

  test('a file that is not there exits 3', async () => {
    expect(await run('validate', 'nowhere.csv')).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('submit', () => {
  test('a refused file exits 3 with its problems, and makes no run', async () => {
    const { code, stdout } = await run('submit', join(SAMPLES, 'mistakes.csv'), '--sandbox', '--json');
    expect(code).toBe(3);
    expect(parsed(problemsSchema, stdout).problemsTotal).toBeGreaterThan(0);
    expect(await run('list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  test('--sandbox beside a configured service exits 2', async () => {
    const { code, stderr } = await payrun.run(['submit', 'two.csv', '--sandbox'], { ...place, ...NOWHERE });
    expect(code).toBe(2);
    expect(stderr).toContain('Leave --sandbox out');
  });

  test('for a service needs none that answers; then it is looked at and stopped without its settings', async () => {
    const env = { ...place, ...NOWHERE };
    const { code, stdout } = await payrun.run(['submit', 'two.csv', '--json'], env);
    const submitted = parsed(runSchema, stdout);
    expect(code).toBe(0);
    expect(submitted.sandbox).toBe(false);
    const [status, report, halt] = await Promise.all([
      run('status', submitted.runId, '--json'),
      run('report', submitted.runId),
      run('halt', '--reason', 'wrong file'),
    ]);
    expect({ ...parsed(statusSchema, status.stdout), ending: undefined, outages: undefined }).toEqual(submitted);
    expect(report).toMatchObject({ code: 2, stdout: '' });
    expect(halt.stdout).toContain('Everything is halted: wrong file (service http://127.0.0.1:9 test tenant');
  });
});

test('a worker that waits for its service stops when it is told to', async () => {
  const working = payrun.start(['worker'], { ...place, ...NOWHERE });
  await working.said('no access token yet');
  working.child.kill('SIGINT');
  expect(await working.ended).toMatchObject({ code: 0, stdout: '' });
});

describe('control', () => {
  test('pause, resume and cancel move the run, and say what it is now', async () => {
    const runId = await submitTwo();
    const paused = await run('pause', runId, '--reason', 'rates look wrong', '--as', 'anna', '--json');
    expect(parsed(runSchema, paused.stdout).state).toBe('paused');
    const [status, watch] = await Promise.all([run('status', runId), run('watch', runId)]);
    expect(status.stdout).toContain('paused: rates look wrong');
    expect(watch.stdout).toMatch(/^\S+Z {2}paused 0\/2 rows .* {2}rates look wrong\n$/);
    expect(watch.code).toBe(4);
    expect(parsed(runSchema, (await run('resume', runId, '--json')).stdout).state).toBe('paying');

    const one = parsed(runSchema, (await run('cancel', runId, 'INV-2', '--json')).stdout);
    expect(one).toMatchObject({ state: 'paying', outcomes: { waiting: 1, cancelled: 1 } });
    const all = parsed(runSchema, (await run('cancel', runId, '--json')).stdout);
    expect(all).toMatchObject({ state: 'cancelled', outcomes: { waiting: 0, cancelled: 2 } });
    const late = await run('pause', runId, '--reason', 'too late');
    expect(late).toMatchObject({ code: 2, stdout: '' });
    expect(late.stderr).toContain('cannot be paused');
  });

  test('a halt is released by two people, whatever the case of their names, and keeps runs from being resumed', async () => {
    const runId = await submitTwo();
    await run('pause', runId, '--reason', 'wait');
    expect(await run('halt', '--reason', 'wrong account', '--as', 'anna')).toMatchObject({
      code: 0,
      stderr: 'Two people release it: "payrun release --as NAME".\n',
    });
    const resume = await run('resume', runId);
    expect(resume.code).toBe(2);
    expect(resume.stderr).toContain('Two people release the halt first');
    expect((await run('status', runId)).stderr).toContain('Everything is halted: wrong account');

    const proposed = await run('release', '--as', 'anna', '--json');
    expect(JSON.parse(proposed.stdout)).toEqual({
      halt: 'wrong account',
      releaseBy: 'anna',
      service: 'sandbox',
      ledger: expect.stringContaining(place['PAYRUN_PREFIX'] ?? ''),
    });
    expect(proposed.stderr).toContain('Still needed: another person');
    expect(await run('release', '--as', 'Anna')).toMatchObject({ code: 2, stdout: '' });
    const released = await run('release', '--as', 'bob', '--json');
    expect(JSON.parse(released.stdout)).toMatchObject({ halt: null, releaseBy: null });
    expect(await run('release', '--as', 'bob')).toMatchObject({ code: 0, stderr: 'There was nothing to release.\n' });
  });
});

test('settings shows where a process differs from the ledger, and adopt ends it', async () => {
  await submitTwo();
  const other = { ...place, PAYRUN_QUOTE_GRACE: '9s' };
  const shown = await payrun.run(['settings', '--json'], other);
  expect(shown.code).toBe(0);
  const { ledger, process: own, same } = JSON.parse(shown.stdout);
  expect([ledger[1], own[1], same]).toEqual(['quote grace 1000 ms', 'quote grace 9000 ms', false]);
  const adopted = await payrun.run(['settings', 'adopt', '--json'], other);
  expect(JSON.parse(adopted.stdout)).toMatchObject({ ledger: own, same: true });
  const back = await run('settings');
  expect(back.stdout).toMatch(/^quote grace 9000 ms .*quote grace 1000 ms$/m);
});

test('settings are not adopted while a worker lives, who is named', async () => {
  await submitTwo();
  const other = { ...place, PAYRUN_QUOTE_GRACE: '9s' };
  const adopt = (): Promise<Ended> => payrun.run(['settings', 'adopt'], other);
  const worker = payrun.start(['worker', '--sandbox'], place);
  await worker.said('is ready');
  const named = `while a worker runs: process ${worker.child.pid} on ${hostname()}.`;
  await vi.waitFor(async () => expect(await adopt()).toMatchObject({ code: 2 }), { timeout: 60_000 });
  expect((await adopt()).stderr).toContain(named);
  expect((await run('settings')).stdout).toContain('quote grace 1000 ms');
  worker.child.kill('SIGTERM');
  await worker.ended;
  expect(await adopt()).toMatchObject({ code: 0, stderr: expect.stringContaining('Changed.') });
});

test('a worker that was frozen while other settings were adopted sends nothing and ends', async () => {
  const worker = payrun.start(['worker', '--sandbox'], place);
  await worker.said('is ready');
  worker.child.kill('SIGSTOP');
  // As 10 seconds would do.
  await redis.redis.del(`${place['PAYRUN_PREFIX']}:bull:living`);
  const other = { ...place, PAYRUN_QUOTE_GRACE: '9s' };
  expect(await payrun.run(['settings', 'adopt'], other)).toMatchObject({ code: 0 });
  const { stdout } = await payrun.run(['submit', 'two.csv', '--sandbox', '--json'], other);
  worker.child.kill('SIGCONT');
  const { code, stderr } = await worker.ended;
  expect(code).toBe(2);
  expect(stderr).toContain('The ledger was opened with other safety settings.');
  const status = await payrun.run(['status', parsed(runSchema, stdout).runId, '--json'], other);
  expect(parsed(statusSchema, status.stdout).outcomes).toMatchObject({ waiting: 2 });
});

test('settings that change limits or approval are adopted by two people', async () => {
  await submitTwo();
  const config = join(payrun.dir, 'limits.json');
  writeFileSync(config, JSON.stringify({ limits: { currencies: { USD: { day: '100.00' } } } }));
  const adopt = (name: string): Promise<Ended> =>
    payrun.run(['settings', 'adopt', '--as', name], { ...place, PAYRUN_CONFIG: config });
  expect((await adopt('anna')).stderr).toContain('another person');
  expect(await adopt('ANNA')).toMatchObject({ code: 2, stderr: expect.stringContaining('has proposed') });
  expect((await adopt('bob')).stderr).toContain('Changed.');
  expect((await run('settings')).stdout).toContain('limits');
});

function notOk(ended: Ended): string[] {
  return parsed(doctorSchema, ended.stdout).flatMap(({ check, ok }) => (ok ? [] : [check]));
}

describe('doctor', () => {
  test('exits 0 when all is well, makes no ledger, and prints a table for people', async () => {
    const [json, text] = await Promise.all([run('doctor', '--json'), run('doctor')]);
    expect(notOk(json)).toEqual([]);
    expect([json.code, text.code]).toEqual([0, 0]);
    expect(text.stdout).toMatch(
      /^warning +ledger +none yet.*\n +-> Right before the first run\. Later, load the settings/m,
    );
    expect(await redis.redis.exists(`${place['PAYRUN_PREFIX']}:head`)).toBe(0);
  });

  test('exits 2 and names the remedy for what is not as it should be', async () => {
    await run('halt', '--reason', 'wrong account', '--sandbox');
    await redis.redis.config('SET', 'appendfsync', 'everysec');
    onTestFinished(async () => {
      await redis.redis.config('SET', 'appendfsync', 'always');
    });
    const ended = await payrun.run(['doctor', '--json'], { ...place, PAYRUN_QUOTE_GRACE: '9s' });
    expect(notOk(ended)).toEqual(['Redis durability', 'safety settings', 'halt']);
    expect(ended.code).toBe(2);
    for (const { ok, remedy } of parsed(doctorSchema, ended.stdout)) expect(remedy === null).toBe(ok);
    expect(ended.stderr).toBe('');
  });

  test('reports settings that are wrong, and looks at nothing else', async () => {
    const ended = await payrun.run(['doctor', '--json'], { ...place, PAYRUN_WINDOW: 'x' });
    expect(ended.code).toBe(2);
    expect(parsed(doctorSchema, ended.stdout).find(({ check }) => check === 'settings')).toMatchObject({ ok: false });
    expect(notOk(ended)).not.toContain('Node');
  });

  test('exits 69 when neither Redis nor the service can be reached, and says so of both', async () => {
    const ended = await payrun.run(['doctor', '--json'], { ...place, ...NOWHERE, REDIS_URL: 'redis://127.0.0.1:9' });
    expect(ended.code).toBe(69);
    expect(notOk(ended)).toEqual(expect.arrayContaining(['Redis', 'service']));
  });

  test('asks a configured service for a token and tests it', async () => {
    const folder = join(payrun.dir, 'service');
    const sandbox = await startSandbox({ folder, clock: systemClock, random: systemRandom });
    onTestFinished(() => sandbox.close());
    const { clientId, clientSecret } = await sandbox.createCredential('doctor', 'test');
    const service = {
      ...place,
      PAYRUN_SERVICE_URL: sandbox.url('test'),
      PAYRUN_CLIENT_ID: clientId,
      PAYRUN_CLIENT_SECRET: clientSecret,
      PAYRUN_TENANT_ID: sandbox.tenantId,
      PAYRUN_ENVIRONMENT: 'test',
    };
    const [fine, wrong] = await Promise.all([
      payrun.run(['doctor', '--json'], service),
      payrun.run(['doctor', '--json'], { ...service, PAYRUN_CLIENT_SECRET: 'wrong' }),
    ]);
    sandbox.switches.set({ dateSkewMs: 3 * 60 * 60 * 1000 });
    const ahead = await payrun.run(['doctor', '--json'], service);
    expect(parsed(doctorSchema, ahead.stdout).find(({ check }) => check === 'service')).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(/its clock differs from this host's by [34] h$/),
      remedy: expect.stringContaining('Set the clocks.'),
    });
    // Nobody has asked yet what the service keeps to: in test that is a warning.
    expect(notOk(fine)).toEqual([]);
    const found = parsed(doctorSchema, fine.stdout).find(({ check }) => check === 'capabilities');
    expect(found?.remedy).toContain('payrun probe');
    expect(notOk(wrong)).toEqual(['access token']);
    expect([fine.code, wrong.code]).toEqual([0, 2]);
    expect(wrong.stdout).not.toContain(clientSecret);
  });

  test('names PAYRUN_CA_FILE where the certificate of the service does not verify', async () => {
    const url = await selfSignedUrl();
    const ended = await payrun.run(['doctor', '--json'], { ...place, ...NOWHERE, PAYRUN_SERVICE_URL: url });
    const found = parsed(doctorSchema, ended.stdout).find(({ check }) => check === 'service');
    expect(found).toMatchObject({ status: 'FAIL', remedy: expect.stringContaining('PAYRUN_CA_FILE') });
  });

  test('--assumptions lists what is taken for granted', async () => {
    const { code, stdout } = await run('doctor', '--assumptions', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'internalId' }));
  });
});
