import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { SETTING_NAMES } from '../../src/config/config.ts';
import { type Ended, usePayrun } from './payrun.ts';

const SECRET = 'canary-secret-71c4';
const LINES = `# what payrun pays through
PAYRUN_SERVICE_URL=http://127.0.0.1:9
export PAYRUN_CLIENT_ID='client 7'
PAYRUN_CLIENT_SECRET="${SECRET}"

PAYRUN_TENANT_ID=acme
PAYRUN_ENVIRONMENT=test
REDIS_URL=redis://payrun:${SECRET}@127.0.0.1:9/0
WEB_PORT=8080
`;

const payrun = usePayrun();
afterEach(() => {
  for (const name of ['payrun.env', 'other.env']) rmSync(join(payrun.dir, name), { force: true });
});

function write(name: string, text: string, mode = 0o600): void {
  writeFileSync(join(payrun.dir, name), text);
  chmodSync(join(payrun.dir, name), mode);
}

const sources = z.array(z.strictObject({ name: z.string(), value: z.string(), from: z.string() }));

async function shown(words: readonly string[] = [], env: Record<string, string> = {}) {
  const ended = await payrun.run(['settings', 'show', '--json', ...words], env);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const found = sources.parse(JSON.parse(ended.stdout));
  return Object.fromEntries(found.map(({ name, value, from }) => [name, `${value} from ${from}`]));
}

describe('settings in a file', () => {
  test('payrun.env in the working folder is read, and "settings show" tells each value and where it comes from', async () => {
    write('payrun.env', LINES);
    const found = await shown();
    expect(found).toMatchObject({
      PAYRUN_CLIENT_ID: 'client 7 from payrun.env',
      PAYRUN_TENANT_ID: 'acme from payrun.env',
      PAYRUN_DATA_DIR: `${join(payrun.dir, 'data')} from environment`,
      PAYRUN_CONCURRENCY: '64 from default',
    });
    expect(Object.keys(found).toSorted()).toEqual(SETTING_NAMES.toSorted());
  });

  test('of secrets a fingerprint is shown, the same for the same secret', async () => {
    write('payrun.env', LINES);
    const { stdout } = await payrun.run(['settings', 'show']);
    expect(stdout).not.toContain(SECRET);
    expect(new Set(stdout.match(/sha256 [0-9a-f]{12}/g)).size).toBe(1);
    expect(stdout).toMatch(/redis:\/\/payrun:\(sha256 [0-9a-f]{12}\)@127/);
  });

  test('--env-file names another one, before or after the command, in the place of payrun.env', async () => {
    write('payrun.env', LINES);
    write('other.env', 'PAYRUN_RATE=7\n');
    const one = await shown(['--env-file', 'other.env']);
    expect(one).toMatchObject({ PAYRUN_RATE: '7 from other.env', PAYRUN_TENANT_ID: 'none from default' });
    const before = await payrun.run(['--env-file', 'other.env', 'settings', 'show', '--json']);
    expect(sources.parse(JSON.parse(before.stdout))).toContainEqual({
      name: 'PAYRUN_RATE',
      value: '7',
      from: 'other.env',
    });
  });

  test('a name that is nearly REDIS_URL is refused, for without it payrun would start a ledger of its own', async () => {
    write('payrun.env', 'REDIS_ULR=redis://127.0.0.1:6379\nREDIS_PORT=6379\n');
    const { code, stderr } = await payrun.run(['settings', 'show']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('REDIS_ULR: no such setting; did you mean REDIS_URL?')]);
  });

  test('the environment wins, also with the name of a file for the same setting', async () => {
    write('payrun.env', LINES);
    const file = join(payrun.dir, 'secret');
    writeFileSync(file, 'another', { mode: 0o600 });
    const found = await shown([], { PAYRUN_TENANT_ID: 'umbrella', PAYRUN_CLIENT_SECRET_FILE: file });
    expect(found).toMatchObject({
      PAYRUN_TENANT_ID: 'umbrella from environment',
      PAYRUN_CLIENT_SECRET_FILE: `${file} from environment`,
    });
    expect(found).not.toHaveProperty('PAYRUN_CLIENT_SECRET');
  });

  test.each([
    [
      'that others may read',
      { text: LINES, mode: 0o644 },
      /payrun\.env is not taken: it may be read or written by others: chmod 600/,
    ],
    ['with a line that is no setting', { text: `${LINES}PAYRUN_RATE 7\n`, mode: 0o600 }, /line 10 is not NAME=value/],
    ['with a quote that is not closed', { text: "PAYRUN_TENANT_ID='acme\n", mode: 0o600 }, /line 1 is not NAME=value/],
    [
      'with a setting twice',
      { text: `PAYRUN_RATE=7\n# faster\nexport PAYRUN_RATE=70\n`, mode: 0o600 },
      /line 3 sets PAYRUN_RATE again/,
    ],
    ['with a setting that there is not', { text: 'PAYRUN_RAT=7\n', mode: 0o600 }, /PAYRUN_RAT: no such setting/],
  ])('a file %s is refused', async (_what, { text, mode }, says) => {
    write('payrun.env', text, mode);
    const { code, stderr } = await payrun.run(['list']);
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain(SECRET);
  });

  test('a file that is named and is not there is refused', async () => {
    const { code, stderr } = await payrun.run(['list', '--env-file', 'none.env']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('The file of settings none.env is not taken')]);
  });

  test('help needs no settings', async () => {
    write('payrun.env', LINES, 0o644);
    const ended = await Promise.all([payrun.run(['--help']), payrun.run(['help', 'settings'])]);
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  });
});

const ANSWERS = ['http://127.0.0.1:9', '', 'acme', 'client 7', SECRET, ''];

async function init(answers: readonly string[], words: readonly string[] = []): Promise<Ended> {
  const { child, ended } = payrun.start(['init', ...words]);
  child.stdin.end(answers.map((answer) => `${answer}\n`).join(''));
  return await ended;
}

/** Answers the questions on a terminal as they come; gives what the screen showed. */
async function answerOnTerminal(dialogue: readonly (readonly [question: RegExp, answer: string])[]): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const program = [process.execPath, join(inject('built'), 'src/cli/main.js'), 'init'].join(' ');
  const child = spawn('script', ['-qec', program, '/dev/null'], {
    cwd: payrun.dir,
    env: { PATH, HOME, TERM: 'xterm', PAYRUN_DATA_DIR: join(payrun.dir, 'data') },
  });
  let screen = '';
  const ended = once(child, 'close');
  let asked = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    // oxlint-disable-next-line no-control-regex
    const plain = screen.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
    const [question, answer] = dialogue[asked] ?? [];
    if (question?.test(plain) !== true) return;
    asked++;
    child.stdin.write(`${answer}\r`);
  });
  await ended;
  return screen;
}

describe('payrun init', () => {
  test('writes what it asked for into payrun.env, for its owner alone, and runs doctor with it', async () => {
    const { code, stdout, stderr } = await init(ANSWERS);
    expect(statSync(join(payrun.dir, 'payrun.env')).mode & 0o777).toBe(0o600);
    expect(await shown()).toMatchObject({
      PAYRUN_SERVICE_URL: 'http://127.0.0.1:9 from payrun.env',
      PAYRUN_ENVIRONMENT: 'test from payrun.env',
      PAYRUN_CLIENT_ID: 'client 7 from payrun.env',
    });
    expect(stdout).toContain('in order, for the service http://127.0.0.1:9 test acme');
    // Nothing listens there.
    expect(code).toBe(69);
    expect(`${stdout}${stderr}`).not.toContain(SECRET);
  });

  const QUESTIONS = [/service: $/, /\[test\]: $/, /Tenant: $/, /Client id: $/, /not shown\): $/, /stays \[.*\]: $/];
  const dialogue = QUESTIONS.map((question, at) => [question, ANSWERS[at] ?? ''] as const);

  test('on a terminal, the secret is not shown as it is typed', async () => {
    const screen = await answerOnTerminal(dialogue);
    expect(screen).toContain('client 7');
    expect(screen).toContain('Written: payrun.env');
    expect(screen).not.toContain(SECRET);
    expect(readFileSync(join(payrun.dir, 'payrun.env'), 'utf8')).toContain(SECRET);
  });

  test('on a terminal, a wrong answer is asked for again at once', async () => {
    const screen = await answerOnTerminal([[/service: $/, 'payments.example'], ...dialogue]);
    expect(screen).toMatch(
      /PAYRUN_SERVICE_URL: must be an https:\/\/ or http:\/\/ address\.\s+Address of the payments service: /,
    );
    expect(screen).toContain('Written: payrun.env');
  });

  test('on a terminal, each answer that another one makes wrong is asked for again too', async () => {
    const screen = await answerOnTerminal([
      [/service: $/, 'https://127.0.0.1:9'],
      [/\[test\]: $/, 'prod'],
      ...dialogue.slice(2, 5),
      [/stays \[.*\]: $/, 'data'],
      [/absolute path\.[^]*stays \[.*\]: $/, ''],
      [/confirm it: $/, ''],
      [/is not the tenant\.[^]*confirm it: $/, 'acme'],
    ]);
    expect(screen).toContain('Written: payrun.env');
  });

  test('overwrites nothing', async () => {
    write('payrun.env', LINES);
    expect(await init(ANSWERS)).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') });
    expect(readFileSync(join(payrun.dir, 'payrun.env'), 'utf8')).toBe(LINES);
  });

  test.each([
    { what: 'settings that are wrong', answers: ['ftp://x', ...ANSWERS.slice(1)], code: 2, says: 'PAYRUN_SERVICE_URL' },
    {
      what: 'a data directory that is no absolute path',
      answers: [...ANSWERS.slice(0, 5), 'data'],
      code: 2,
      says: 'Nothing was written.\nStart "payrun init" again.',
    },
    { what: 'answers that end early', answers: ANSWERS.slice(0, 3), code: 130, says: 'nothing was written' },
    {
      what: 'prod without the tenant again',
      answers: ['https://pay.example.com', 'prod', ...ANSWERS.slice(2), 'acne'],
      code: 2,
      says: 'PAYRUN_CONFIRM_PROD',
    },
  ])('writes nothing of $what', async ({ answers, code, says }) => {
    expect(await init(answers, ['other.env'])).toMatchObject({
      code,
      stderr: expect.stringContaining(says),
    });
    expect(() => statSync(join(payrun.dir, 'other.env'))).toThrow('ENOENT');
  });
});
