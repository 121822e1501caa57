import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXIT } from '../../src/refusal.ts';
import { buildProcesses, type Processes, redisServersBelow } from '../support/payrun-processes.ts';
import { payoutFile } from './payrun.ts';

const ROWS = 30_000;
/** More than Redis holds before rows are recorded, and less than all of them take. */
const RECORDING_BYTES = 100_000;

let processes: Processes;
beforeAll(() => {
  processes = buildProcesses();
});
afterAll(async () => {
  await processes.remove();
});

test.each([
  { words: ['run'], moment: 'Redis starts', bytes: 0 },
  { words: ['run'], moment: 'rows are recorded', bytes: RECORDING_BYTES },
  { words: ['submit', '--sandbox'], moment: 'rows are recorded', bytes: RECORDING_BYTES },
])('Ctrl-C at payrun $words while $moment says that nothing was paid and leaves no Redis behind', async (at) => {
  const cwd = processes.folder();
  const rows = Array.from({ length: ROWS }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'many.csv'), payoutFile(rows));
  const started = processes.start([...at.words, 'many.csv'], { cwd });
  await vi.waitFor(
    () => {
      expect(redisServersBelow(cwd)).toHaveLength(1);
      expect(bytesOfRedis(cwd)).toBeGreaterThanOrEqual(at.bytes);
    },
    { timeout: 30_000, interval: 5 },
  );
  started.kill('SIGINT');

  expect(await started.ended).toMatchObject({
    code: EXIT.interrupted,
    stderr: expect.stringContaining('Interrupted; nothing was paid.\nThe same command carries on.\n'),
  });
  expect(redisServersBelow(cwd)).toEqual([]);
});

function bytesOfRedis(cwd: string): number {
  const redis = join(cwd, '.payrun/redis');
  return readdirSync(redis, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(redis, name)).size)
    .reduce((sum, size) => sum + size, 0);
}
