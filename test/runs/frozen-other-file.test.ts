import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { silentLog } from '../../src/log.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { factsFinding } from '../../src/runs/safety/seals.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: two files of the same rows are handed in for a run that Redis forgot, and one of the two processes stands still. */

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
  folder = mkdtempSync(join(tmpdir(), 'payrun-frozen-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(name: string, text: string, given: Partial<Submission> = {}, deps: App = app) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open: () => open() };
}

/** An app whose process stops right before it notes the bytes of its file. */
function frozenApp(): { deps: App; isFrozen: Promise<void>; goOn: () => void } {
  const frozen = gate();
  const thawed = gate();
  const runs = {
    ...app.ledger.runs,
    async takeFile(runId: string, file: { sha256: string; name: string }) {
      frozen.open();
      await thawed.promise;
      return await app.ledger.runs.takeFile(runId, file);
    },
  };
  return { deps: { ...app, ledger: { ...app.ledger, runs } }, isFrozen: frozen.promise, goOn: thawed.open };
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

test('a run that was recorded from one file is not given to another one that was handed in before', async () => {
  const text = payoutFile(ROWS);
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const run = await submit('file.csv', text);
  await putBack();
  const { server: now } = await app.ledger.state.season();
  await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
  // Somebody hands in an export of the same rows in another order; his process stands still. Somebody else has the very file.
  const { deps, isFrozen, goOn } = frozenApp();
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const frozen = submit('export.csv', [head, ...lines.toReversed(), ''].join('\n'), {}, deps);
  await isFrozen;
  const recorded = await submit('file.csv', text);
  expect(recorded.id).toBe(run.id);
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  await app.ledger.runs.move(run.id, { to: 'paying', actor: 'anna', reason: '' });
  goOn();
  await frozen.catch(() => {});
  const after = await readRun(app, run.id);
  // Else a worker halts everything: "run … was changed in Redis by something else than payrun".
  expect.soft(factsFinding(app.ledger, after)?.reason).toBeUndefined();
  expect(after.fileSha256).toBe(recorded.fileSha256);
});
