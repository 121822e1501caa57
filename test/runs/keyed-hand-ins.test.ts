import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { cancelPayout, cancelRun, findPayout } from '../../src/runs/decide/control.ts';
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

test('a hand-in under a key that had its run makes no further one, also where another hand-in had the rows paid anew since', async () => {
  const text = payoutFile(ROWS);
  const first = await submit('file.csv', text, app, { again: true, key: 'upload-1' });
  await cancelRun(app, first.run.id, { actor: 'bob', reason: 'it is the wrong file' });
  const second = await submit('file.csv', text, app, { again: true, key: 'upload-2' });
  expect(second.run.id).not.toBe(first.run.id);
  await cancelRun(app, second.run.id, { actor: 'bob', reason: 'it is still the wrong file' });
  // The process that handed in the first one (or a program that never saw its answer) carries it on.
  await submit('file.csv', text, app, { again: true, key: 'upload-1' }).catch((error: unknown) => String(error));
  const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
  expect(runs.map((run) => run?.state)).toEqual(['cancelled', 'cancelled']);
});

test('a row that people allowed after a stop ahead was done is not held again by each later comparison', async () => {
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
  const compares = async (deps: App) =>
    await redoMissedDecisions(
      { ledger: deps.ledger, clock: deps.clock, log: silentLog },
      (await deps.ledger.state.season()).server,
    );
  const text = payoutFile(ROWS);
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const { run } = await submit('file.csv', text, app, { startAt: Date.now() + 86_400_000 });
  const payout = await findPayout(office.ledger, run.id, 'S-0');
  if (payout === undefined) throw new Error('no S-0');
  await cancelPayout({ ledger: office.ledger, wake: async () => {} }, payout, {
    actor: 'anna',
    reason: 'wrong invoice',
  });
  await putBack();
  await compares(office);
  await compares(app);
  expect((await submit('file.csv', text)).run.id).toBe(run.id);
  const held = await findPayout(app.ledger, run.id, 'S-0');
  expect(held?.state).toBe('held');
  // Two people allow it.
  const place = { runId: run.id, line: held?.line ?? 0 };
  expect(
    (
      await app.ledger.payouts.move({
        ...place,
        to: 'ready',
        actor: 'anna and bob',
        reason: 'it is right after all',
        dueMs: 0,
      })
    ).result,
  ).toBe('moved');
  // Later Redis loses a second in which something else was decided.
  const back = await copyLedger(server.redis, app.config.prefix);
  await app.ledger.audit.append({ actor: 'mia', action: 'schedule.set', target: 'schedule x', details: {} });
  await back();
  await compares(app);
  expect((await findPayout(app.ledger, run.id, 'S-0'))?.state).toBe('ready');
  await office.close();
});
