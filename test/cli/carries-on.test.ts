import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { useTestRedis } from '../support/redis.ts';
import { payoutFile, usePayrun } from './payrun.ts';

const redis = await useTestRedis();
const payrun = usePayrun();
const ENV_FILE = 'of the night.env';
const TEMPLATE = ['--template', 'excel-de'];
/** A terminal shows it, but in ASCII. */
const NAME = "bob's;é.csv";
const TYPED = `payrun --env-file '${ENV_FILE}'`;
const WITH_FILE = ['--env-file', ENV_FILE];

beforeAll(async () => {
  writeFileSync(join(payrun.dir, ENV_FILE), `REDIS_URL=${redis.url}\n`, { mode: 0o600 });
  for (const [index, name] of [NAME, 'excel.csv'].entries()) {
    const file = payoutFile([[`INV-${index}`, `1${index}.00`]]);
    writeFileSync(join(payrun.dir, name), file.replaceAll(',', ';').replaceAll('.', ','));
    await payrun.run(['submit', name, ...TEMPLATE, '--sandbox', ...WITH_FILE]);
  }
  // So that a run ends with rows that wait.
  await payrun.run([...WITH_FILE, 'halt', '--sandbox', '--reason', 'so']);
});

describe('what a summary names as the next command', () => {
  test.each([
    {
      file: 'excel.csv',
      options: '--template excel-de',
      env: { LANG: 'C' },
      typed: 'run excel.csv --template excel-de',
    },
    {
      file: NAME,
      options: '--template excel-de --skip-invalid --report-dir out',
      env: {},
      typed: String.raw`run 'bob'\''s;é.csv' --template excel-de --skip-invalid --report-dir out`,
    },
    { file: NAME, options: '--template excel-de', env: { LANG: 'C' }, typed: 'worker --sandbox' },
  ])('hands in the same file as $file $options with $env', async ({ file, options, env, typed }) => {
    const { stdout } = await payrun.run([...WITH_FILE, 'run', file, ...options.split(' ')], env);
    expect(stdout).toContain(`1 wait to be sent -> ${TYPED} ${typed}\n`);
  });

  test('reads the file of settings that was named, in each command that a text names', async () => {
    const { stdout, stderr } = await payrun.run([
      'submit',
      'excel.csv',
      '--template',
      'excel-de',
      '--sandbox',
      ...WITH_FILE,
    ]);
    expect(stdout).toContain(`-> ${TYPED} worker --sandbox\n`);
    expect(stderr).toMatch(new RegExp(`"${TYPED} watch [^"]+" shows how far it is; .*: ${TYPED} worker --sandbox\n$`));
    expect((await payrun.run([...WITH_FILE, 'show', 'none', 'none'])).stderr).toContain(`${TYPED} list`);
  });

  test('names no file of settings where none was named, and JSON has none', async () => {
    const { stderr } = await payrun.run(['list', '20260131-k3f9xq'], { REDIS_URL: redis.url });
    expect(stderr).toContain('payrun list');
    expect(stderr).not.toContain('--env-file');
    const json = await payrun.run([...WITH_FILE, 'list', '--json']);
    expect(z.array(z.unknown()).parse(JSON.parse(json.stdout))).not.toEqual([]);
    expect(json.stdout).not.toContain('--env-file');
  });
});
