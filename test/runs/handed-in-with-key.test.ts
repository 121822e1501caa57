import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: the file that Redis forgot is handed in again from a host that has no copy of the audit log. */

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
  folder = mkdtempSync(join(tmpdir(), 'payrun-other-'));
  // A host for commands, or the container of the pages, with a data directory of its own; it never joins the season.
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

async function submit(deps: App, text: string, given: Partial<Submission> = {}) {
  const path = join(folder, 'file.csv');
  writeFileSync(path, text);
  const submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

test.each(['the same host', 'another host'] as const)(
  'stages, the bound on the cost and who handed a file in are kept where it is handed in again at the pages of %s',
  async (where) => {
    const putBack = await copyLedger(server.redis, app.config.prefix);
    const stages = { sizes: '1,rest', goesOnIfPaid: false };
    const run = await submit(app, payoutFile(ROWS), { stages, maxCostDriftBp: 50n, key: 'upload-1' });
    expect([run.stages?.ends[0]?.line, run.createdBy]).toEqual([2, 'mia']);
    await putBack();
    // Somebody signs in at the pages before a worker has compared.
    await office.ledger.audit.append({ actor: 'bob', action: 'user.signed-in', target: 'user bob', details: {} });
    // The worker compares, and halts everything.
    const { server: now } = await app.ledger.state.season();
    await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
    // As the runbook says, each file that came after the copy is handed in again; an upload at the pages, or a call of the API, has a key.
    const again = await submit(where === 'the same host' ? app : office, payoutFile(ROWS), {
      actor: 'bob',
      key: 'upload-2',
    });
    expect(again.id).toBe(run.id);
    const { payout } = await app.ledger.payouts.read({ runId: run.id, line: 2 });
    expect.soft(payout?.costLimit).toMatchObject({ driftBp: 50n });
    expect.soft(again.createdBy).toBe('mia');
    expect(again.stages?.ends[0]?.line).toBe(2);
  },
);
