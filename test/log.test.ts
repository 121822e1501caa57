import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type LogFields, silentLog, withoutRepeats } from '../src/log.ts';

const ROOT = resolve(import.meta.dirname, '..');
const CANARY = 'canary-4c1d';

const line = z.looseObject({ level: z.number(), time: z.string(), msg: z.string() });
type Line = z.infer<typeof line>;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-log-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const options = { rootDir: join(ROOT, 'src'), outDir: folder, typeRoots: [join(ROOT, 'node_modules/@types')] };
  const project = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: options,
    include: [],
    files: [join(ROOT, 'src/log.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { stdio: 'inherit' });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs statements that write to `log` in a process of their own; gives what came out of it. */
function run(statements: string, level = 'trace'): { stdout: string; stderr: string } {
  const program = `import { openLog } from './log.js';\nconst log = openLog('${level}');\n${statements}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { stdout, stderr };
}

function linesOf(statements: string, level?: string): Line[] {
  const { stderr } = run(statements, level);
  return stderr
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => line.parse(JSON.parse(text)));
}

describe('a log line', () => {
  test('is one JSON object on standard error, with the time in UTC and nothing of the machine', () => {
    const { stdout, stderr } = run(`log.info('paid', { run: 'r1', payout: 'r1-2', ms: 12 });`);
    expect(stdout).toBe('');
    expect(stderr.endsWith('\n')).toBe(true);
    const [first, ...more] = linesOf(`log.info('paid', { run: 'r1', payout: 'r1-2', ms: 12 });`);
    expect(more).toEqual([]);
    expect(first).toEqual({
      level: 30,
      time: expect.stringMatching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z$/),
      run: 'r1',
      payout: 'r1-2',
      ms: 12,
      msg: 'paid',
    });
  });

  test('is there before the process ends, even when it ends at once', () => {
    const lines = linesOf(`for (let i = 0; i < 200; i++) log.warn('line', { count: i });\nprocess.exit(3);`);
    expect(lines.map(({ count }) => count)).toEqual(Array.from({ length: 200 }, (_value, index) => index));
  });

  test.each([
    ['trace', [20, 30, 40, 50]],
    ['debug', [20, 30, 40, 50]],
    ['info', [30, 40, 50]],
    ['warn', [40, 50]],
    ['error', [50]],
    ['fatal', []],
    ['silent', []],
  ])('of level %s and above is written', (level, levels) => {
    const lines = linesOf(`log.debug('a'); log.info('b'); log.warn('c'); log.error('d');`, level);
    expect(lines.map((written) => written.level)).toEqual(levels);
  });
});

describe('an error in a log line', () => {
  test('is its name, code and message', () => {
    const [first] = linesOf(
      `log.warn('lost', { error: Object.assign(new TypeError('reset'), { code: 'ECONNRESET' }) });`,
    );
    expect(first).toMatchObject({ error: 'TypeError: reset', errorCode: 'ECONNRESET', msg: 'lost' });
  });

  test('shows neither its stack nor its cause nor what else it carries', () => {
    const { stderr } = run(`
      const cause = new Error('${CANARY}');
      const error = Object.assign(new Error('outer', { cause }), { headers: { authorization: '${CANARY}' }, body: '${CANARY}', code: 7 });
      log.error('failed', { error });`);
    expect(stderr).toContain('Error: outer');
    expect(stderr).not.toContain(CANARY);
    expect(stderr).not.toMatch(/stack|at file:|node:internal|errorCode/);
  });

  test.each([`'${CANARY}'`, `{ token: '${CANARY}' }`, `['${CANARY}']`])(
    'that is none (%s) is told by its kind only',
    (thrown) => {
      const { stderr } = run(`log.error('failed', { error: ${thrown} });`);
      expect(stderr).not.toContain(CANARY);
      expect(stderr).toMatch(/"error":"(string|object)"/);
    },
  );
});

describe('what stands in a field', () => {
  test('cannot begin a line of its own', () => {
    const lines = linesOf(`log.info('a\\r\\nb', { reason: 'x"}\\r\\n{"level":60,"msg":"forged"}\\u0000' });`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 30, msg: 'a\r\nb', reason: 'x"}\r\n{"level":60,"msg":"forged"}\u0000' });
  });

  test.each([
    ['an escape of a terminal', '\\u001b[2J'],
    ['an 8-bit escape of a terminal', '\\u009b2J'],
    ['a bidi override', '\\u202e'],
    ['a line separator', '\\u2028'],
  ])('reaches no terminal as it is: %s', (_what, text) => {
    const { stderr } = run(`log.info('m', { reason: 'a${text}b' });`);
    // Control, format and line-separator characters; the line's own end is one.
    expect(stderr.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(linesOf(`log.info('m', { reason: 'a${text}b' });`)[0]?.['reason']).toMatch(/^a.+b$/s);
  });

  test('is written only for the fields that a line may carry, whatever else the object holds', () => {
    const { stderr } = run(
      `log.info('m', { run: 'r1', clientSecret: '${CANARY}', beneficiary: { name: '${CANARY}' } });`,
    );
    expect(stderr).toContain('"run":"r1"');
    expect(stderr).not.toContain(CANARY);
  });
});

test('the silent log takes everything and says nothing', () => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    expect(silentLog[level]('m', { error: new Error('x') })).toBeUndefined();
  }
});

describe('a log without repeats', () => {
  test('has an error of many payouts once a minute, and others beside it', () => {
    let at = 0;
    const written: string[] = [];
    const error = (message: string, fields?: LogFields): void => void written.push(`${message} ${fields?.payout}`);
    const log = withoutRepeats({ ...silentLog, error }, () => at);
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    for (let payout = 0; payout < 34; payout++) log.error('it failed', { payout: `p${payout}`, error: full });
    log.error('it failed', { payout: 'p34', error: new Error('another fault') });
    log.error('another thing failed', { payout: 'p35', error: full });
    at = 60_000;
    log.error('it failed', { payout: 'p36', error: full });
    expect(written).toEqual(['it failed p0', 'it failed p34', 'another thing failed p35', 'it failed p36']);
  });

  test('has a warning of many jobs once a minute, and those of another kind of job beside it', () => {
    const written: string[] = [];
    const warn = (message: string, fields?: LogFields): void => void written.push(`${message} ${fields?.job}`);
    const log = withoutRepeats({ ...silentLog, warn }, () => 0);
    for (let first = 2; first < 300; first += 5) {
      const error = new Error(`could not renew lock for job pay-20261127-e6tbe6-${first}-${first + 4}`);
      log.warn('a worker has a fault', { job: 'pay', error });
    }
    log.warn('a worker has a fault', {
      job: 'track',
      error: new Error('could not renew lock for job track-20261127-e6tbe6-2-3'),
    });
    expect(written).toEqual(['a worker has a fault pay', 'a worker has a fault track']);
  });
});

test('a line on a terminal is for people, and steers nothing', () => {
  const program =
    "import { openLog } from './log.js'; openLog('info').warn('it fails', { run: 'r1', reason: '\\u001b[2J', count: 3 });";
  writeFileSync(join(folder, 'on-terminal.js'), program);
  const { stdout } = spawnSync('script', ['-qec', `${process.execPath} on-terminal.js`, '/dev/null'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z warn it fails run="r1" reason="\\u001b\[2J" count=3\r\n$/);
});
