import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { usePayrun } from './payrun.ts';

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() });

test('each beneficiary that a payout file may have can be blocked, also one whose id has no version of RFC 9562', async () => {
  const id = '11111111-2222-3333-4444-555555555555';
  const header = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
  writeFileSync(join(payrun.dir, 'a.csv'), `${header}\nINV-1,${id},10.00,USD,MXN\n`);
  expect((await payrun.run(['submit', 'a.csv', '--sandbox'])).code).toBe(0);
  const blocked = await payrun.run(['block', id, '--reason', 'fraud', '--as', 'bob', '--sandbox']);
  expect([blocked.code, blocked.stderr]).toEqual([0, expect.any(String)]);
  expect((await payrun.run(['block', '--sandbox'])).stdout).toContain(id);
});
