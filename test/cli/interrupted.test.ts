import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { EXIT } from '../../src/cli/exit-code.ts';
import { redisServersBelow, useProcesses } from '../support/payrun-processes.ts';
import { payoutFile } from './payrun.ts';

const ROWS = 30_000;
/** Their report takes longer than a signal. */
const REPORTED = 10_000;
/** More than Redis holds before rows are recorded, and less than all of them take. */
const RECORDING_BYTES = 100_000;

const processes = useProcesses();

const MOMENTS: { words: string[]; moment: string; bytes: number; said?: string }[] = [
  { words: ['run'], moment: 'Redis starts', bytes: 0 },
  { words: ['run'], moment: 'the file is read', bytes: 0, said: 'reading many.csv' },
  { words: ['run'], moment: 'rows are recorded', bytes: RECORDING_BYTES },
  { words: ['submit', '--sandbox'], moment: 'rows are recorded', bytes: RECORDING_BYTES },
];

test.each(MOMENTS)(
  'Ctrl-C at payrun $words while $moment says that nothing was paid and leaves no Redis behind',
  async (at) => {
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
    if (at.said !== undefined) await started.said(at.said);
    started.kill('SIGINT');

    expect(await started.ended).toMatchObject({
      code: EXIT.interrupted,
      stderr: expect.stringContaining('Interrupted; nothing was paid.\nThe same command carries on.\n'),
    });
    expect(redisServersBelow(cwd)).toEqual([]);
  },
);

test('Ctrl-C at payrun validate says that nothing was paid', async () => {
  const cwd = processes.folder();
  const rows = Array.from({ length: 10 * ROWS }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'many.csv'), payoutFile(rows));
  const started = processes.start(['validate', 'many.csv'], { cwd });
  await vi.waitFor(() => expect(childrenOf(started.pid)).toHaveLength(1), { timeout: 30_000, interval: 5 });
  started.kill('SIGINT');
  expect(await started.ended).toMatchObject({
    code: EXIT.interrupted,
    stderr: 'Interrupted; nothing was paid.\nThe same command carries on.\n',
  });
});

test.each([
  { moment: 'Redis starts', rows: 1, bytes: 0, said: '' },
  { moment: 'rows are recorded', rows: ROWS, bytes: RECORDING_BYTES, said: 'recording' },
  { moment: 'rows are paid', rows: 300, bytes: 0, said: 'paying' },
])('Ctrl-C twice in quick succession while $moment leaves no Redis behind', async ({ rows, bytes, said }) => {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'many.csv'), payoutFile(Array.from({ length: rows }, (_, at) => [`INV-${at}`, '10.00'])));
  const started = processes.start(['run', 'many.csv'], { cwd, env: { PAYRUN_RATE: '5' } });
  await vi.waitFor(
    () => {
      expect(redisServersBelow(cwd)).toHaveLength(1);
      expect(bytesOfRedis(cwd)).toBeGreaterThanOrEqual(bytes);
    },
    { timeout: 30_000, interval: 5 },
  );
  await started.said(said);
  // Two of a kind that come together are one.
  started.kill('SIGINT');
  started.kill('SIGTERM');
  const { code, stderr } = await started.ended;
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toMatch(/Interrupted at once; .* The same command carries on\.\n$/);
  expect(redisServersBelow(cwd)).toEqual([]);
});

test.each([
  {
    phase: 'paying',
    env: { PAYRUN_RATE: '5' },
    switches: 'completesAfterMs=900',
    said: 'paying',
    sent: /[0-9]+ of 40/,
  },
  { phase: 'settling', env: {}, switches: 'completesAfterMs=600000', said: 'settle 40', sent: /40 of 40/ },
])('Ctrl-C while $phase says how many rows were sent, and that the same command carries on', async (at) => {
  const cwd = processes.folder();
  const rows = Array.from({ length: 40 }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'some.csv'), payoutFile(rows));
  const sandbox = join(cwd, '.payrun/sandbox');
  const set = await processes.run(['sandbox', 'set', at.switches, '--folder', sandbox], { cwd });
  expect(set).toMatchObject({ code: 0 });
  const started = processes.start(['run', 'some.csv'], { cwd, env: at.env });
  await started.said(at.said);
  started.kill('SIGINT');

  const { code, stdout, stderr } = await started.ended;
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toMatch(
    new RegExp(`Interrupted; ${at.sent.source} rows were sent\\. The same command carries on\\.\\n$`),
  );
  expect(stdout).toMatch(/^[0-9]+ (wait to be sent|under way at the service) -> payrun run some\.csv$/m);
  expect(stdout).not.toMatch(/payrun (watch|status)/);
  expect(redisServersBelow(cwd)).toEqual([]);
});

test('Ctrl-C while the report is written says how many rows were sent, and leaves no half report', async () => {
  const cwd = processes.folder();
  const rows = Array.from({ length: REPORTED }, (_row, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'many.csv'), payoutFile(rows));
  const { stdout } = await processes.run(['submit', '--sandbox', 'many.csv', '--json'], { cwd });
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(stdout));
  expect(await processes.run(['cancel', runId], { cwd })).toMatchObject({ code: 0 });
  const started = processes.start(['run', 'many.csv'], { cwd });
  await started.said('writing the report');
  started.kill('SIGINT');
  const { code, stderr } = await started.ended;
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toContain('Interrupted; 0 of 10,000 rows were sent. The same command carries on.');
  const reports = readdirSync(join(cwd, '.payrun/reports'));
  expect(reports.filter((name) => !/\.v1\.(csv|json)$/.test(name))).toEqual([]);
  expect(redisServersBelow(cwd)).toEqual([]);
});

/** Their process ids: here of the process that reads the file. */
function childrenOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}

function bytesOfRedis(cwd: string): number {
  const redis = join(cwd, '.payrun/redis');
  return readdirSync(redis, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(redis, name)).size)
    .reduce((sum, size) => sum + size, 0);
}
