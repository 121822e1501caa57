import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';
import { readDurability } from '../../src/redis/durability.ts';
import {
  armingOf,
  armPayout,
  countersOf,
  DATA_DIR,
  dumpOf,
  enterDir,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  recount,
} from '../ledger/test-ledger.ts';
import { bookFaults, firstRows, readBook, reportFaults } from '../support/paid-once.ts';
import { buildProcesses, type Processes, ROOT, type StartOptions } from '../support/payrun-processes.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { hasEngine } from './engine.ts';
import { type RedisContainer, startRedisContainer } from './redis-container.ts';

const TEST_MS_MAX = 3 * 60_000;
const START_MS_MAX = 5 * 60_000;
const ROWS = 200;
/** Slow enough that a good part of the file is still to be paid when the container is killed. */
const ROWS_PER_SECOND = 50;
const ROWS_BEFORE_KILL = 40;
const FILE = firstRows(readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8'), ROWS);

describe.skipIf(!hasEngine())('with Redis in a container', () => {
  let redis: RedisContainer;
  let processes: Processes;

  beforeAll(async () => {
    processes = buildProcesses();
    redis = await startRedisContainer();
  }, START_MS_MAX);

  afterAll(async () => {
    await processes?.remove();
    await redis?.remove();
  });

  async function restart(): Promise<void> {
    await redis.kill();
    await redis.start();
  }

  test('the server is as durable as payrun wants it', async () => {
    const connection = await connectRedis({ url: redis.url }, { name: 'test', kind: 'commands' });
    await expect(readDurability(connection)).resolves.toEqual([]);
    connection.disconnect();
  });

  test('the ledger has every record, arming and move after the container was killed, and arms nothing before it was compared', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const address = { url: redis.url };
    const connections = {
      redis: await connectRedis(address, { name: 'test', kind: 'commands' }),
      arming: await connectRedis(address, { name: 'test', kind: 'arming', commandTimeoutMs: 10_000 }),
    };
    const kept = await newLedger(connections);
    const { ledger } = kept;
    const runId = await payingRun(ledger, freshRows(3));
    const [paid, sent, next] = [2, 3, 4].map((line) => ({ runId, line })) as [Place, Place, Place];
    const { quoteId } = await armPayout(ledger, paid);
    for (const to of ['accepted', 'completed'] as const) await movePayout(ledger, paid, { to });
    await armPayout(ledger, sent);
    const before = await dumpOf(kept);

    await restart();
    await vi.waitUntil(() => connections.arming.status === 'ready', { timeout: TEST_MS_MAX });
    expect(await dumpOf(kept)).toEqual(before);
    await expect(readPayout(ledger, paid)).resolves.toMatchObject({ state: 'completed', quoteId });
    await expect(readPayout(ledger, sent)).resolves.toMatchObject({ state: 'armed' });
    const arming = armingOf(await readPayout(ledger, next));
    await expect(ledger.payouts.arm(arming)).resolves.toMatchObject({ armed: false, refusal: 'season' });

    await enterDir(ledger, DATA_DIR);
    // The connection that found itself on a server nobody knew was cut, and comes anew.
    await vi.waitUntil(() => connections.arming.status === 'ready', { timeout: TEST_MS_MAX });
    await expect(ledger.payouts.arm(arming)).resolves.toMatchObject({ armed: true });
    await expect(countersOf(ledger, runId)).resolves.toEqual(await recount(ledger, runId));
    for (const connection of Object.values(connections)) connection.disconnect();
  });

  interface Scene {
    readonly service: ServiceProcess;
    /** Of a process on a data directory of this name. */
    readonly options: (name: string) => StartOptions;
  }

  /** A service and a payout file for it; each scene is a ledger of its own. */
  async function openScene(prefix: string): Promise<Scene> {
    const cwd = processes.folder();
    writeFileSync(join(cwd, 'payouts.csv'), FILE);
    const service = await startService(processes, { switches: ['quoteLifeMs=5000'] });
    const env = {
      ...service.settings(),
      REDIS_URL: redis.url,
      PAYRUN_PREFIX: prefix,
      PAYRUN_RATE: String(ROWS_PER_SECOND),
      PAYRUN_ARM_DEADLINE: '1s',
      PAYRUN_QUOTE_GRACE: '500ms',
      PAYRUN_NOT_FOUND_GAP: '500ms',
      PAYRUN_TRACK_EVERY: '1s',
      PAYRUN_TRACK_RATE: '1000',
      PAYRUN_ASSUME: 'payment-id-is-quote-id,expired-quote-refused,one-payment-per-quote,payment-visible-in-time',
    };
    return { service, options: (name) => ({ cwd, env: { ...env, PAYRUN_DATA_DIR: join(cwd, name) } }) };
  }

  /** Kills the container when a part of the file is paid, and starts it again. */
  async function restartInMidRun({ service }: Scene): Promise<void> {
    await vi.waitUntil(() => readBook(service.folder).length >= ROWS_BEFORE_KILL, {
      timeout: TEST_MS_MAX,
      interval: 20,
    });
    await redis.kill();
    expect(readBook(service.folder).length).toBeLessThan(ROWS);
    await redis.start();
  }

  test('workers whose container is killed and started again in mid-run finish it, and pay each row once', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const scene = await openScene('{workers}');
    const submitted = await processes.run(['submit', 'payouts.csv', '--json'], scene.options('one'));
    const { runId } = JSON.parse(submitted.stdout) as { runId: string };
    const workers = ['one', 'two'].map((name) => processes.start(['worker'], scene.options(name)));
    await restartInMidRun(scene);
    await vi.waitUntil(
      async () => {
        const { stdout } = await processes.run(['status', runId, '--json'], scene.options('one'));
        return (JSON.parse(stdout) as { outcomes: Record<string, number> }).outcomes['paid'] === ROWS;
      },
      { timeout: TEST_MS_MAX, interval: 500 },
    );
    for (const worker of workers) worker.kill('SIGTERM');
    const ended = await Promise.all(workers.map((worker) => worker.ended));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    const book = readBook(scene.service.folder);
    expect(bookFaults(FILE, book)).toEqual([]);
    const report = await processes.run(['report', runId], scene.options('one'));
    expect(reportFaults(FILE, book, report.stdout)).toEqual([]);
  });

  test('a run in one process whose container is killed and started again in mid-run ends with every row paid once', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const scene = await openScene('{run}');
    const started = processes.start(['run', 'payouts.csv'], scene.options('data'));
    await restartInMidRun(scene);
    const ended = await started.ended;
    expect(ended).toMatchObject({ code: 0 });
    const book = readBook(scene.service.folder);
    expect(bookFaults(FILE, book)).toEqual([]);
    const report = readFileSync(/^report (.+\.csv)$/m.exec(ended.stdout)?.[1] ?? '', 'utf8');
    expect(reportFaults(FILE, book, report)).toEqual([]);
  });
});

interface Place {
  readonly runId: string;
  readonly line: number;
}
