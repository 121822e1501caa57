import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { moneyOfDecimal } from '../../src/money.ts';
import { rowsOf } from '../support/paid-once.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { startTestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';

const TEST_MS_MAX = 6 * 60_000;
const POLL = { timeout: TEST_MS_MAX, interval: 250 };
const ROWS = 60;
const LIMIT = '900.00';

const processes = useProcesses();

/** Payouts of 10.00 each, from EUR to USD. */
function payouts(name: string, amountType: string): string {
  const lines = Array.from({ length: ROWS }, (_, index) => {
    const beneficiary = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    return `${name}-${index},${beneficiary},10.00,EUR,USD,${amountType}`;
  });
  return ['reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency,amountType', ...lines, ''].join(
    '\n',
  );
}

const centsOf = (amount = ''): bigint => moneyOfDecimal(amount, 'EUR')?.minor ?? 0n;

test(
  'four workers and three runs that race for one limit use it up to the last payout that fits, and hold the others',
  async () => {
    const service = await startService(processes);
    const server = await startTestRedis();
    onTestFinished(() => server.stop());
    const cwd = processes.folder();
    writeFileSync(join(cwd, 'config.json'), JSON.stringify({ limits: { currencies: { EUR: { day: LIMIT } } } }));
    const envOf = (name: string) => ({
      REDIS_URL: server.url,
      PAYRUN_CONFIG: join(cwd, 'config.json'),
      PAYRUN_DUPLICATES_WITHIN: 'off',
      PAYRUN_TRACK_RATE: '1000',
      PAYRUN_TRACK_EVERY: '1s',
      ...service.settings(),
      PAYRUN_DATA_DIR: join(cwd, name),
    });
    const payrun = (words: readonly string[]) => processes.run(words, { cwd, env: envOf('data') });

    const runs: string[] = [];
    for (const [name, amountType] of [
      ['A', 'SOURCE_AMOUNT'],
      ['B', 'SOURCE_AMOUNT'],
      ['C', 'DESTINATION_AMOUNT'],
    ] as const) {
      writeFileSync(join(cwd, `${name}.csv`), payouts(name, amountType));
      const { stdout } = await payrun(['submit', `${name}.csv`, '--json']);
      runs.push((JSON.parse(stdout) as { runId: string }).runId);
    }
    const workers = ['w1', 'w2', 'w3', 'w4'].map((name) => processes.start(['worker'], { cwd, env: envOf(name) }));
    await vi.waitUntil(async () => {
      const { stdout } = await payrun(['list', '--json']);
      const documents = JSON.parse(stdout) as { outcomes: Record<string, number> }[];
      return documents.every(({ outcomes }) => (outcomes['paid'] ?? 0) + (outcomes['held'] ?? 0) === ROWS);
    }, POLL);
    for (const worker of workers) worker.kill('SIGTERM');
    for (const worker of workers) await worker.ended;

    const rows: Readonly<Record<string, string>>[] = [];
    for (const run of runs) {
      const path = join(cwd, `${run}.csv`);
      await payrun(['report', run, '--output', path]);
      rows.push(...rowsOf(readFileSync(path, 'utf8')));
    }
    const paid = rows.filter(({ outcome }) => outcome === 'paid');
    const held = rows.filter(({ outcome }) => outcome === 'held');
    expect(paid.length + held.length).toBe(3 * ROWS);
    expect(new Set(held.map(({ reasonCode }) => reasonCode))).toEqual(new Set(['E_LIMIT']));
    const used = paid.reduce((sum, { sourceAmount }) => sum + centsOf(sourceAmount), 0n);
    expect(used).toBeLessThanOrEqual(centsOf(LIMIT));
    expect(centsOf(LIMIT) - used).toBeLessThan(centsOf('10.00'));
  },
  TEST_MS_MAX,
);
