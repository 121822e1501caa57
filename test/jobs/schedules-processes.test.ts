import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openSchedules } from '../../src/ledger/schedules.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { buildProcesses, type Processes, type Started } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { seeded } from '../support/seeded.ts';

/** People give five fields; a sixth, for the seconds, lets a minute pass in a second here. */
const EACH_SECOND = '* * * * * *';
const SECOND_MS = 1000;
/** A busy machine, a job's lock, a tick that was given out to a process that died. */
const PATIENCE = { timeout: 60_000, interval: 100 };

vi.setConfig({ testTimeout: 180_000 });

let server: TestRedis;
let processes: Processes;

beforeAll(async () => {
  server = await startTestRedis();
  processes = buildProcesses();
});
afterAll(async () => {
  await processes?.remove();
  await server?.stop();
});

interface Seen {
  /** Planned times as they were recorded as due, and as they were done: more than once for one that is done again. */
  readonly recorded: number[];
  readonly done: number[];
}

/** A ledger of its own with a schedule for each second, all that is written of it, and workers. */
async function openDesk() {
  const prefix = freshPrefix();
  const keys = ledgerKeys(prefix);
  const schedules = openSchedules(server.redis, keys, { seals: openSeals(), async halt() {} });
  const seen = await watch(prefix);
  const dir = processes.folder();

  async function startWorker(name: string): Promise<Started> {
    const dataDir = join(dir, name);
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const env = { REDIS_URL: server.url, PAYRUN_PREFIX: prefix, PAYRUN_DATA_DIR: dataDir };
    const worker = processes.start(['worker', '--sandbox'], { env });
    await worker.said('is ready');
    return worker;
  }

  async function set(): Promise<void> {
    const definition = JSON.stringify({ cron: EACH_SECOND, zone: 'Europe/Berlin', do: 'start', windowMs: 3_600_000 });
    const { now } = await schedules.read();
    const next = Math.ceil(now / SECOND_MS) * SECOND_MS;
    await schedules.set({ name: 'each', definition, next, setBy: 'anna' });
  }

  const read = async () => (await schedules.read()).schedules[0];
  const allDone = async (): Promise<boolean> => {
    const { recorded, done } = seen;
    return recorded.length > 0 && recorded.every((planned) => done.includes(planned));
  };
  return { seen, startWorker, set, read, allDone };
}

/** Reads along what Redis is told. */
async function watch(prefix: string): Promise<Seen> {
  const seen: Seen = { recorded: [], done: [] };
  const monitor: Redis = await server.redis.monitor();
  onTestFinished(() => monitor.disconnect());
  monitor.on('monitor', (_time: string, [command = '', key = '', score = '', tick = '']: string[]) => {
    if (key !== `${prefix}:ticks`) return;
    if (/^zadd$/i.test(command) && tick === `each ${score}`) seen.recorded.push(Number(score));
    // Nothing else takes a tick away here.
    if (/^zrem$/i.test(command)) seen.done.push(Number(score.replace('each ', '')));
  });
  return seen;
}

function secondsFrom(first = 0, last = 0): number[] {
  return Array.from({ length: (last - first) / SECOND_MS + 1 }, (_value, index) => first + index * SECOND_MS);
}

test('two workers at work: each planned time is recorded once and done once', async () => {
  const { seen, startWorker, set, read } = await openDesk();
  const workers = [await startWorker('one'), await startWorker('two')];
  await set();
  await expect.poll(() => seen.done.length, PATIENCE).toBeGreaterThan(10);
  for (const worker of workers) worker.kill('SIGTERM');
  for (const worker of workers) await worker.ended;
  expect(seen.recorded).toEqual(secondsFrom(seen.recorded[0], seen.recorded.at(-1)));
  expect(new Set(seen.done).size).toBe(seen.done.length);
  expect(seen.done.every((planned) => seen.recorded.includes(planned))).toBe(true);
  expect(await read()).toMatchObject({ ticks: seen.recorded.length, missedPlanned: null, fault: null });
});

test('workers killed with -9 again and again, one or both at a time: none is recorded twice, none is lost', async () => {
  const { seen, startWorker, set, read, allDone } = await openDesk();
  const fraction = seeded(1);
  const workers = new Map([
    ['one', await startWorker('one')],
    ['two', await startWorker('two')],
  ]);
  const kill = async (name: string): Promise<void> => {
    const worker = workers.get(name);
    worker?.kill('SIGKILL');
    await worker?.ended;
  };
  await set();
  for (const names of [['one'], ['two'], ['one', 'two'], ['two'], ['one', 'two']]) {
    const before = seen.recorded.length;
    await expect.poll(() => seen.recorded.length, PATIENCE).toBeGreaterThan(before + 1);
    // At any moment of a second.
    await delay(fraction() * SECOND_MS);
    await Promise.all(names.map(kill));
    for (const name of names) workers.set(name, await startWorker(name));
  }
  const untilMs = Date.now();
  await expect.poll(() => seen.recorded.at(-1), PATIENCE).toBeGreaterThan(untilMs);
  await expect.poll(allDone, PATIENCE).toBe(true);
  expect(seen.recorded).toEqual(secondsFrom(seen.recorded[0], seen.recorded.at(-1)));
  expect(await read()).toMatchObject({ missedPlanned: null, fault: null });
});
