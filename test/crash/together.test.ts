import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { type BookEntry, bookFaults, firstRows, paidTwice, readBook, reportFaults } from '../support/paid-once.ts';
import { type Ended, ROOT, redisServersBelow, type Started, useProcesses } from '../support/payrun-processes.ts';
import { startRelay } from '../support/recording-relay.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';

const TEST_MS_MAX = 6 * 60_000;
const SMALL = join(ROOT, 'samples/small.csv');
const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');

const processes = useProcesses();

async function ownRedis(): Promise<TestRedis> {
  const server = await startTestRedis();
  onTestFinished(() => server.stop());
  return server;
}

async function hasBooked(service: ServiceProcess, count: number): Promise<void> {
  await vi.waitUntil(() => readBook(service.folder).length >= count, { timeout: TEST_MS_MAX, interval: 50 });
}

describe('several payrun run of one file at the same moment', () => {
  test.each([1, 2])(
    'make one private Redis and one run, pay each row once, and all exit 0 (round %i)',
    async () => {
      const cwd = processes.folder();
      const running = [1, 2, 3, 4, 5].map(() => processes.start(['run', SMALL], { cwd }));
      let serversMost = 0;
      while (running.some(({ hasEnded }) => !hasEnded)) {
        serversMost = Math.max(serversMost, redisServersBelow(cwd).length);
        await delay(20);
      }
      const ended = await Promise.all(running.map((started) => started.ended));
      expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0, 0, 0]);
      expect(bookFaults(readFileSync(SMALL, 'utf8'), readBook(join(cwd, '.payrun/sandbox')))).toEqual([]);
      expect(new Set(ended.map(({ stdout }) => /^run +(\S+),/m.exec(stdout)?.[1])).size).toBe(1);
      for (const { stdout } of ended) {
        const report = readFileSync(/^report (.+\.csv)$/m.exec(stdout)?.[1] ?? '', 'utf8');
        expect(reportFaults(readFileSync(SMALL, 'utf8'), readBook(join(cwd, '.payrun/sandbox')), report)).toEqual([]);
      }
      expect(serversMost).toBe(1);
      expect(redisServersBelow(cwd)).toEqual([]);
      const list = await processes.run(['list', '--json'], { cwd });
      expect(JSON.parse(list.stdout)).toHaveLength(1);
    },
    TEST_MS_MAX,
  );
});

interface Crew {
  readonly service: ServiceProcess;
  readonly runId: string;
  readonly file: string;
  readonly startWorker: (name: string) => Started;
  readonly run: (words: readonly string[]) => Promise<Ended>;
}

/** A file that was submitted for workers to pay, each with a data directory of its own, as on machines of their own. */
async function submitted(
  file: string,
  service: ServiceProcess,
  settings: Readonly<Record<string, string>> = {},
): Promise<Crew> {
  const server = await ownRedis();
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'payouts.csv'), file);
  const common = { REDIS_URL: server.url, PAYRUN_TRACK_RATE: '1000', PAYRUN_TRACK_EVERY: '1s', ...settings };
  const envOf = (name: string) => ({ ...common, ...service.settings(service.url), PAYRUN_DATA_DIR: join(cwd, name) });
  const run = (words: readonly string[]) => processes.run(words, { cwd, env: envOf('data') });
  const { stdout } = await run(['submit', 'payouts.csv', '--json']);
  const { runId } = JSON.parse(stdout) as { runId: string };
  return {
    service,
    runId,
    file,
    run,
    startWorker: (name) => processes.start(['worker'], { cwd, env: envOf(name) }),
  };
}

async function outcomesOf({ run, runId }: Crew): Promise<Record<string, number>> {
  const { stdout } = await run(['status', runId, '--json']);
  return (JSON.parse(stdout) as { outcomes: Record<string, number> }).outcomes;
}

/** The most payments of the book that fall into one second. */
function mostInASecond(book: readonly BookEntry[]): number {
  const times = book.map(({ initiatedAt }) => initiatedAt).toSorted((one, other) => one - other);
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[last] ?? 0) - (times[first] ?? 0) >= 1000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

describe('payrun worker', () => {
  test(
    'four that start at once share one token request and one pace, and pay each row once',
    async () => {
      const rate = 100;
      // A stall of the service or of a worker moves what was due in it into the next second: a quarter of a second's
      // worth. Two workers with a pace of their own would come to twice the rate.
      const stalled = rate / 4;
      const references = Array.from({ length: 1000 }, (_, index) => [`P-${index + 1}`, `${10 + index}.25`] as const);
      const service = await startService(processes, { switches: ['tokenDelayMs=500'] });
      const relay = await startRelay(service.url);
      onTestFinished(() => relay.close());
      const crew = await submitted(
        payoutFile(references),
        { ...service, url: relay.url },
        { PAYRUN_RATE: String(rate) },
      );
      const workers = ['one', 'two', 'three', 'four'].map((name) => crew.startWorker(name));
      await hasBooked(crew.service, references.length);
      await vi.waitUntil(async () => (await outcomesOf(crew))['waiting'] === 0, { timeout: 60_000, interval: 500 });
      for (const worker of workers) worker.kill('SIGTERM');
      const ended = await Promise.all(workers.map((worker) => worker.ended));
      expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);

      const book = readBook(crew.service.folder);
      expect(bookFaults(crew.file, book)).toEqual([]);
      expect(relay.requests().filter(({ path }) => path === '/v2/oauth/token')).toHaveLength(1);
      const spanMs = (book.at(-1)?.initiatedAt ?? 0) - (book[0]?.initiatedAt ?? 0);
      expect(((book.length - 1) * 1000) / spanMs).toBeLessThanOrEqual(rate * 1.05);
      expect(mostInASecond(book)).toBeLessThanOrEqual(rate * 1.1 + stalled);
    },
    TEST_MS_MAX,
  );

  test(
    'that gets SIGTERM in the middle ends its requests and exits 0, and another one finishes the run',
    async () => {
      const crew = await submitted(
        firstRows(PAYOUTS, 300),
        await startService(processes, { switches: ['answerDelayMs.payments=300'] }),
      );
      const first = crew.startWorker('one');
      await hasBooked(crew.service, 60);
      first.kill('SIGTERM');
      expect(await first.ended).toMatchObject({ code: 0 });
      const paid = readBook(crew.service.folder);
      expect(paid.length).toBeLessThan(300);
      const outcomes = await outcomesOf(crew);
      expect(outcomes).toMatchObject({ unknown: 0, waiting: 300 - paid.length });

      // On the same data directory: another one would have to be known before (docs/operation.md, "Moving to another host").
      const second = crew.startWorker('one');
      await hasBooked(crew.service, 300);
      await vi.waitUntil(async () => (await outcomesOf(crew))['paid'] === 300, { timeout: 60_000, interval: 500 });
      second.kill('SIGTERM');
      expect(await second.ended).toMatchObject({ code: 0 });
      expect(bookFaults(crew.file, readBook(crew.service.folder))).toEqual([]);
    },
    TEST_MS_MAX,
  );
});

describe('payrun run', () => {
  test(
    'that is interrupted exits 130, and the same command finishes the run',
    async () => {
      const cwd = processes.folder();
      const folder = join(cwd, '.payrun/sandbox');
      const file = firstRows(PAYOUTS, 300);
      writeFileSync(join(cwd, 'payouts.csv'), file);
      const started = processes.start(['run', 'payouts.csv'], { cwd });
      await vi.waitUntil(() => readBook(folder).length >= 50, { timeout: 60_000, interval: 20 });
      started.kill('SIGINT');
      expect(await started.ended).toMatchObject({ code: 130 });
      const paid = readBook(folder);
      expect(paid.length).toBeLessThan(300);
      expect(paidTwice(paid)).toEqual([]);
      expect(await processes.run(['run', 'payouts.csv'], { cwd })).toMatchObject({ code: 0 });
      expect(bookFaults(file, readBook(folder))).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
