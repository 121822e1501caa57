import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, systemRandom } from '../../src/clock.ts';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type BookEntry, firstRows, readBook } from '../support/paid-once.ts';
import { buildProcesses, type Ended, type Processes, ROOT, type Started } from '../support/payrun-processes.ts';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { REDIS_PASSWORD, type RedisOptions, type RedisProcess, startRedis } from './redis-process.ts';

const POLL_MS = 20;
const UNTIL_MS_MAX = 90_000;
const STOP_MS_MAX = 12_000;
const PREFIX = '{payrun}';
/** What is left of a payout's time beside its quote's life, the grace and the gap (faults.md, O5). */
const SLACK_MS = 15_000;

const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');

/** The protocol's times in the short rows. */
export interface RigTimes {
  readonly quoteLifeMs: number;
  readonly graceMs: number;
  readonly gapMs: number;
}

const SHORT_TIMES: RigTimes = { quoteLifeMs: 1000, graceMs: 500, gapMs: 200 };

export interface RigOptions {
  /** Of samples/payouts.csv; 40 unless told. */
  readonly rows?: number;
  readonly times?: Partial<RigTimes>;
  readonly switches?: SwitchSettings;
  readonly redis?: RedisOptions;
  /** Further settings of all commands and workers. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface WorkerOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** `<crash point> <deed> <count>`, such as `C6 SIGKILL 3` or `C4 BLOCK-5000 1` (main.ts). */
  readonly crashAt?: string;
  /** Another way to Redis than through `redisLink`. */
  readonly redisUrl?: string;
}

/** A worker, or another command, that the row started. */
export interface RigProcess extends Started {
  readonly name: string;
  /** A worker that said so: it must not end by itself. */
  wasReady: boolean;
}

export interface Stopped {
  readonly name: string;
  readonly wasReady: boolean;
  /** It had to be killed. */
  readonly wasLate: boolean;
  readonly ended: Ended;
}

export interface SubmittedRun {
  readonly runId: string;
  /** The payout file's text. */
  readonly file: string;
}

/** Redis, service, proxies before both, and payrun as real processes, all for one try of one row. */
export interface Rig {
  /** On a disk. */
  readonly folder: string;
  /** Text of the payout file. */
  readonly file: string;
  readonly rows: number;
  readonly times: RigTimes;
  /** In which all must be settled after the faults stop. */
  readonly boundMs: number;
  readonly processes: Processes;
  readonly redis: RedisProcess;
  /** Between the workers and Redis. Commands have a way of their own, which no toxic touches. */
  readonly redisLink: TcpProxy;
  /** In this process: switches, counters, credentials. */
  readonly service: Sandbox;
  readonly serviceFolder: string;
  /** Between all of payrun and the service. */
  readonly serviceLink: TcpProxy;
  /** Everything that was submitted. */
  readonly runs: readonly SubmittedRun[];
  /** Every process that was started. */
  readonly started: readonly RigProcess[];
  /** Must stand in no log. */
  readonly secrets: readonly string[];
  /** A fraction from the row's seed, which a failure shows. */
  readonly random: () => number;
  /** Settings of a process whose data directory has this name. */
  env(name: string): Record<string, string>;
  /** `payrun submit` of the payout file, or of another text under another name; the run's id. */
  submit(options?: {
    readonly name?: string;
    readonly file?: string;
    readonly words?: readonly string[];
    /** The data directory; that of worker `one` unless told. */
    readonly from?: string;
  }): Promise<string>;
  /** `payrun worker`, ready; its data directory has the worker's name, on which a second start of it goes on. */
  startWorker(name: string, options?: WorkerOptions): Promise<RigProcess>;
  /** The same without waiting for it to be ready. */
  launchWorker(name: string, options?: WorkerOptions): RigProcess;
  /** Any command through the workers' way to Redis, in the folder that holds `payouts.csv`. */
  launch(name: string, words: readonly string[], options?: WorkerOptions): RigProcess;
  /** Any command to its end, on the data directory of worker `one` unless told. */
  payrun(words: readonly string[], name?: string): Promise<Ended>;
  book(): BookEntry[];
  /** Until the service has made so many payments. */
  booked(count: number): Promise<void>;
  /** A further Redis, which is closed with the rig. */
  anotherRedis(options?: RedisOptions): Promise<RedisProcess>;
  /** A way to another Redis, for `redisUrl`; it is closed with the rig. */
  linkTo(socket: string): Promise<TcpProxy>;
  /** Payouts of all runs by their state, from Redis. */
  states(): Promise<Record<string, number>>;
  until(what: string, condition: () => boolean | Promise<boolean>, msMax?: number): Promise<void>;
  /** Ends all processes (SIGTERM, also to those that stand still; kill -9 to those that stay), and gives all that they said. */
  stopAll(): Promise<readonly Stopped[]>;
  close(): Promise<void>;
}

export async function openRig(options: RigOptions, random: () => number): Promise<Rig> {
  const processes = buildProcesses();
  const folder = processes.folder();
  const { rows = 40, settings = {} } = options;
  const times = { ...SHORT_TIMES, ...options.times };
  const file = firstRows(PAYOUTS, rows);
  const serviceFolder = join(folder, 'service');
  const service = await startSandbox({
    folder: serviceFolder,
    switches: { quoteLifeMs: times.quoteLifeMs, acceptsAnyIdentity: true, ...options.switches },
    clock: systemClock,
    random: systemRandom,
  });
  const credential = await service.createCredential('rig', 'test');
  const redis = await startRedis(options.redis);
  const redisLink = await startProxy({ path: redis.socket });
  const redisStraight = await startProxy({ path: redis.socket });
  const serviceLink = await startProxy({ port: Number.parseInt(new URL(service.url('test')).port, 10) });
  const links = [redisLink, redisStraight, serviceLink];
  const servers = [redis];
  const runs: SubmittedRun[] = [];
  const started: RigProcess[] = [];

  const envOf = (name: string, redisUrl: string): Record<string, string> => ({
    REDIS_URL: redisUrl,
    PAYRUN_SERVICE_URL: `http://127.0.0.1:${portOf(serviceLink)}`,
    PAYRUN_CLIENT_ID: credential.clientId,
    PAYRUN_CLIENT_SECRET: credential.clientSecret,
    PAYRUN_TENANT_ID: service.tenantId,
    PAYRUN_ENVIRONMENT: 'test',
    PAYRUN_DATA_DIR: join(folder, name),
    PAYRUN_QUOTE_GRACE: `${times.graceMs}ms`,
    PAYRUN_NOT_FOUND_GAP: `${times.gapMs}ms`,
    PAYRUN_REQUEST_TIMEOUT: '1s',
    PAYRUN_ARM_DEADLINE: '1s',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
    PAYRUN_ASSUME: 'payment-id-is-quote-id,expired-quote-refused,one-payment-per-quote,payment-visible-in-time',
    // It pauses a run that meets as many faults as ours.
    PAYRUN_BREAKER: 'off',
    PAYRUN_LOG_LEVEL: 'debug',
    ...settings,
  });
  const start = (name: string, words: readonly string[], worker: WorkerOptions): RigProcess => {
    const { settings: own, crashAt, redisUrl } = worker;
    const env = { ...envOf(name, redisUrl ?? redisUrlOf(redisLink)), ...own };
    const place = { cwd: folder, main: 'test/faults/main.js' };
    const crash: Record<string, string> = crashAt === undefined ? {} : { CRASH_AT: crashAt };
    const child = processes.start(words, { ...place, env: { ...env, ...crash } });
    const process = Object.assign(child, { name, wasReady: false });
    started.push(process);
    return process;
  };
  const payrun = (words: readonly string[], name = 'one'): Promise<Ended> =>
    start(name, words, { redisUrl: redisUrlOf(redisStraight) }).ended;
  const book = (): BookEntry[] => readBook(serviceFolder);

  writeFileSync(join(folder, 'payouts.csv'), file);

  const rig: Rig = {
    folder,
    file,
    rows,
    times,
    boundMs: times.quoteLifeMs + times.graceMs + times.gapMs + SLACK_MS,
    processes,
    redis,
    redisLink,
    service,
    serviceFolder,
    serviceLink,
    runs,
    started,
    secrets: [credential.clientSecret, REDIS_PASSWORD],
    random,
    env: (name) => envOf(name, redisUrlOf(redisLink)),
    async submit({ name = 'payouts.csv', file: text = file, words = [], from } = {}) {
      writeFileSync(join(folder, name), text);
      const ended = await payrun(['submit', name, '--json', ...words], from);
      if (ended.code !== 0) throw new Error(`payrun submit ended with ${ended.code}: ${ended.stderr}`);
      const { runId } = JSON.parse(ended.stdout) as { runId: string };
      if (!runs.some((run) => run.runId === runId)) runs.push({ runId, file: text });
      return runId;
    },
    launch: (name, words, worker = {}) => start(name, words, worker),
    launchWorker: (name, worker = {}) => start(name, ['worker'], worker),
    async startWorker(name, worker) {
      const process = rig.launchWorker(name, worker);
      await process.said('is ready');
      process.wasReady = true;
      return process;
    },
    payrun,
    book,
    async anotherRedis(other) {
      const further = await startRedis(other);
      servers.push(further);
      return further;
    },
    async linkTo(socket) {
      const link = await startProxy({ path: socket });
      links.push(link);
      return link;
    },
    booked: (count) => rig.until(`${count} payments`, () => book().length >= count),
    states: () => statesOf(redis, runs),
    async until(what, condition, msMax = UNTIL_MS_MAX) {
      const deadline = performance.now() + msMax;
      while (!(await condition())) {
        if (performance.now() > deadline) throw new Error(`it never came to: ${what}`);
        await delay(POLL_MS);
      }
    },
    async stopAll() {
      for (const process of started) for (const signal of ['SIGCONT', 'SIGTERM'] as const) process.kill(signal);
      const late = new Set<RigProcess>();
      const killing = setTimeout(() => {
        for (const process of started) if (!process.hasEnded) late.add(process).forEach((one) => one.kill('SIGKILL'));
      }, STOP_MS_MAX);
      const stopped = await Promise.all(
        started.map(async (one) => ({
          ended: await one.ended,
          name: one.name,
          wasReady: one.wasReady,
          wasLate: late.has(one),
        })),
      );
      clearTimeout(killing);
      return stopped;
    },
    async close() {
      await processes.remove();
      for (const link of links) await link.close();
      for (const server of servers) await server.close();
      await service.close();
    },
  };
  return rig;
}

function portOf({ end }: TcpProxy): number {
  return 'port' in end ? end.port : 0;
}

/** The address of a Redis of the rig behind a link. */
export function redisUrlOf(link: TcpProxy): string {
  return `redis://:${REDIS_PASSWORD}@127.0.0.1:${portOf(link)}`;
}

async function statesOf({ client }: RedisProcess, runs: readonly SubmittedRun[]): Promise<Record<string, number>> {
  const states: Record<string, number> = {};
  for (const { runId } of runs) {
    for (const [field, count] of Object.entries(await client.hgetall(`${PREFIX}:run:${runId}`))) {
      if (!field.startsWith('n:')) continue;
      const state = field.slice(2);
      states[state] = (states[state] ?? 0) + Number.parseInt(count, 10);
    }
  }
  return states;
}

export function freshSeed(): number {
  return randomBytes(4).readUInt32BE();
}
