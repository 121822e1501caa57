import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Ended, type Started, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { type Box, openBox, payouts } from './rig.ts';

const server = await useTestRedis();
const processes = useProcesses();
let box: Box;
let env: Record<string, string>;

beforeEach(async () => {
  box = openBox();
  await box.source.prepare();
  env = {
    REDIS_URL: server.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: join(processes.folder(), 'data'),
    PAYRUN_LOG_LEVEL: 'silent',
  };
  return () => box.remove();
});

const start = (...words: string[]): Started => processes.start(['inbox', box.path, '--sandbox', ...words], { env });
const readOnce = (dir: string): Promise<Ended> => processes.run(['inbox', dir, '--sandbox', '--once'], { env });

describe('payrun inbox', { timeout: 180_000 }, () => {
  test('--once --with-worker pays what lies there, puts the reports beside it, and ends with 0', async () => {
    box.drop('a.csv', payouts('A'));
    const { code, stdout } = await start('--once', '--with-worker', '--as', 'anna').ended;
    expect(code).toBe(0);
    expect(stdout).toBe(`a.csv: run ${box.ack('a.csv').runId}, 2 rows\n`);
    expect(box.names('reports')).toEqual(['a.csv.ack.json', 'a.csv.report.csv', 'a.csv.report.json']);
    expect(JSON.parse(readFileSync(box.at('reports/a.csv.report.json'), 'utf8'))).toMatchObject({
      runId: box.ack('a.csv').runId,
      outcomes: { paid: 2 },
    });
    expect([...box.names('in'), ...box.names('claimed')]).toEqual([]);
    const again = await start('--once').ended;
    expect([again.code, again.stdout]).toEqual([0, '']);
  });

  test('--once ends with 3 when a file was refused, and pays the others all the same', async () => {
    box.drop('good.csv', payouts('A'));
    box.drop('bad.csv', 'nonsense');
    const { code, stdout } = await start('--once', '--with-worker', '--json').ended;
    expect(code).toBe(3);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as object);
    expect(lines).toContainEqual({ as: 'good.csv', kind: 'ack', document: box.ack('good.csv') });
    expect(lines).toContainEqual({ as: 'bad.csv', kind: 'nack', document: box.nack('bad.csv') });
    expect(box.names('reports')).toContain('good.csv.report.csv');
  });

  test('--once ends for a run that is paused; its report comes once the run has ended', async () => {
    box.drop('a.csv', payouts('A'));
    const first = start('--once');
    await expect.poll(() => box.names('done'), { timeout: 60_000 }).toEqual(['a.csv']);
    const { runId } = box.ack('a.csv');
    await processes.run(['pause', runId, '--reason', 'test'], { env });
    const { code } = await first.ended;
    expect(code).toBe(4);
    expect(box.names('reports')).toEqual(['a.csv.ack.json']);
    await processes.run(['cancel', runId, '--reason', 'test'], { env });
    expect((await start('--once').ended).code).toBe(4);
    expect(box.names('reports')).toEqual(['a.csv.ack.json', 'a.csv.report.csv', 'a.csv.report.json']);
  });

  test('of another ledger is refused with 2, says how it changes hands, and nothing of it is read', async () => {
    expect((await readOnce(box.path)).code).toBe(0);
    box.drop('a.csv', payouts('A'));
    const second = { ...env, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(processes.folder(), 'second') };
    const words = ['inbox', box.path, '--sandbox', '--once', '--with-worker'];
    const readSecond = (): Promise<Ended> => processes.run(words, { env: second });
    const { code, stderr } = await readSecond();
    expect([code, box.names('in'), box.names('claimed')]).toEqual([2, ['a.csv'], []]);
    expect(stderr).toContain(`The inbox ${box.path} belongs to another ledger, which may pay its files.`);
    expect(stderr).toContain('remove the folder claimed/.ledger in it');

    rmSync(box.at('claimed/.ledger'), { recursive: true });
    await readSecond();
    expect(box.names('done')).toEqual(['a.csv']);
    expect((await readOnce(box.path)).code).toBe(2);
  });

  test('watches until it is told to stop, answers what comes, and ends with 0', async () => {
    const watching = start('--with-worker');
    await watching.said('watches');
    box.drop('a.csv', payouts('A'));
    await expect.poll(() => box.names('reports'), { timeout: 60_000 }).toContain('a.csv.report.json');
    watching.kill('SIGTERM');
    expect((await watching.ended).code).toBe(0);
  });

  test('in two processes on one folder answers each file once', async () => {
    const watchers = [start(), start()];
    await Promise.all(watchers.map((watcher) => watcher.said('watches')));
    for (let index = 0; index < 12; index++) box.drop(`f${index}.csv`, payouts(`f${index % 6}`));
    await expect.poll(() => box.names('done'), { timeout: 60_000 }).toHaveLength(12);
    for (const watcher of watchers) watcher.kill('SIGTERM');
    await Promise.all(watchers.map((watcher) => watcher.ended));
    expect(box.names('reports')).toHaveLength(12);
    const acks = Array.from({ length: 12 }, (_, index) => box.ack(`f${index}.csv`));
    expect(acks.filter(({ duplicate }) => !duplicate)).toHaveLength(6);
    expect(new Set(acks.map(({ runId }) => runId)).size).toBe(6);
    const printed = (await Promise.all(watchers.map(async ({ ended }) => (await ended).stdout))).join('');
    expect(printed.trimEnd().split('\n')).toHaveLength(12);
  });

  test('carries on with what a killed one had claimed', async () => {
    const first = start();
    box.drop('a.csv', payouts('A', 5000));
    await expect.poll(() => box.names('claimed'), { timeout: 60_000, interval: 5 }).toHaveLength(1);
    first.kill('SIGKILL');
    await first.ended;
    const second = start();
    await expect.poll(() => box.names('done'), { timeout: 60_000 }).toHaveLength(1);
    const [as = ''] = box.names('done');
    expect(box.ack(as)).toMatchObject({ file: { name: 'a.csv', rows: 5000 }, duplicate: false });
    second.kill('SIGTERM');
    await second.ended;
  });

  test('says that it made the folder, and makes none for a path that was mistyped above it', async () => {
    const first = await readOnce(box.at('fresh'));
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(`made the folder ${box.at('fresh')}`)]);
    expect((await readOnce(box.at('fresh'))).stderr).not.toContain('made the folder');
    const mistyped = await readOnce(box.at('frehs/payouts'));
    expect(mistyped.code).toBe(2);
    expect(mistyped.stderr).toContain(`neither is ${box.at('frehs')}.`);
    expect(existsSync(box.at('frehs'))).toBe(false);
  });

  test('says of a file that was changed after it was taken that it was changed, and not that it was refused', async () => {
    box.drop('a.csv', payouts('A'));
    const watching = start('--as', 'anna');
    await watching.said('watches');
    const handedIn = (): string => box.at(`claimed/a.csv/${box.names('claimed/a.csv')[0]}/.handed-in`);
    await expect
      .poll(() => existsSync(box.at('claimed/a.csv')) && existsSync(handedIn()), { timeout: 60_000 })
      .toBe(true);
    appendFileSync(handedIn(), 'more');
    await expect.poll(() => box.names('refused'), { timeout: 60_000 }).toEqual(['a.csv']);
    watching.kill('SIGTERM');
    const { stdout } = await watching.ended;
    expect(stdout).toMatch(/^a\.csv: run [\w-]+, 2 rows\na\.csv: changed after it was taken; the \.nack\.json .*\n$/);
  });

  test('that cannot be used is told before anything else', async () => {
    box.drop('a.csv', payouts('A'));
    const { code, stderr } = await processes.run(['inbox', 'sftp://payrun@127.0.0.1/in', '--sandbox'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('PAYRUN_SFTP_HOST_KEY');
    expect((await processes.run(['inbox', box.path], { env })).code).toBe(2);
    expect(box.names('in')).toEqual(['a.csv']);
  });
});
