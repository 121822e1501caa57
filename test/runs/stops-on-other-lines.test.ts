import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { silentLog } from '../../src/log.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { cancelPayout, cancelRun, findPayout } from '../../src/runs/decide/control.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { movePayout } from './recorded-run.ts';

/* The eighth attack: what people stopped, and a Redis that knows the file by another run or by other lines. */

let server: TestRedis;
let app: App & { readonly dir: string };
let folder: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-missed-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(text: string, given: Partial<Submission> = {}, name = 'file.csv') {
  const path = join(folder, name);
  writeFileSync(path, text);
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

/** The copy is put back, and everything is as after a restart of the worker of this data directory. */
async function comesBack(): Promise<void> {
  const { server: now } = await app.ledger.state.season();
  await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);
const BY = { actor: 'anna', reason: 'wrong invoice' };

async function cancel(runId: string, reference: string): Promise<void> {
  const payout = await findPayout(app.ledger, runId, reference);
  if (payout === undefined) throw new Error(`no ${reference}`);
  await cancelPayout({ ledger: app.ledger, wake: async () => {} }, payout, BY);
}

/** The state of the row with this reference, and whether it was given up. */
async function stands(runId: string, reference: string) {
  const payout = await findPayout(app.ledger, runId, reference);
  return { state: payout?.state, givenUp: payout?.givenUp };
}

describe('a row that people cancelled after the copy', () => {
  test('is not paid because the same rows come in another order: its line is that of another row then', async () => {
    const putBack = await copyLedger(server.redis, app.config.prefix);
    const text = payoutFile(ROWS);
    const run = await submit(text, { startAt: Date.now() + 86_400_000 });
    await cancel(run.id, 'S-0');
    await putBack();
    await comesBack();
    // The very bytes are gone; the rows are exported anew, in another order.
    const [head = '', ...lines] = text.trimEnd().split('\n');
    const again = await submit([head, ...lines.toReversed(), ''].join('\n'));
    expect(again.id).toBe(run.id);
    expect(await stands(run.id, 'S-0')).not.toEqual({ state: 'ready', givenUp: false });
  });

  test('is not paid by the run that the copy has of the same file, which was over by then and handed in again', async () => {
    const text = payoutFile(ROWS);
    const first = await submit(text, { startAt: Date.now() + 86_400_000 });
    const putBack = await copyLedger(server.redis, app.config.prefix);
    // It starts; the service refuses each quote. What was wrong there is put right, and the file is handed in once more.
    await app.ledger.runs.move(first.id, { to: 'paying', actor: 'payrun', reason: '' });
    for (const line of [2, 3, 4, 5]) await movePayout(app.ledger, { runId: first.id, line }, 'rejected');
    expect(await finishRun(app.ledger, first.id)).toBe(true);
    const second = await submit(text, { again: true, startAt: Date.now() + 86_400_000 });
    expect(second.id).not.toBe(first.id);
    await cancel(second.id, 'S-0');
    await putBack();
    await comesBack();
    // What the two who release and whoever resumes find: the first run waits as it did, and all of its rows are to be paid.
    expect((await app.ledger.runs.read(first.id))?.state).toBe('paused');
    expect(await stands(first.id, 'S-0')).not.toEqual({ state: 'ready', givenUp: false });
  });
});

test('a file whose second run people cancelled after the copy is not paid by its first run, which the copy has', async () => {
  const text = payoutFile(ROWS);
  const first = await submit(text, { startAt: Date.now() + 86_400_000 });
  const putBack = await copyLedger(server.redis, app.config.prefix);
  await app.ledger.runs.move(first.id, { to: 'paying', actor: 'payrun', reason: '' });
  for (const line of [2, 3, 4, 5]) await movePayout(app.ledger, { runId: first.id, line }, 'rejected');
  expect(await finishRun(app.ledger, first.id)).toBe(true);
  const second = await submit(text, { again: true, startAt: Date.now() + 86_400_000 });
  await cancelRun(app, second.id, BY);
  await putBack();
  await comesBack();
  const { state, startAt } = (await app.ledger.runs.read(first.id)) ?? {};
  expect({ state, startAt }).toEqual({ state: 'cancelled', startAt: null });
});
