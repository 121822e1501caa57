import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { buildPayrun } from '../cli/payrun.ts';

const samples = resolve(import.meta.dirname, '../../samples');
const payrun = buildPayrun();
afterAll(() => payrun.remove());

const small = join(samples, 'small.csv');
const semicolon = join(samples, 'semicolon.csv');
const template = join(samples, 'templates/semicolon.json');

describe('payrun validate', () => {
  test('compares a file with totals that are given, and refuses it when they do not fit', async () => {
    const words = ['validate', semicolon, '--template', template, '--expect-rows', '4'];
    expect(await payrun.run([...words, '--expect-total', 'EUR=52250.56'])).toMatchObject({ code: EXIT.ok });
    const { code, stdout } = await payrun.run([...words, '--expect-total', 'EUR=52250.57', '--json']);
    expect(code).toBe(EXIT.fileRefused);
    expect(JSON.parse(stdout)).toMatchObject({ rows: 4, valid: 4, problems: [{ code: 'E_TOTALS', line: null }] });
  });

  test('takes a template by its name in "payrun template list"', async () => {
    const ended = await payrun.run(['validate', join(samples, 'semicolon.csv'), '--template', 'semicolon', '--json']);
    expect(ended.code).toBe(EXIT.ok);
    expect(JSON.parse(ended.stdout)).toMatchObject({ rows: 4, valid: 4 });
  });

  test('a template is checked by its name in "payrun template list" too', async () => {
    const { code, stdout } = await payrun.run(['template', 'check', 'excel-de']);
    expect([code, stdout]).toEqual([EXIT.ok, expect.stringContaining('What a German Excel saves')]);
  });

  test.each([
    ['a number of rows that is none', ['--expect-rows', '1e3'], '--expect-rows must be'],
    ['a total without a currency', ['--expect-total', '1234.56'], '--expect-total must be'],
    ['a total with a comma', ['--expect-total', 'EUR=1.234,56'], '--expect-total must be'],
    ['a total with too many digits', ['--expect-total', 'JPY=1.5'], 'not an amount of a known currency'],
    ['two totals of a currency', ['--expect-total', 'EUR=1', '--expect-total', 'EUR=2'], 'names a currency twice'],
    ['a template that is not there', ['--template', 'no.json'], 'There is no template no.json.'],
    ['a template that is none', ['--template', small], 'Invalid template'],
  ])('does not go on with %s', async (_what, words, message) => {
    const { code, stdout, stderr } = await payrun.run(['validate', small, ...words]);
    expect({ code, stdout }).toEqual({ code: EXIT.usage, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('writes a marked-up copy, says when it cannot, and never writes over a file', async () => {
    const target = join(payrun.dir, 'marked.csv');
    const words = ['validate', join(samples, 'mistakes.csv'), '--marked-up', target];
    expect(await payrun.run(words)).toMatchObject({
      code: EXIT.fileRefused,
      stderr: expect.stringContaining('two more'),
    });
    expect(existsSync(target)).toBe(true);
    expect(await payrun.run(words)).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining('there already'),
    });
    const none = join(payrun.dir, 'none.csv');
    const damaged = await payrun.run(['validate', semicolon, '--marked-up', none]);
    expect(damaged).toMatchObject({ code: EXIT.fileRefused, stderr: expect.stringContaining('was not written') });
    expect(existsSync(none)).toBe(false);
  });

  test('shows the sums of all rows beside those of the valid ones', async () => {
    const path = join(payrun.dir, 'half.csv');
    const [header, first = ''] = readFileSync(small, 'utf8').split('\n');
    writeFileSync(path, `${header}\n${first}\n${first.replace(/^[^,]*/, 'WRONG').replace(/[0-9a-f]{8}-/, 'x-')}\n`);
    const { stdout } = await payrun.run(['validate', path]);
    expect(stdout).toMatch(/^rows +2, 1 of them valid$/m);
    expect(stdout).toMatch(/^ +in the file +valid rows$/m);
  });

  test('judges by the limits that the settings have for files, whatever else they say', async () => {
    const config = join(payrun.dir, 'limits.json');
    writeFileSync(config, '{"files": {"rowsMax": 3}, "webhooks": [{"name": "books", "secretFile": "absent"}]}');
    const settings = { PAYRUN_CONFIG: config, PAYRUN_ENVIRONMENT: 'prod', REDIS_URL: 'redis://127.0.0.1:9' };
    expect(await payrun.run(['validate', small], settings)).toMatchObject({
      code: EXIT.fileRefused,
      stdout: expect.stringContaining('The file has more than 3 rows.'),
      stderr: '',
    });
    writeFileSync(config, '{"files": {"rowsmax": 3}}');
    expect(await payrun.run(['validate', small], settings)).toMatchObject({
      code: EXIT.usage,
      stdout: '',
      stderr: expect.stringContaining('files.rowsmax: there is no such key'),
    });
  });

  test('takes the totals of a manifest that lies beside the file', async () => {
    const path = join(payrun.dir, 'with-manifest.csv');
    copyFileSync(small, path);
    writeFileSync(`${path}.manifest.json`, '{"rows": 11}');
    expect(await payrun.run(['validate', path])).toMatchObject({
      code: EXIT.fileRefused,
      stdout: expect.stringContaining('the file has 10 rows where 11 were expected'),
    });
  });
});

describe('payrun template', () => {
  test('check tells what a template says, or all that is wrong with it', async () => {
    const sound = await payrun.run(['template', 'check', template]);
    expect(sound).toMatchObject({ code: EXIT.ok, stdout: expect.stringMatching(/amount +is called Betrag/) });
    const path = join(payrun.dir, 'bad.json');
    writeFileSync(path, '{"name": "bad", "delimiter": ":", "colums": {}}');
    const bad = await payrun.run(['template', 'check', path, '--json']);
    expect(bad.code).toBe(EXIT.usage);
    expect(JSON.parse(bad.stdout)).toMatchObject({
      valid: false,
      problems: [expect.stringContaining('delimiter'), expect.any(String)],
    });
  });

  test('list names the samples that come with payrun, and those of a folder', async () => {
    const { code, stdout } = await payrun.run(['template', 'list']);
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(/^erp-export .*erp-export\.json/);
    expect(stdout).not.toContain('of no use');
    const listed = await payrun.run(['template', 'list', payrun.dir, '--json']);
    expect(JSON.parse(listed.stdout)).toContainEqual(expect.objectContaining({ name: null, valid: false }));
    expect(await payrun.run(['template', 'list', join(payrun.dir, 'none')])).toMatchObject({ code: EXIT.usage });
  });
});
