import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import type { PayoutPlace, Run } from '../../src/payout.ts';
import { cancelPayout, findPayout } from '../../src/runs/decide/control.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { payoutAt } from './recorded-run.ts';

export const DAY_MS = 86_400_000;

/** A payout file of so many rows: S-0, S-1 and so on. */
export function fileOf(rows: number): string {
  return payoutFile(Array.from({ length: rows }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const));
}

export const FILE = fileOf(4);

/** The same rows in the opposite order. */
export function reversed(text: string): string {
  const [head = '', ...lines] = text.trimEnd().split('\n');
  return [head, ...lines.toReversed(), ''].join('\n');
}

const openPay = (): Promise<never> => Promise.reject(new Error('nothing is looked up'));

type Given = Partial<Omit<Submission, 'path'>> & { readonly deps?: App; readonly name?: string };

/** A worker's app on a ledger whose Redis can go back to a copy, and what people hand in and decide there and on other hosts. */
export interface HandInDesk {
  readonly app: App;
  /** A host for commands or pages, with a data directory of its own. It never joins the season. */
  openHost(name: string, settings?: Readonly<Record<string, string>>): Promise<App>;
  /** Copies the ledger; gives what puts the copy back. */
  copy(): Promise<() => Promise<void>>;
  /** The data directory of this app, or the worker's, is compared after the copy was put back. */
  compares(deps?: Pick<App, 'ledger' | 'clock'>): Promise<void>;
  submit(text: string, given?: Given): Promise<Run>;
  /** Anna cancels the row with this reference, on the host of this ledger. */
  cancelRow(ledger: Ledger, runId: string, reference: string): Promise<void>;
  /** Two people allow a held row of this app's ledger, and nothing is looked up for that; what the last one read. */
  allow(
    place: PayoutPlace,
    how?: { readonly caveats?: 'read' | 'alone'; readonly people?: readonly string[] },
  ): Promise<readonly string[]>;
  runs(): Promise<readonly Run[]>;
  /** As if nobody had recorded rows for two minutes. */
  rests(): Promise<void>;
}

/** Begins each test of a file with such a desk. */
export function useHandIns(): HandInDesk {
  let server: TestRedis;
  let app: App;
  let folder: string;
  let others: App[];

  beforeAll(async () => {
    server = await startTestRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    app = await openTestApp(server.url);
    folder = mkdtempSync(join(tmpdir(), 'payrun-hand-in-'));
    others = [];
  });
  afterEach(async () => {
    for (const other of [...others, app]) await other.close();
    rmSync(folder, { recursive: true, force: true });
  });

  return {
    get app() {
      return app;
    },
    async openHost(name, settings = {}) {
      const { prefix } = app.config;
      const variables = {
        REDIS_URL: server.url,
        PAYRUN_DATA_DIR: join(folder, name),
        PAYRUN_PREFIX: prefix,
        ...settings,
      };
      const host = await openApp({
        config: readConfig(variables),
        clock: systemClock,
        random: systemRandom,
        log: silentLog,
        at: noCrash,
        report: () => {},
        openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
      });
      others.push(host);
      return host;
    },
    async rests() {
      for (const { id, createdAt, recordedAt } of await this.runs()) {
        const times = { createdAt, ...(recordedAt === null ? {} : { recordedAt }) };
        for (const [name, at] of Object.entries(times))
          await server.redis.hset(`${app.config.prefix}:run:${id}`, name, at - 120_000);
      }
    },
    copy: async () => await copyLedger(server.redis, app.config.prefix),
    async compares({ ledger, clock } = app) {
      const { server: now } = await ledger.state.season();
      await redoMissedDecisions({ ledger, clock, log: silentLog }, now);
    },
    async submit(text, { deps = app, name = 'file.csv', ...given } = {}) {
      const path = join(folder, name);
      writeFileSync(path, text);
      const submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
      if (submitted.kind === 'refused') throw new Error('the file was refused');
      return submitted.run;
    },
    async cancelRow(ledger, runId, reference) {
      const payout = await findPayout(ledger, runId, reference);
      if (payout === undefined) throw new Error(`no ${reference}`);
      await cancelPayout({ ledger, wake: async () => {}, ensureSeason: async () => [] }, payout, {
        actor: 'anna',
        reason: 'wrong invoice',
      });
    },
    async allow(place, { caveats = 'read', people = ['anna', 'bob'] } = {}) {
      let read: readonly string[] = [];
      const deps = { ledger: app.ledger, wake: async () => {}, openPay, ensureSeason: async () => [] };
      for (const by of people) {
        const asked = { decision: 'allow', paymentId: '', by, reason: 'another invoice', caveats } as const;
        ({ evidence: read } = await decidePayout(deps, await payoutAt(app.ledger, place), asked));
      }
      return read;
    },
    async runs() {
      const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
      return runs.filter((run) => run !== undefined);
    },
  };
}
