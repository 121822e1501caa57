import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { summariseRun } from '../../src/runs/after/report.ts';
import { readPeriod } from '../../src/runs/period.ts';
import { reconcileRuns } from '../../src/runs/reconcile.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { recordRun } from './recorded-run.ts';

const RUNS = ['r1', 'r2', 'r3'];

const server = await useTestRedis();
let app: App;

beforeAll(async () => {
  app = await openTestApp(server.url);
  for (const [at, id] of RUNS.entries()) {
    await recordRun(app.ledger, { id, lines: [10 * at + 2, 10 * at + 3] });
    const details = { fileSha256: `sha-${id}`, contentHash: `content-${id}` };
    await app.ledger.audit.append({ actor: '"target":"r1"', action: 'run.submitted', target: id, details });
  }
});
afterAll(async () => {
  await app.close();
});

/** The app, counting how often the whole audit log is read. */
function counted(): { readonly scans: () => number; readonly deps: App } {
  let scans = 0;
  const lines = (from?: number): AsyncIterable<string> => {
    scans += 1;
    return app.ledger.audit.lines(from);
  };
  const audit = { ...app.ledger.audit, lines };
  return { scans: () => scans, deps: { ...app, ledger: { ...app.ledger, audit } } };
}

test('a period reads the audit log once, however many runs it has, and knows of each run what it says', async () => {
  const { scans, deps } = counted();
  const period = await readPeriod(deps, { from: 0, end: Date.now() + 1000 });
  expect(period.runs.toSorted()).toEqual(RUNS);
  expect(scans()).toBe(1);
  // The rows of these runs have other hashes than those that were handed in.
  expect(period.faults).toEqual(RUNS.map((id) => `run ${id}: its own report does not tie`));
});

test('a report finds what the log says of its own run', async () => {
  const { conservation } = await summariseRun(app, 'r2');
  expect(conservation.faults).toEqual(['hashes: the rows in the ledger are not those that were handed in']);
});

test('reconciling does not read the audit log', async () => {
  const { scans, deps } = counted();
  const statement = { movements: [] };
  const lines: number[] = [];
  for await (const batch of (await reconcileRuns(deps, RUNS, statement)).lines) {
    lines.push(...batch.flatMap(({ payout }) => payout?.line ?? []));
  }
  expect({ scans: scans(), lines }).toEqual({ scans: 0, lines: [] });
});

test('reconciling refuses a run that there is not', async () => {
  const reconciling = reconcileRuns(app, ['r9'], { movements: [] });
  await expect(reconciling).rejects.toThrow('no run');
});
