import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startOwnSandbox } from '../../src/cli/serve/sandbox-service.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { armPayout, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { buildPayrun, type Payrun } from './payrun.ts';

const QUOTE = '9b2f7a31-0c3d-4f57-8a86-2f3c5c1d7e90';

let redis: TestRedis;
let payrun: Payrun;
beforeAll(async () => {
  redis = await startTestRedis();
  payrun = buildPayrun({ REDIS_URL: redis.url });
}, 180_000);
afterAll(async () => {
  payrun?.remove();
  await redis.stop();
});
vi.setConfig({ testTimeout: 180_000 });

test.each([
  ['another process runs', true],
  ['nobody runs', false],
])('resolve asks the sandbox that %s', async (_who, isRunning) => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, `data-${isRunning}`) };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const own = isRunning ? await startOwnSandbox(app.config.dataDir, app) : undefined;
  onTestFinished(async () => await own?.sandbox.close());
  const runId = await recordRun(app.ledger, { lines: [2] });
  await armPayout(app.ledger, { runId, line: 2 }, QUOTE);
  await movePayout(app.ledger, { runId, line: 2 }, 'unknown', 'held');

  const resolve = (name: string) =>
    payrun.run(['resolve', runId, 'INV-2', '--not-paid', '--reason', 'the bank says no', '--as', name], place);
  const proposed = await resolve('anna');
  expect(proposed).toMatchObject({ code: 0 });
  expect(proposed.stdout).toContain(`the service knows no payment for the quote ${QUOTE}`);
  expect(await resolve('anna')).toMatchObject({ code: 2 });
  expect(await resolve('bob')).toMatchObject({ code: 0 });
  expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('rejected');
});
