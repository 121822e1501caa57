import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';

const WAIT = { timeout: 200_000, interval: 500 };

const processes = useProcesses();
let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.stop();
});

interface Company {
  readonly runId: string;
  /** Runs a command; gives its standard output. */
  readonly run: (...words: string[]) => Promise<string>;
  /** The outcome of the one row in each version that was written, the oldest first. */
  readonly outcomes: () => string[];
}

/** A run of one payout that a worker works on, and a service with these switches. */
async function openCompany(switches: readonly string[]): Promise<Company> {
  const service = await startService(processes, { switches });
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile([['INV-1', '10.00']]));
  const data = join(cwd, 'data');
  const env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: data,
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
  };
  const run = async (...words: string[]): Promise<string> => (await processes.run(words, { cwd, env })).stdout;
  const { runId } = JSON.parse(await run('submit', 'payouts.csv', '--json')) as { runId: string };
  processes.start(['worker'], { cwd, env });
  const reports = join(data, 'reports');
  return {
    runId,
    run,
    outcomes: () =>
      (existsSync(reports) ? readdirSync(reports) : [])
        .filter((name) => name.endsWith('.csv'))
        .toSorted()
        .map((name) => {
          const [row]: Record<string, string>[] = parse(readFileSync(join(reports, name)), { columns: true });
          return row?.['outcome'] ?? '';
        }),
  };
}

test('a payment that fails after the run was reported makes a new version through the worker, and the changes say so', async () => {
  // The first report is written before the end of the payment.
  const { runId, run, outcomes } = await openCompany(['completesAfterMs=75000', 'finalState=FAILED']);
  await expect.poll(() => outcomes().at(-1), WAIT).toBe('pending');
  await expect.poll(() => outcomes().at(-1), WAIT).toBe('failed');
  const version = outcomes().lastIndexOf('pending') + 1;
  expect(version).toBeGreaterThan(0);
  expect(await run('report', runId, '--changes-since', String(version))).toContain(',outcome,pending,failed\r\n');
}, 300_000);
