import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { silentLog } from '../../src/log.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submission, type Submitted, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

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
  folder = mkdtempSync(join(tmpdir(), 'payrun-after-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(text: string, given: Partial<Submission> = {}, deps: App = app) {
  const path = join(folder, 'file.csv');
  writeFileSync(path, text);
  const submitted: Submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted;
}

async function comesBack(): Promise<void> {
  const { server: now } = await app.ledger.state.season();
  await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

test('a file that is handed in with a time while everything is halted, as after a restore, keeps that time', async () => {
  const startAt = Date.now() + 30 * 86_400_000;
  await app.ledger.state.halt('anna', 'drill');
  const { run } = await submit(payoutFile(ROWS), { startAt });
  expect.soft(run).toMatchObject({ state: 'paused', startAt });
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  // It would be paid at once by whoever resumes each paused run, and not at all by itself.
  expect((await app.ledger.runs.read(run.id))?.startAt).toBe(startAt);
});

test('rows of a run that is in doubt, of which no row is known, are taken in from the same rows in another order', async () => {
  // The file comes after the copy, to a host that is lost; a copy of the audit log tells of it. Its very bytes are gone.
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const text = payoutFile(ROWS);
  const { run } = await submit(text);
  await putBack();
  // The lost host's directory has yet to compare.
  const { dirs } = { dirs: `${app.config.prefix}:dirs` };
  await server.redis.hset(dirs, 'dir-lost', '');
  await server.redis.hset(`${app.config.prefix}:head`, 'season', 'closed 1 2');
  await comesBack();
  const own = Object.keys(await server.redis.hgetall(dirs)).filter((id) => id !== 'dir-lost');
  const { server: now } = await app.ledger.state.season();
  for (const id of own) await server.redis.hset(dirs, id, now);
  for (const actor of ['anna', 'bob']) await writeOffDataDir(app, 'dir-lost', { actor, reason: 'burnt' });
  expect((await app.ledger.state.season()).open).toBe(true);
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const again = await submit([head, ...lines.toReversed(), ''].join('\n')).catch(String);
  expect(again).toMatchObject({ run: { id: run.id, counts: { held: ROWS.length } } });
});
