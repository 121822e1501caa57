import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';
import { SECRET, startReceiver, toldTo } from './notify-desk.ts';

const ROWS = 60;
const WAIT = { timeout: 120_000, interval: 500 };

const processes = useProcesses();
let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.stop();
});

test('a worker tells what became of each payout as its list has it, and that the run is settled', async () => {
  const receiver = await startReceiver();
  const service = await startService(processes, { switches: ['endsFailed=0.2', 'endsReturned=0.2'] });
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'secret'), SECRET, { mode: 0o600 });
  const events = ['payout.paid', 'payout.failed', 'payout.returned', 'payout.held', 'settled'];
  const hook = { name: 'erp', url: receiver.url, secretFile: 'secret', events };
  writeFileSync(join(cwd, 'payrun.json'), JSON.stringify({ webhooks: [hook] }));
  const rows = Array.from({ length: ROWS }, (_, index) => [`INV-${index}`, `${index + 1}.00`] as const);
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile(rows));
  const env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: join(cwd, 'data'),
    PAYRUN_CONFIG: join(cwd, 'payrun.json'),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
  };
  const submitted = await processes.run(['submit', 'payouts.csv', '--json'], { cwd, env });
  const { runId } = JSON.parse(submitted.stdout) as { runId: string };
  const worker = processes.start(['worker'], { cwd, env });
  const outcomes = async () => {
    const { stdout } = await processes.run(['list', runId, '--json'], { cwd, env });
    return (JSON.parse(stdout) as { line: number; outcome: string }[]).map(({ line, outcome }) => [line, outcome]);
  };
  const lastTold = () => {
    const last = new Map(toldTo(receiver).map(({ event, payout }) => [payout?.line, event.replace('payout.', '')]));
    return [...last].filter(([line]) => line !== undefined).toSorted(([one = 0], [other = 0]) => one - other);
  };
  await expect.poll(() => toldTo(receiver).map(({ event }) => event), WAIT).toContain('settled');
  await expect
    .poll(async () => [await outcomes(), lastTold()], WAIT)
    .toSatisfy(([one, other]) => {
      return JSON.stringify(one) === JSON.stringify(other);
    });
  expect(new Set(lastTold().map(([, outcome]) => outcome))).toEqual(new Set(['paid', 'failed', 'returned']));
  worker.kill('SIGTERM');
  await worker.ended;
}, 180_000);
