import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { redisServersBelow, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { payoutFile } from './payrun.ts';

// It starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const redis = await useTestRedis();
const processes = useProcesses();

test('run, status and watch say that the service does not answer, and what waits', async () => {
  const cwd = processes.folder();
  const ledger = { REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  const env = {
    ...ledger,
    PAYRUN_SERVICE_URL: 'http://127.0.0.1:9',
    PAYRUN_CLIENT_ID: 'id',
    PAYRUN_CLIENT_SECRET: 'secret',
    PAYRUN_TENANT_ID: 'tenant',
    PAYRUN_ENVIRONMENT: 'test',
  };
  writeFileSync(
    join(cwd, 'two.csv'),
    payoutFile([
      ['INV-1', '10.00'],
      ['INV-2', '20.00'],
    ]),
  );
  const submitted = await processes.run(['submit', 'two.csv', '--json'], { cwd, env });
  const { runId } = JSON.parse(submitted.stdout);
  const running = processes.start(['run', 'two.csv'], { cwd, env });
  await running.said('has not answered');
  await running.said('0 of 2 rows were sent, 2 wait. payrun keeps trying and goes on by itself.');
  const status = await processes.run(['status', runId], { cwd, env: ledger });
  expect(status.stderr).toContain('The payments service (http://127.0.0.1:9 test tenant) has not answered');
  const watching = processes.start(['watch', runId], { cwd, env: ledger });
  await watching.said('has not answered');
  for (const one of [running, watching]) one.kill('SIGINT');
  expect([(await running.ended).code, (await watching.ended).code]).toEqual([EXIT.interrupted, EXIT.interrupted]);
});

test('a Redis that is gone is waited for as long as --wait says, and the command that carries on is told', async () => {
  const own = await useTestRedis();
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'many.csv'), payoutFile(manyRows(2000)));
  const env = { REDIS_URL: own.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  const running = processes.start(['run', 'many.csv', '--wait', '6s'], { cwd, env });
  await running.said('paying');
  await own.stop();
  await running.said('payrun waits 6 s at most and goes on by itself.');
  const { code, stderr } = await running.ended;
  expect(code).toBe(EXIT.unavailable);
  expect(stderr).toContain('When Redis is back, start the same command again: it carries on.');
});

function manyRows(count: number): (readonly [string, string])[] {
  return Array.from({ length: count }, (_, index) => [`INV-${index}`, '10.00'] as const);
}

test('a Redis that takes connections and says nothing is told long before it is given up', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const cwd = processes.folder();
  const started = processes.start(['list'], { cwd, env: { REDIS_URL: `redis://127.0.0.1:${port}` } });
  await started.said('does not answer yet; payrun keeps trying.');
  expect(started.hasEnded).toBe(false);
  started.kill('SIGKILL');
  await started.ended;
  silent.close();
});

test('a run whose payments cannot all settle in the time that run waits names what follows them', async () => {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'some.csv'), payoutFile(manyRows(80)));
  const env = { PAYRUN_TRACK_RATE: '1' };
  const { stdout } = await processes.run(['run', 'some.csv'], { cwd, env });
  expect(stdout).toMatch(/^[0-9]+ under way at the service -> payrun worker --sandbox$/m);
});

test('what is told of the private Redis stands on a line of its own on a terminal', async () => {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'many.csv'), payoutFile(manyRows(2000)));
  // The command's words come after the script's own name: node, "--" and the program.
  const through = ['sh', '-c', `exec script -qec "'$0' '$1' '$2' run many.csv" /dev/null`];
  const running = processes.start([], { cwd, env: { PAYRUN_RATE: '20', TERM: 'xterm' }, through });
  await running.said('paying');
  for (const pid of redisServersBelow(cwd)) process.kill(pid, 'SIGKILL');
  await running.said('is being started again.');
  running.kill('SIGKILL');
  expect((await running.ended).stdout).toContain(
    '\r\u001b[2KThe private Redis went away; it is being started again.\r\n',
  );
});

test('a private Redis whose socket is gone is named with its process within 5 seconds', async () => {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'many.csv'), payoutFile(manyRows(2000)));
  const running = processes.start(['run', 'many.csv'], { cwd, env: { PAYRUN_RATE: '20' } });
  await running.said('paying');
  const [pid] = redisServersBelow(cwd);
  rmSync(join(cwd, '.payrun/redis/redis.sock'));
  const began = Date.now();
  const { code, stderr } = await processes.run(['list'], { cwd });
  expect((Date.now() - began) / 1000).toBeLessThan(5);
  expect(code).toBe(EXIT.unavailable);
  expect(stderr).toContain(`runs as process ${pid}, and its socket`);
  expect(stderr).toContain(`kill ${pid}.`);
  running.kill('SIGKILL');
  await running.ended;
});

test('doctor names the disk that is full, and that what runs goes on by itself', async ({ skip }) => {
  skip(missingRoot() !== undefined, missingRoot());
  const data = join(processes.folder(), 'data');
  await onSmallDisk(data, 64, async () => {
    expect(() => writeFileSync(join(data, 'filler'), Buffer.alloc(128 * 1024))).toThrow('ENOSPC');
    const { code, stdout } = await processes.run(['doctor'], { env: { PAYRUN_DATA_DIR: data } });
    expect(code).toBe(EXIT.usage);
    expect(stdout).toMatch(
      /^FAIL +data directory +The disk of .*data is full\.\n +-> Make room on it: .* What runs goes on by itself/m,
    );
  });
});
