import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, type TestRedis, useTestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';
import { payoutFile } from './payrun.ts';

// It starts several processes, and waits for outages.
vi.setConfig({ testTimeout: 180_000 });

/** The words of a library, which nobody at night knows. */
const LIBRARY = /max ?retries|Command timed out|ECONN/i;
/** Longer than a command waits for a Redis that is gone. */
const GIVEN_UP_MS = 14_000;

const processes = useProcesses();
let own: TestRedis;
beforeEach(async () => {
  own = await useTestRedis();
  onTestFinished(() => own.stop());
});

/** A folder with a file of so many rows, and the settings of a process that pays it slowly. */
function desk(rows: number) {
  const cwd = processes.folder();
  const cells = Array.from({ length: rows }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'a.csv'), payoutFile(cells));
  const ledger = { REDIS_URL: own.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  return { cwd, env: { ...ledger, PAYRUN_RATE: '5' } };
}

test('Ctrl-C while Redis is gone ends within seconds, and says what was sent when it was last known', async () => {
  const running = processes.start(['run', 'a.csv'], desk(200));
  await running.said('paying');
  process.kill(own.pid, 'SIGKILL');
  await running.said('payrun waits 15 min at most and goes on by itself.');
  const began = Date.now();
  running.kill('SIGINT');
  await running.said('Stopping: ');
  const { code, stderr } = await running.ended;
  expect(Date.now() - began).toBeLessThan(15_000);
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toMatch(
    /\nInterrupted; Redis does not answer, .* [0-9]+ of 200 rows were sent.*The same command carries on/,
  );
  expect(stderr).not.toMatch(LIBRARY);
});

test('a Redis that goes away while rows are recorded is waited for, as it is said, and the run goes on by itself', async () => {
  const running = processes.start(['run', 'a.csv'], desk(10_000));
  await running.said('recording');
  process.kill(own.pid, 'SIGKILL');
  await running.said('payrun waits 15 min at most and goes on by itself.');
  await delay(GIVEN_UP_MS);
  expect(running.hasEnded).toBe(false);
  await own.restart();
  await running.said('paying');
  running.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).not.toMatch(LIBRARY);
});

test('a Redis that goes away before anything is paid is waited for as long as --wait says, and no longer', async () => {
  const running = processes.start(['run', 'a.csv', '--wait', '2s'], desk(10_000));
  await running.said('recording');
  process.kill(own.pid, 'SIGKILL');
  const { code, stderr } = await running.ended;
  expect(code).toBe(EXIT.unavailable);
  expect(stderr).toContain(
    'Redis has not answered for 2 s.\nWhen Redis is back, start the same command again: it carries on.',
  );
  expect(stderr).not.toMatch(LIBRARY);
});

/** A run in the middle of which its service is killed. */
async function withoutService() {
  const service = await startService(processes);
  const at = desk(200);
  const running = processes.start(['run', 'a.csv'], { ...at, env: { ...at.env, ...service.settings() } });
  await running.said('paying');
  await service.kill();
  await running.said('has not answered');
  running.kill('SIGINT');
  await running.said('Stopping: ');
  return { at, running };
}

test('after Ctrl-C in an outage of the service nobody counts as a worker any more', async () => {
  const { at, running } = await withoutService();
  const { code, stderr } = await running.ended;
  expect(code).toBe(EXIT.interrupted);
  const [, runId = ''] = /^run (\S+), 200 rows$/m.exec(stderr) ?? [];
  const status = await processes.run(['status', runId], at);
  expect(status.stdout).toContain(' -> payrun worker');
  expect(status.stdout).not.toContain('payrun watch');
});

test('a second Ctrl-C ends it at once, and says that it was interrupted', async () => {
  const { running } = await withoutService();
  const began = Date.now();
  running.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect(Date.now() - began).toBeLessThan(3000);
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toMatch(/Interrupted at once; .* The same command carries on\.\n$/);
});

test('Ctrl-C with a full disk below the reports says how many rows were sent, and that the same command carries on', async ({
  skip,
}) => {
  skip(missingRoot() !== undefined, missingRoot());
  const at = desk(200);
  const reports = join(at.cwd, 'out');
  await onSmallDisk(reports, 64, async () => {
    const running = processes.start(['run', 'a.csv', '--report-dir', reports], at);
    await running.said('paying');
    expect(() => writeFileSync(join(reports, 'filler'), Buffer.alloc(128 * 1024))).toThrow('ENOSPC');
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(stderr).toMatch(
      /\nNo report was written: .*ENOSPC.*\nMake room on the disk.*\nInterrupted; [0-9]+ of 200 rows were sent\. The same command carries on\.\n$/,
    );
    expect(code).toBe(EXIT.interrupted);
  });
});
