import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { cancelPayout, cancelRun, findPayout, pauseRun } from '../../src/runs/decide/control.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { movePayout } from './recorded-run.ts';

/* The eighth attack, on its own fixes: the entry of a stop lies in an office's directory alone, which compares later than the worker. */

let server: TestRedis;
let app: App & { readonly dir: string };
let office: App;
let folder: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-fixes-'));
  office = await openApp({
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
});
afterEach(async () => {
  await office.close();
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(text: string, given: Partial<Submission> = {}) {
  const path = join(folder, 'file.csv');
  writeFileSync(path, text);
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

async function compares(deps: App): Promise<void> {
  const { server: now } = await deps.ledger.state.season();
  await redoMissedDecisions({ ledger: deps.ledger, clock: deps.clock, log: silentLog }, now);
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);
const BY = { actor: 'anna', reason: 'wrong invoice' };
const LATER = 86_400_000;

async function cancelInOffice(runId: string, reference: string): Promise<void> {
  const payout = await findPayout(office.ledger, runId, reference);
  if (payout === undefined) throw new Error(`no ${reference}`);
  await cancelPayout({ ledger: office.ledger, wake: async () => {} }, payout, BY);
}

async function stands(runId: string, reference: string) {
  const payout = await findPayout(app.ledger, runId, reference);
  return { state: payout?.state, givenUp: payout?.givenUp };
}

async function failed(runId: string): Promise<void> {
  await app.ledger.runs.move(runId, { to: 'paying', actor: 'payrun', reason: '' });
  for (const line of [2, 3, 4, 5]) await movePayout(app.ledger, { runId, line }, 'rejected');
  expect(await finishRun(app.ledger, runId)).toBe(true);
}

async function handIn(name: string, text: string, deps: App = app, given: Partial<Submission> = {}) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

test.each([undefined, 'upload-9'])(
  'rows of a run that Redis forgot, and that came to nothing since, may be paid anew (key %s)',
  async (key) => {
    const putBack = await copyLedger(server.redis, app.config.prefix);
    const text = payoutFile(ROWS);
    const run = await submit(text, { startAt: Date.now() + LATER });
    await putBack();
    await compares(app);
    expect((await submit(text)).id).toBe(run.id);
    await cancelRun(app, run.id, BY);
    expect((await app.ledger.runs.read(run.id))?.counts.cancelled).toBe(4);
    // People want them paid after all, and say so.
    const again = await submit(text, { again: true, ...(key === undefined ? {} : { key }) });
    expect(again.id).not.toBe(run.id);
  },
);

test('rows of a cancelled run that Redis forgot may be paid anew where its very file is lost', async () => {
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const text = payoutFile(ROWS);
  const run = await submit(text, { startAt: Date.now() + LATER });
  await cancelRun(app, run.id, BY);
  await putBack();
  await compares(app);
  const other = text.replaceAll('\n', '\r\n');
  const said: string[] = [];
  for (const again of [false, true]) {
    await handIn('other.csv', other, app, { again }).then(
      (made) => said.push(`${again} ${made.id} ${made.state}`),
      (error: unknown) => said.push(`${again} ${String(error)}`),
    );
  }
  const last = await handIn('other.csv', other, app, { again: true }).catch(() => undefined);
  expect(last?.state).toBeDefined();
});

test('a run that was paused where its hand-in is not known yet has no rows that count as given up', async () => {
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const text = payoutFile(ROWS);
  const run = await submit(text);
  await pauseRun({ ledger: office.ledger, wake: async () => {} }, run.id, BY);
  await putBack();
  await compares(office);
  await compares(app);
  expect((await submit(text)).id).toBe(run.id);
  expect((await app.ledger.runs.read(run.id))?.counts).toMatchObject({ ready: 4, held: 0 });
});

test('of two stops of a run that is not known yet the cancel stands', async () => {
  const text = payoutFile(ROWS);
  const first = await submit(text, { startAt: Date.now() + LATER });
  const putBack = await copyLedger(server.redis, app.config.prefix);
  await failed(first.id);
  const second = await submit(text, { again: true, startAt: Date.now() + LATER });
  // Somebody pauses it from a third host, and somebody else cancels it in the office.
  const third = await openApp({
    config: readConfig({
      REDIS_URL: server.url,
      PAYRUN_DATA_DIR: join(folder, 'third'),
      PAYRUN_PREFIX: app.config.prefix,
    }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    at: noCrash,
    report: () => {},
    openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
  });
  await pauseRun({ ledger: third.ledger, wake: async () => {} }, second.id, BY);
  await cancelRun(office, second.id, BY);
  await putBack();
  await compares(office);
  await compares(third);
  await compares(app);
  expect((await app.ledger.runs.read(first.id))?.state).toBe('cancelled');
  await third.close();
});
