import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { type AuditRecord, headText, readEntry } from '../../src/audit/entry.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import { summariseRun } from '../../src/runs/after/report.ts';
import { cancelPayout, cancelRun, haltAll, pauseRun, resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submitted, submitRun } from '../../src/runs/hand-in/submit.ts';
import { payoutFile } from '../cli/payrun.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { all } from './audit-rig.ts';

const BY_ANNA = { actor: 'anna', reason: 'bank holiday' };

const server = await useTestRedis();
let app: App & { readonly dir: string };
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-acts-'));
});
afterEach(async () => {
  const { findings, uncopied } = await verifyAudit(app.ledger.audit, { known: null });
  if (findings.length + uncopied > 0) throw new Error('the audit log does not hold', { cause: findings });
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(actor: string): Promise<Extract<Submitted, { kind: 'submitted' }>> {
  const path = join(folder, 'salaries of anna.csv');
  writeFileSync(path, payoutFile([['INV-1', '10.00']]));
  const submitted = await submitRun(app, { path, actor, skipInvalid: false });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted;
}

async function entries(): Promise<(AuditRecord | undefined)[]> {
  return (await all(app.ledger.audit.lines())).map(readEntry);
}

/** All entries but the one that begins the log. */
async function acts(): Promise<unknown[]> {
  return (await entries()).slice(1).map((one) => [one?.actor, one?.action, one?.target, one?.details]);
}

test('who hands in a file, and who hands in the same again, is on the log, with the file’s hash and not its name', async () => {
  const { run, checked } = await submit('anna');
  await submit('ben');
  const { sha256: fileSha256, contentHash, acceptedHash } = checked;
  const details = { fileSha256, contentHash, acceptedHash, rows: '1' };
  expect(await acts()).toEqual([
    ['anna', 'run.submitted', run.id, details],
    ['ben', 'run.attached', run.id, details],
  ]);
  expect((await all(app.ledger.audit.lines())).join()).not.toContain('salaries');
});

test('a run whose handing-in cannot be recorded is not paid', async () => {
  await server.redis.set(`${app.config.prefix}:audit`, 'no list');
  await expect(submit('anna')).rejects.toThrow('WRONGTYPE');
  const [id = ''] = await app.ledger.runs.list();
  expect(await app.ledger.runs.read(id)).toMatchObject({ state: 'recording' });
  await server.redis.del(`${app.config.prefix}:audit`);
  expect((await submit('anna')).run).toMatchObject({ id, state: 'paying' });
});

test('pausing, resuming and cancelling a run are on the log with their reason', async () => {
  const runId = await recordRun(app.ledger, { lines: [2] });
  await pauseRun(app, runId, BY_ANNA);
  await resumeRun(app, runId, { actor: 'ben', reason: 'resumed' });
  await cancelRun(app, runId, BY_ANNA);
  expect(await acts()).toEqual([
    ['anna', 'run.paused', runId, { reason: 'bank holiday' }],
    ['ben', 'run.resumed', runId, { reason: 'resumed' }],
    ['anna', 'run.cancelled', runId, { reason: 'bank holiday' }],
  ]);
});

test('cancelling one payout is on the log; what was refused is not', async () => {
  const runId = await recordRun(app.ledger, { lines: [2, 3] });
  await cancelPayout(app, await payoutAt(app.ledger, { runId, line: 2 }), BY_ANNA);
  const stale = await payoutAt(app.ledger, { runId, line: 3 });
  await movePayout(app.ledger, { runId, line: 3 }, 'held');
  await expect(cancelPayout(app, stale, BY_ANNA)).rejects.toThrow('is held');
  await expect(resumeRun(app, 'absent', BY_ANNA)).rejects.toThrow('There is no run');
  expect(await acts()).toEqual([['anna', 'payout.cancelled', `${runId}-2`, { reason: 'bank holiday' }]]);
});

/** The app of a process that is killed right after a move: it never appends what waits. */
function killedAfterMove(): App {
  const { ledger } = app;
  const audit = { ...ledger.audit, appendWaiting: () => Promise.reject(new Error('killed')) };
  return { ...app, ledger: { ...ledger, audit } };
}

test('what a command did before it was killed gets its entry from the worker, once', async () => {
  const runId = await recordRun(app.ledger, { lines: [2, 3] });
  const [first, second] = await Promise.all([2, 3].map((line) => payoutAt(app.ledger, { runId, line })));
  if (first === undefined || second === undefined) throw new Error('no payouts');
  await expect(cancelPayout(killedAfterMove(), first, BY_ANNA)).rejects.toThrow('killed');
  await expect(cancelPayout(killedAfterMove(), second, { actor: 'ben', reason: 'twice' })).rejects.toThrow('killed');
  expect(await acts()).toEqual([]);
  await Promise.all([app.ledger.audit.copyOthers(), app.ledger.audit.copyOthers()]);
  await app.ledger.audit.copyOthers();
  expect(await acts()).toEqual([
    ['anna', 'payout.cancelled', `${runId}-2`, { reason: 'bank holiday' }],
    ['ben', 'payout.cancelled', `${runId}-3`, { reason: 'twice' }],
  ]);
});

test('what waits comes before the next act, whoever appends that', async () => {
  const runId = await recordRun(app.ledger, { lines: [2] });
  const payout = await payoutAt(app.ledger, { runId, line: 2 });
  await expect(cancelPayout(killedAfterMove(), payout, BY_ANNA)).rejects.toThrow('killed');
  await pauseRun(app, runId, { actor: 'ben', reason: 'look' });
  expect((await acts()).map((act) => (act as unknown[])[1])).toEqual(['payout.cancelled', 'run.paused']);
});

test('a halt and the two people who release it are on the log', async () => {
  expect(await haltAll(app, { actor: 'anna', reason: 'doubt' })).toBeUndefined();
  expect(await releaseHalt(app, 'anna')).toBe('proposed');
  expect(await releaseHalt(app, 'anna')).toBe('same-person');
  expect(await releaseHalt(app, 'ben')).toBe('released');
  expect(await releaseHalt(app, 'ben')).toBe('not-halted');
  expect(await acts()).toEqual([
    ['anna', 'ledger.halted', 'ledger', { reason: 'doubt' }],
    ['anna', 'ledger.release-proposed', 'ledger', { halt: 'doubt' }],
    ['ben', 'ledger.released', 'ledger', { halt: 'doubt', proposedBy: 'anna' }],
  ]);
});

test('a halt that cannot be recorded halts all the same, and says so', async () => {
  await server.redis.set(`${app.config.prefix}:audit`, 'no list');
  expect(await haltAll(app, { actor: 'anna', reason: 'doubt' })).toBeInstanceOf(Error);
  expect(await app.ledger.state.read()).toMatchObject({ halt: 'doubt' });
  await server.redis.del(`${app.config.prefix}:audit`);
});

test('a report carries the last entry, by which a log that is cut off later is found', async () => {
  const { run } = await submit('anna');
  await pauseRun(app, run.id, BY_ANNA);
  const head = await app.ledger.audit.head();
  expect((await summariseRun(app, run.id)).facts.auditHead).toBe(headText(head));
  expect(head.number).toBe(3);
});
