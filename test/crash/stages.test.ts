import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { paidTwice, readBook } from '../support/paid-once.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { seeded } from '../support/seeded.ts';
import { startService } from '../support/service-process.ts';

const ROWS = 40;
/** Rows up to the end of each stage of `5,50%,rest` but the last one. */
const ENDS = [5, 25];
const WAIT = { timeout: 120_000, interval: 300 };

const processes = useProcesses();
let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.stop();
});

test('a stage that nobody released is never paid, though workers and Redis are killed all the time', async () => {
  const service = await startService(processes, { switches: ['completesAfterMs=1500', 'quoteLifeMs=6000'] });
  const cwd = processes.folder();
  const rows = Array.from({ length: ROWS }, (_, index) => [`INV-${index}`, `${index + 1}.00`] as const);
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile(rows));
  const env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: join(cwd, 'data'),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_ARM_DEADLINE: '1s',
    PAYRUN_QUOTE_GRACE: '1s',
    PAYRUN_NOT_FOUND_GAP: '1s',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
  };
  const does = async (...words: readonly string[]) => await processes.run(words, { cwd, env });
  const submitted = await does('submit', 'payouts.csv', '--stage', '5,50%,rest', '--json');
  const { runId } = JSON.parse(submitted.stdout) as { runId: string };
  const stateOf = async () => (JSON.parse((await does('status', runId, '--json')).stdout) as { state: string }).state;
  const paid = () => readBook(service.folder).map(({ internalId }) => internalId);
  const fraction = seeded(7);
  const killWorkers = async (end: number): Promise<void> => {
    for (let kills = 0; kills < 2; kills++) {
      const killed = processes.start(['worker'], { cwd, env });
      await delay(1500 + fraction() * 2500);
      killed.kill('SIGKILL');
      await killed.ended;
      expect(paid().every((reference) => Number(reference?.slice('INV-'.length)) < end)).toBe(true);
    }
  };
  for (const end of ENDS) {
    await killWorkers(end);
    const worker = processes.start(['worker'], { cwd, env });
    await expect.poll(stateOf, WAIT).toBe('paused');
    await redis.restart('SIGKILL');
    // The worker opens the season and sweeps the run again and again meanwhile.
    await delay(8000);
    expect([await stateOf(), paid().length]).toEqual(['paused', end]);
    await expect.poll(async () => (await does('resume', runId, '--as', 'anna')).code, WAIT).toBe(0);
    worker.kill('SIGKILL');
    await worker.ended;
  }
  await killWorkers(ROWS);
  const last = processes.start(['worker'], { cwd, env });
  await expect.poll(stateOf, WAIT).toBe('finished');
  last.kill('SIGKILL');
  await last.ended;
  expect(paidTwice(readBook(service.folder))).toEqual([]);
  expect(paid().length).toBe(ROWS);
}, 400_000);
