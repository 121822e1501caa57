import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { useTestRedis } from '../support/redis.ts';
import { type Ended, payoutFile, usePayrun } from './payrun.ts';

// It starts many processes.
vi.setConfig({ testTimeout: 180_000 });

const ASCII_ALONE = /^\p{ASCII}*$/u;

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let runId: string;
beforeAll(async () => {
  writeFileSync(join(payrun.dir, 'Köln.csv'), payoutFile([['INV-1', '10.00']]));
  const { stdout } = await payrun.run(['run', 'Köln.csv', '--json']);
  runId = z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
});

const COMMANDS = [
  ['--help'],
  ['help', 'settings'],
  ['help', 'probe'],
  ['run', 'Köln.csv'],
  ['watch', 'RUN'],
  ['status', 'RUN'],
  ['list'],
  ['list', 'RUN'],
  ['show', 'RUN', 'INV-1'],
  ['report', 'RUN', '--format', 'summary'],
  ['audit', 'list'],
  ['nothing'],
];

describe.each([{ LANG: 'C' }, { TERM: 'dumb' }])('with %j', (variables) => {
  const run = async (words: readonly string[]): Promise<Ended> =>
    await payrun.run(
      words.map((word) => (word === 'RUN' ? runId : word)),
      variables,
    );

  test.each(COMMANDS)(
    'payrun %s %s shows ASCII alone, and nothing that is only marked as left out',
    async (...words) => {
      const { stdout, stderr } = await run(words);
      expect(`${stdout}${stderr}`).not.toBe('');
      expect(stdout).toMatch(ASCII_ALONE);
      expect(stderr).toMatch(ASCII_ALONE);
      expect(`${stdout}${stderr}`.replaceAll('K?ln', '').replaceAll('--format <format>', '')).not.toMatch(/\w\?\w/);
    },
  );

  test('JSON is escaped, and has the same values', async () => {
    const { stdout } = await run(['status', 'RUN', '--json']);
    expect(stdout).toMatch(ASCII_ALONE);
    expect(JSON.parse(stdout)).toMatchObject({ file: { name: 'Köln.csv' } });
    const { stdout: runs } = await run(['list', '--json']);
    expect(runs).toMatch(ASCII_ALONE);
    expect(JSON.parse(runs)).toMatchObject([{ file: { name: 'Köln.csv' } }]);
  });
});

test('elsewhere the usual signs stand', async () => {
  expect((await payrun.run(['watch', runId], { LANG: 'en_US.UTF-8' })).stdout).toContain(' · ');
  expect((await payrun.run(['help', 'probe'], { LANG: 'C.UTF-8' })).stdout).toContain('’');
});
