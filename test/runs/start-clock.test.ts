import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { startRun } from '../../src/runs/hand-in/start.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { payoutFile } from '../cli/payrun.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: the clock of one worker's host is ahead (a VM that was restored, no time synchronisation). */

const DAY_MS = 86_400_000;
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
  folder = mkdtempSync(join(tmpdir(), 'payrun-clock-'));
  writeFileSync(join(folder, 'file.csv'), payoutFile([['S-0', '10.00']]));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a run does not start before its time because the clock of one worker, but not of Redis, is ahead', async () => {
  const startAt = Date.now() + 30 * DAY_MS;
  const submitted = await submitRun(app, { path: join(folder, 'file.csv'), actor: 'mia', skipInvalid: false, startAt });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  const { id } = submitted.run;
  const ahead: App = { ...app, clock: { ...app.clock, now: () => Date.now() + 31 * DAY_MS } };
  // What each sweep of that worker does.
  await startRun(ahead, await readRun(app, id));
  expect((await readRun(app, id)).state).toBe('paused');
});
