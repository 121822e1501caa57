import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { payoutFile, usePayrun } from './payrun.ts';

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() });
writeFileSync(join(payrun.dir, 'a.csv'), payoutFile([['INV-1', '10.00']]));

test('retry-file ends with the command that pays its rows, or with the one that tells how far the run is', async () => {
  const { stdout } = await payrun.run(['submit', 'a.csv', '--sandbox', '--json']);
  const { runId } = z.looseObject({ runId: z.string() }).parse(JSON.parse(stdout));
  const lastOf = async (): Promise<string | undefined> => {
    const { stderr } = await payrun.run(['retry-file', runId, '--output', 'again.csv']);
    return stderr.trimEnd().split('\n').at(-1);
  };
  expect(await lastOf()).toBe(`how far the run is -> payrun status ${runId}`);
  expect(await payrun.run(['cancel', runId])).toMatchObject({ code: 0 });
  expect(await lastOf()).toBe('pay them -> payrun run again.csv --again');
});

test.each([
  ['run --wait', '--wait needs a value: <duration>.'],
  ['user add bob', '--as <name> is needed.'],
  ['notifications now', '"notifications" takes no words after it, and 1 was given.'],
  ['validate a b c', '"validate" takes 1 word after it, and 3 were given.'],
])('payrun %s says in plain words what is wrong', async (words, line) => {
  const { code, stderr } = await payrun.run(words.split(' '));
  expect(code).toBe(2);
  expect(stderr.split('\n')[0]).toBe(line);
});

test('probe without settings names no option that it does not have', async () => {
  const { code, stderr } = await payrun.run(['probe']);
  expect(code).toBe(2);
  expect(stderr).toBe('No payments service is configured.\nSet the five service settings (see docs/settings.md).\n');
});
