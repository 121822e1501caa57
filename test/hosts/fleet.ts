import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { type BookEntry, firstRows, judgeRun, readBook } from '../support/paid-once.ts';
import { buildProcesses, type Ended, type Processes, ROOT, type Started } from '../support/payrun-processes.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { LOOPBACK, type Place } from './network.ts';
import { PASSWORD } from './redis-servers.ts';

const POLL_MS = 50;
const UNTIL_MS_MAX = 150_000;
const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');
const OPEN_STATES = ['ready', 'armed', 'quoted', 'unknown', 'accepted'];
/** Arm deadline and request time-out: what is sent later was armed later. */
const SENT_AT_LAST_MS = 2000;

export interface FleetOptions {
  readonly redisUrl: string;
  /** Of the ledger's keys; payrun's own unless told. */
  readonly prefix?: string;
  /** A way to the server that has the ledger now, for looking. */
  readonly ledger: () => Promise<Redis>;
  readonly rows: number;
  /** Where the service runs; this machine unless told. */
  readonly service?: Place;
  /** Of the service, such as `answerDelayMs.payments=200`. */
  readonly switches?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Workers and commands of payrun at several places, the service that they pay through, and one run. */
export interface Fleet {
  readonly service: ServiceProcess;
  /** `payrun worker`, ready; its data directory has this name. */
  worker(name: string, place?: Place): Promise<Started>;
  /** Any command to its end, on the data directory of this name. */
  payrun(words: readonly string[], name?: string, place?: Place): Promise<Ended>;
  submit(place?: Place): Promise<string>;
  book(): BookEntry[];
  booked(count: number): Promise<void>;
  /** How many payment requests the intent logs of a data directory announce. */
  intents(name: string): number;
  /** Nothing is sent for so long, but for what was armed before, although there is something to send. */
  nothingSentFor(ms: number): Promise<void>;
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<void>;
  /**
   * Until no payout is open any more. Whenever everything is halted, two people release it and resume what is paused;
   * gives how often.
   */
  settled(place?: Place): Promise<number>;
  /**
   * Ends the workers, and tells all in which not each row was paid once, with a report that says so, and no worker kept the
   * password to itself and ended well; empty when all is well.
   */
  faults(place?: Place): Promise<string[]>;
  close(): Promise<void>;
}

export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const processes: Processes = buildProcesses();
  const folder = processes.folder();
  const file = firstRows(PAYOUTS, options.rows);
  writeFileSync(join(folder, 'payouts.csv'), file);
  const { service: at = LOOPBACK, switches = [], prefix = '{payrun}' } = options;
  const service = await startService(processes, { switches: ['quoteLifeMs=2000', ...switches], host: at });
  const workers: Started[] = [];
  let runId = '';

  const env = (name: string): Record<string, string> => ({
    REDIS_URL: options.redisUrl,
    PAYRUN_PREFIX: prefix,
    ...service.settings(),
    ...(at === LOOPBACK ? {} : { PAYRUN_HTTP_HOST: at.address }),
    PAYRUN_DATA_DIR: join(folder, name),
    PAYRUN_QUOTE_GRACE: '500ms',
    PAYRUN_NOT_FOUND_GAP: '200ms',
    PAYRUN_REQUEST_TIMEOUT: '1s',
    PAYRUN_ARM_DEADLINE: '1s',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
    PAYRUN_CONCURRENCY: '4',
    PAYRUN_WINDOW: '8',
    PAYRUN_BREAKER: 'off',
    PAYRUN_ASSUME: 'payment-id-is-quote-id,expired-quote-refused,one-payment-per-quote,payment-visible-in-time',
    ...options.settings,
  });
  const start = (words: readonly string[], name: string, { through }: Place): Started =>
    processes.start(words, { cwd: folder, env: env(name), through });
  const book = (): BookEntry[] => readBook(service.folder);

  async function released(place: Place): Promise<boolean> {
    for (const person of ['anna', 'bob']) {
      if ((await fleet.payrun(['release', '--as', person], 'one', place)).code !== 0) return false;
    }
    const state = await (await options.ledger()).hget(`${prefix}:run:${runId}`, 'state');
    if (state === 'paused') await fleet.payrun(['resume', runId], 'one', place);
    return true;
  }

  /** Whether everything is halted, and the run with its payouts by state. */
  async function lookAt(): Promise<[number, Record<string, string>]> {
    const redis = await options.ledger();
    return [await redis.hexists(`${prefix}:head`, 'halt'), await redis.hgetall(`${prefix}:run:${runId}`)];
  }

  const fleet: Fleet = {
    service,
    async worker(name, place = LOOPBACK) {
      const worker = start(['worker'], name, place);
      workers.push(worker);
      await worker.said('is ready');
      return worker;
    },
    payrun: (words, name = 'one', place = LOOPBACK) => start(words, name, place).ended,
    async submit(place) {
      const submitted = await fleet.payrun(['submit', 'payouts.csv', '--json'], 'one', place);
      if (submitted.code !== 0) throw new Error(`payrun submit ended with ${submitted.code}: ${submitted.stderr}`);
      ({ runId } = JSON.parse(submitted.stdout) as { runId: string });
      return runId;
    },
    book,
    booked: (count) => fleet.until(`${count} payments`, () => book().length >= count),
    intents: (name) => armingsBelow(join(folder, name, 'intents')),
    async nothingSentFor(ms) {
      await delay(SENT_AT_LAST_MS);
      const sent = book().length;
      expect(sent).toBeLessThan(options.rows);
      await delay(ms);
      expect(book().length).toBe(sent);
    },
    async until(what, condition) {
      const deadline = performance.now() + UNTIL_MS_MAX;
      while (!(await condition())) {
        if (performance.now() > deadline) throw new Error(`it never came to: ${what}`);
        await delay(POLL_MS);
      }
    },
    async settled(place = LOOPBACK) {
      let releases = 0;
      await fleet.until('the end of all payouts', async () => {
        const [halt, counts] = await lookAt().catch(() => [1, {}] as const);
        if (halt === 1 && (await released(place))) releases++;
        return halt === 0 && OPEN_STATES.every((state) => (counts[`n:${state}`] ?? '0') === '0');
      });
      return releases;
    },
    async faults(place) {
      const report = await fleet.payrun(['report', runId, '--format', 'csv'], 'one', place);
      const { twice, lost, faults, outcomes } = judgeRun(file, book(), report.stdout);
      for (const worker of workers) worker.kill('SIGTERM');
      const ended = await Promise.all(workers.map((worker) => worker.ended));
      return [
        ...(report.code === 0 ? [] : [`payrun report ended with ${report.code}: ${report.stderr}`]),
        ...twice.map((reference) => `${reference}: paid more than once`),
        ...lost.map((reference) => `${reference}: lost`),
        ...faults,
        ...(outcomes['paid'] === options.rows ? [] : [`the outcomes are ${JSON.stringify(outcomes)}`]),
        ...ended.filter(({ code }) => code !== 0).map(({ code, stderr }) => `a worker ended with ${code}: ${stderr}`),
        ...ended.filter((one) => `${one.stdout}${one.stderr}`.includes(PASSWORD)).map(() => 'a worker told a password'),
      ];
    },
    close: () => processes.remove(),
  };
  return fleet;
}

function armingsBelow(dir: string): number {
  try {
    const files = readdirSync(dir).filter((name) => name.endsWith('.log'));
    return files.flatMap((name) => readFileSync(join(dir, name), 'utf8').split('"armingCounter"').slice(1)).length;
  } catch {
    return 0;
  }
}
