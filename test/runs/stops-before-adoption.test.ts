import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: the rows of a run that people cancelled come again in other bytes. */
let server: TestRedis;
let app: App;
let folder: string;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-take-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

async function submit(name: string, text: string, deps: App = app, given: Partial<Submission> = {}) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const submitted = await submitRun(deps, { path, actor: 'inbox', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted;
}

/* After an adoption each directory compares its copies as those of a lost ledger (`former`). */
test.each([
  ['the worker has copied the cancel', 'office', 'worker'],
  ['the worker has copied the cancel', 'worker', 'office'],
  ['only the office has it', 'office', 'worker'],
])(
  'a run that was cancelled before its ledger was lost is not paid (%s; compared in the order %s, %s)',
  async (what, ...order) => {
    const office = await openApp({
      config: readConfig({
        REDIS_URL: server.url,
        PAYRUN_DATA_DIR: join(folder, 'office'),
        PAYRUN_PREFIX: app.config.prefix,
      }),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      at: noCrash,
      report: () => {},
      openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
    });
    const hosts: Record<string, App> = { office, worker: app };
    const compares = async (deps: App) => {
      const audit = {
        ...deps.ledger.audit,
        missing: async () => ({ former: (await deps.ledger.audit.missing()).ours, ours: [] }),
      };
      const { server: now } = await deps.ledger.state.season();
      await redoMissedDecisions({ ledger: { ...deps.ledger, audit }, clock: deps.clock, log: silentLog }, now);
    };
    const text = payoutFile(ROWS);
    const putBack = await copyLedger(server.redis, app.config.prefix);
    const { run } = await submit('file.csv', text, app, { startAt: Date.now() + 86_400_000 });
    await cancelRun(office, run.id, { actor: 'anna', reason: 'wrong month' });
    if (what.includes('copied')) await app.ledger.audit.copyOthers();
    await putBack();
    for (const name of order) {
      const deps = hosts[name];
      if (deps !== undefined) await compares(deps);
    }
    await submit('file.csv', text).catch((error: unknown) => String(error));
    const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
    expect(runs.filter((one) => (one?.counts.ready ?? 0) > 0 && one?.state !== 'cancelled')).toHaveLength(0);
    await office.close();
  },
);
