import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { Run } from '../../src/payout.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { endStage } from '../../src/runs/after/stage.ts';
import { cancelPayout, findPayout } from '../../src/runs/decide/control.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { payoutFile } from '../cli/payrun.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: stages. */

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
  folder = mkdtempSync(join(tmpdir(), 'payrun-stages-'));
  const rows = Array.from({ length: 8 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);
  writeFileSync(join(folder, 'file.csv'), payoutFile(rows));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(goesOnIfPaid: boolean): Promise<Run> {
  const stages = { sizes: '2,3,rest', goesOnIfPaid };
  const submitted = await submitRun(app, { path: join(folder, 'file.csv'), actor: 'mia', skipInvalid: false, stages });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

test('a stage of which a person has cancelled every payout does not go on by itself "if all was paid"', async () => {
  const { id } = await submit(true);
  for (const reference of ['S-0', 'S-1']) {
    const payout = await findPayout(app.ledger, id, reference);
    if (payout === undefined) throw new Error('no payout');
    await cancelPayout({ ledger: app.ledger, wake: async () => {} }, payout, { actor: 'anna', reason: 'wrong file' });
  }
  await finishRun(app.ledger, id);
  await endStage(app.ledger, await readRun(app, id));
  expect(await readRun(app, id)).toMatchObject({ state: 'paused', stages: { at: 0, isOver: true } });
});
