import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { buildProcesses, type Processes } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { payoutFile } from './payrun.ts';

// It starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const ROWS = 60;
/** What is said within the time that is promised, with slack for a busy machine. */
const SAID_MS_MAX = 8000;

let redis: TestRedis;
let processes: Processes;
let service: ServiceProcess;
beforeAll(async () => {
  redis = await startTestRedis();
  processes = buildProcesses();
  service = await startService(processes);
});
afterAll(async () => {
  await processes.remove();
  await redis.stop();
});

interface Desk {
  readonly cwd: string;
  /** All that a process that pays needs, and what one that looks does. */
  readonly env: Record<string, string>;
  readonly looking: Record<string, string>;
}

/** A folder with a payout file, slow enough to be met in the middle. */
function desk(redisUrl: string): Desk {
  const cwd = processes.folder();
  const rows = Array.from({ length: ROWS }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile(rows));
  const looking = { REDIS_URL: redisUrl, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  return { cwd, looking, env: { ...looking, ...service.settings(), PAYRUN_CONCURRENCY: '4', PAYRUN_RATE: '20' } };
}

/** Hands the file in, and gives the run's id. */
async function submitted({ cwd, env }: Desk): Promise<string> {
  const { stdout } = await processes.run(['submit', 'payouts.csv', '--json'], { cwd, env });
  return JSON.parse(stdout).runId;
}

test('a full disk of the intent log is told in one line, nothing is armed, and run goes on by itself with room', async ({
  skip,
}) => {
  if (missingRoot() !== undefined) skip('needs root, to mount');
  const at = desk(redis.url);
  const { cwd, env, looking } = at;
  await onSmallDisk(join(cwd, 'data/intents'), 12, async (disk) => {
    const runId = await submitted(at);
    const running = processes.start(['run', 'payouts.csv'], { cwd, env });
    await running.said(`The disk of ${disk.path} is full since 20`);
    await running.said('wait. payrun keeps trying and goes on by itself.');
    const status = await processes.run(['status', runId], { cwd, env: looking });
    expect(status.stdout).toMatch(/^state +paying$/m);
    expect(status.stderr).toContain(`The disk of ${disk.path} is full since 20`);
    disk.resize(1024);
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(new RegExp(`rows +${ROWS} +${ROWS}`));
    expect(stderr.match(/is full since/g)).toHaveLength(1);
    expect(stderr).toContain(`The disk of ${disk.path} has room again after`);
    expect(stderr).not.toContain('{"');
  });
});
