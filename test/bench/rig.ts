import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openRuns, type Runs } from '../../src/ledger/runs/runs.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import type { ServiceCounts, ServiceLog } from './answering-service.ts';
import { type Child, startChild } from './child.ts';
import { writePayoutFile } from './payout-file.ts';
import { type PayrunProcess, startPayrun } from './payrun-process.ts';

const POLL_MS = 20;
/** Nothing moves for so long only when something is broken: a payment in doubt waits until its quote is dead. */
const STUCK_MS = 600_000;
export const PREFIX = '{payrun}';
const CAPABILITIES = 'payment-id-is-quote-id,expired-quote-refused,one-payment-per-quote,payment-visible-in-time';
/** As payrun sets its private Redis. */
const REDIS_ARGUMENTS = ['--hash-max-listpack-value', '256', '--hash-max-listpack-entries', '512'];

/** The answering service, asked from here. */
export interface AnsweringService {
  readonly url: string;
  readonly pid: number;
  set(how: { delayMs: number; tokenSeconds?: number; perSecond?: number }): Promise<void>;
  reset(): Promise<void>;
  counts(): Promise<ServiceCounts>;
  log(): Promise<ServiceLog>;
  /** Resolves once so many payments were made since the last reset; gives the counts then. */
  paid(payments: number): Promise<ServiceCounts>;
}

export type Environment = Readonly<Record<string, string>>;

/** A Redis, a service and a data directory, all of this section's own, and payrun on them. */
export interface Rig {
  readonly redis: TestRedis;
  readonly service: AnsweringService;
  readonly runs: Runs;
  readonly folder: string;
  /** Settings of every payrun process; a section may change some. */
  env(changes?: Environment): Environment;
  file(name: string, rows: number): Promise<string>;
  /** Records a file by `payrun submit`; gives the run's id. */
  submit(path: string, env?: Environment): Promise<string>;
  /** A worker that is ready. */
  worker(env?: Environment): Promise<PayrunProcess>;
  /** Resolves when the run is finished and its report is written, so that nothing of it goes on. */
  finished(runId: string): Promise<void>;
  child(name: string, words?: readonly string[], env?: Environment): Child;
  start(words: readonly string[], env?: Environment): PayrunProcess;
  close(): Promise<void>;
}

export async function openRig(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-bench-'));
  const redis = await startTestRedis(...REDIS_ARGUMENTS);
  const children: Child[] = [];
  const started: PayrunProcess[] = [];
  const child = (name: string, words?: readonly string[], changes?: Environment): Child => {
    const one = startChild(name, words, changes);
    children.push(one);
    return one;
  };
  const runs = openRuns(redis.redis, ledgerKeys(PREFIX), openSeals());
  const service = await openService(child('answering-service'), () => describeLatest(runs));

  const env = (changes: Environment = {}): Environment => ({
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: PREFIX,
    PAYRUN_DATA_DIR: join(folder, 'data'),
    PAYRUN_SERVICE_URL: service.url,
    PAYRUN_CLIENT_ID: 'bench',
    PAYRUN_CLIENT_SECRET: 'bench-secret',
    PAYRUN_TENANT_ID: 'bench-tenant',
    PAYRUN_ENVIRONMENT: 'test',
    PAYRUN_ASSUME: CAPABILITIES,
    PAYRUN_LOG_LEVEL: 'error',
    ...changes,
  });
  const start = (words: readonly string[], changes?: Environment): PayrunProcess => {
    const one = startPayrun(words, env(changes));
    started.push(one);
    return one;
  };

  return {
    redis,
    service,
    runs,
    folder,
    env,
    child,
    start,
    async file(name, rows) {
      const path = join(folder, `${name}.csv`);
      await writePayoutFile(path, { name, rows });
      return path;
    },
    async submit(path, changes) {
      const printed = await start(['submit', path, '--json'], changes).ended();
      return (JSON.parse(printed) as { runId: string }).runId;
    },
    async worker(changes) {
      const worker = start(['worker'], changes);
      await worker.said('is ready');
      return worker;
    },
    async finished(runId) {
      const idle = openStuck(`run ${runId}`);
      for (;;) {
        const run = await runs.read(runId);
        if (run?.state === 'paused') throw new Error(`run ${runId} paused itself: ${run.pauseReason}`);
        if (run?.state === 'finished' && run.reportVersion > 0) return;
        idle(JSON.stringify(run?.counts));
        await delay(POLL_MS * 5);
      }
    },
    async close() {
      for (const one of started) await one.kill('SIGKILL');
      for (const one of children) await one.stop();
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Throws when what it is told stays the same for too long. */
export function openStuck(what: string): (now: string) => void {
  const patience = openWaitLimit();
  return (now) => {
    if (patience.isOver(now)) throw new Error(`${what} does not go on: ${now}`);
  };
}

function openWaitLimit(): { isOver: (now: string) => boolean } {
  let last = '';
  let since = performance.now();
  return {
    isOver(now) {
      if (now !== last) {
        last = now;
        since = performance.now();
      }
      return performance.now() - since > STUCK_MS;
    },
  };
}

/** What the ledger says of the run that was handed in last, for whoever waits in vain. */
async function describeLatest(runs: Runs): Promise<string> {
  const [latest = ''] = await runs.list();
  const run = await runs.read(latest);
  return JSON.stringify([run?.state, run?.pauseReason, run?.counts]);
}

async function openService(child: Child, describe: () => Promise<string>): Promise<AnsweringService> {
  const { url } = await child.told<{ url: string }>();
  const counts = (): Promise<ServiceCounts> => child.ask({ order: 'count' });
  return {
    url,
    pid: child.pid,
    counts,
    async set({ delayMs, tokenSeconds = 3600, perSecond = 0 }) {
      await child.ask({ order: 'set', delayMs, tokenSeconds, perSecond });
    },
    async reset() {
      await child.ask({ order: 'reset' });
    },
    log: () => child.ask({ order: 'log' }),
    async paid(payments) {
      const idle = openWaitLimit();
      for (;;) {
        const now = await counts();
        if (now.payments >= payments) return now;
        if (idle.isOver(String(now.payments))) {
          throw new Error(`${now.payments} of ${payments} payments; ${await describe()}`);
        }
        await delay(POLL_MS * 2);
      }
    },
  };
}

/** Payments per second between the first and the last one, as the service saw them. */
export function ratePerSecond({ payments, firstPaymentAt, lastPaymentAt }: ServiceCounts): number {
  return ((payments - 1) * 1000) / (lastPaymentAt - firstPaymentAt);
}
