import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { cancelPayout, findPayout } from '../../src/runs/decide/control.ts';
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

test('a run whose rows came in another order is not cancelled by each later comparison for one row that was stopped', async () => {
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
  const [first = '', ...lines] = text.trimEnd().split('\n');
  expect((await submit('other.csv', [first, ...lines.toReversed(), ''].join('\n'))).run.id).toBe(run.id);
  const held = await findPayout(app.ledger, run.id, 'S-0');
  expect(held?.state).toBe('held');
  expect((await app.ledger.runs.read(run.id))?.state).toBe('paused');
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
  expect((await app.ledger.runs.read(run.id))?.state).toBe('paused');
  await office.close();
});
