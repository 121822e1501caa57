import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { startOwnSandbox } from '../../src/cli/serve/sandbox-service.ts';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';
import { readInbox } from '../../src/inbox/read-inbox.ts';
import { userField } from '../../src/ledger/people/people.ts';
import { summaryJson } from '../../src/report/document.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { summariseRun, writeReport } from '../../src/runs/after/report.ts';
import { documentOf } from '../../src/runs/document.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { openBox, payouts, watching } from '../inbox/rig.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { armPayout, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { configured, openApiRig } from './api-rig.ts';
import { giveUp } from './given-up.ts';

vi.setConfig({ testTimeout: 180_000 });

const SMALL = readFileSync(join(import.meta.dirname, '../../samples/small.csv'));
const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency\n';
const BENEFICIARY = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';
const NEEDS_APPROVAL = { mode: 'on' };
/** How a program is named that brings the key `reports`. */
const KEY = 'key reports of root';

/** What was downloaded, as the audit log has it. */
async function downloads({ ledger }: Pick<App, 'ledger'>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action === 'report.downloaded') found.push(`${entry.actor} ${entry.target} ${entry.details['what']}`);
  }
  return found;
}

const server = await useTestRedis();

/** Operations of which an answer was held against the document. */
const seen = new Set<string>();
let described: string[] = [];

async function openRig(options: Parameters<typeof openApiRig>[1] = {}) {
  const rig = await openApiRig(server.url, options);
  described = Object.entries(rig.document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  onTestFinished(() => {
    for (const operation of rig.seen) seen.add(operation);
  });
  return rig;
}

const csv = (body: unknown, headers = {}) => ({ body, headers: { 'content-type': 'text/csv', ...headers } });

/** As if they had set one up. */
async function giveFactor({ ledger, clock }: App, name: string): Promise<void> {
  const { version, users } = await ledger.people.read();
  const user = users.find((one) => one.name === name);
  if (user === undefined) throw new Error(`there is no ${name}`);
  const factor = { secret: 'A'.repeat(32), passkeys: [], recovery: [], since: clock.now() };
  const act = { actor: name, action: 'user.second-factor-added', target: `user ${name}`, details: {} };
  await ledger.people.change({ version, act, fields: userField({ ...user, factor }) });
}

describe('each operation answers as the served document says', () => {
  test('for a file that is checked, previewed and handed in', async () => {
    const { app, person, program } = await openRig();
    const anna = await person('anna', 'maker');
    const key = await program('accounting', 'maker');

    const bad = `${HEADER}A 1,${BENEFICIARY},1.005,USD,MXN\n`;
    const problems = await key.call('POST', '/validate?name=march.csv', csv(bad));
    expect(problems.status).toBe(200);
    expect(problems.json).toMatchObject({
      file: 'march.csv',
      rows: 1,
      valid: 0,
      problems: [{ line: 2, column: 'amount' }],
    });

    const copy = await key.call('POST', '/validate/marked-up?name=march.csv', csv(bad));
    expect(copy.headers.get('content-disposition')).toBe('attachment; filename="march.marked-up.csv"');
    expect(copy.text).toMatch(/A 1,.*,1\.005,USD,MXN,.*amount/);
    expect((await key.call('POST', '/validate/marked-up', csv(SMALL))).status).toBe(204);
    const left = (): string[] => readdirSync(join(app.config.dataDir, 'uploads'));
    await expect.poll(left, { timeout: 60_000 }).toEqual([]);

    const preview = await key.call('POST', '/preview?sample=2', csv(SMALL));
    expect(preview.status).toBe(200);
    expect(preview.json).toMatchObject({ sandbox: true, problemsTotal: 0, quotes: { sample: 2 } });

    const refused = await key.call('POST', '/runs', csv(bad));
    expect(refused.status).toBe(422);
    expect(refused.json).toMatchObject({ status: 422, rows: 1, problemsTotal: 1 });

    const made = await key.call('POST', '/runs?name=small.csv', csv(SMALL));
    expect(made.status).toBe(201);
    const [runId = ''] = await app.ledger.runs.list();
    const document = await documentOf(app, await readRun(app, runId));
    expect(made.json).toEqual(document);
    expect(made.headers.get('location')).toBe(`/api/v1/runs/${runId}`);
    expect((await readRun(app, runId)).createdBy).toBe('key accounting of root');

    const again = await anna.call('POST', '/runs', csv(SMALL));
    expect([again.status, again.json]).toEqual([200, document]);
    const templates = (await key.call('GET', '/templates')).json;
    expect(templates).toContainEqual(expect.objectContaining({ file: 'excel-de.json', name: 'excel-de' }));
  });

  test('for runs, their rows and what is downloaded of them', async () => {
    const { app, person, program } = await openRig();
    await person('anna', 'maker');
    const key = await program('reports', 'viewer');
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4], refused: [5] });
    await armPayout(app.ledger, { runId, line: 3 }, 'q-1');
    await movePayout(app.ledger, { runId, line: 3 }, 'accepted', 'completed');
    await movePayout(app.ledger, { runId, line: 4 }, 'rejected');
    const document = await documentOf(app, await readRun(app, runId));

    const runs = await key.call('GET', '/runs?state=paying&text=r1');
    expect([runs.json, runs.headers.get('x-total-count')]).toEqual([[document], '1']);
    expect((await key.call('GET', '/runs?state=paused')).json).toEqual([]);
    expect((await key.call('GET', `/runs/${runId}`)).json).toEqual(document);
    expect((await key.call('GET', `/runs/${runId}/details`)).json).toMatchObject({ submittedBy: 'test' });
    expect((await key.call('GET', `/runs/${runId}/events`)).json).toMatchObject([{ event: 'paying', actor: 'test' }]);

    const rows = await key.call('GET', `/runs/${runId}/payouts`);
    expect(rows.json).toMatchObject([{ line: 2 }, { line: 3, outcome: 'paid' }, { line: 4 }, { line: 5 }]);
    const page = await key.call('GET', `/runs/${runId}/payouts?outcome=paid&page=1`);
    expect([page.json, page.headers.get('x-total-count')]).toMatchObject([[{ line: 3 }], '1']);
    expect((await key.call('GET', `/runs/${runId}/payouts?outcome=held`)).json).toEqual([]);
    const found = await key.call('GET', `/search?text=${runId}`);
    expect(found.json).toMatchObject({ runs: [{ runId }], rows: [], hasMore: false, isWhole: true });
    const lines = await key.call('GET', `/runs/${runId}/payouts?format=ndjson`);
    expect(
      lines.text
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).toEqual(rows.json);
    expect((await key.call('GET', `/runs/${runId}/payouts/3`)).json).toMatchObject({
      state: 'completed',
      quoteId: 'q-1',
    });
    expect((await key.call('GET', `/runs/${runId}/payouts/5`)).json).toMatchObject({ state: 'refused' });

    const report = await key.call('GET', `/runs/${runId}/report`);
    expect(report.headers.get('content-disposition')).toBe(`attachment; filename="${runId}.csv"`);
    expect(report.text.trimEnd().split('\r\n')).toHaveLength(5);
    expect((await key.call('GET', `/runs/${runId}/report?format=json`)).json).toMatchObject({ runId, faults: [] });
    const expected = summaryJson(await summariseRun(app, runId));
    const summary = await key.call('GET', `/runs/${runId}/report?format=summary`);
    expect(summary.json).toEqual({ ...expected, createdAt: expect.any(String) });
    expect((await key.call('GET', `/runs/${runId}/retry-file`)).text).toContain('INV-4');
    const other = await recordRun(app.ledger, { id: 'r2', lines: [2] });
    expect((await key.call('GET', `/runs/${other}/retry-file`)).status).toBe(204);

    mkdirSync(app.config.reportDir, { recursive: true });
    await writeReport(app, runId);
    const written = await key.call('GET', `/runs/${runId}/reports/v1.csv`);
    expect(written.text).toBe(readFileSync(join(app.config.reportDir, `${runId}.v1.csv`), 'utf8'));
    expect((await key.call('GET', `/runs/${runId}/reports/v1.json`)).json).toMatchObject({ runId });
    expect((await key.call('GET', `/runs/${runId}/changes`)).json).toEqual({ since: 1, version: 1, changes: [] });
    expect((await key.call('GET', `/runs/${runId}/reports/v2.csv`)).status).toBe(404);
    expect((await key.call('GET', `/runs/${runId}/reports/..%2Fv1.csv`)).status).toBe(400);
    expect(await downloads(app)).toEqual(
      ['csv', 'json', 'summary', 'retry-file', 'v1.csv', 'v1.json', 'changes v1 to v1'].map(
        (what) => `${KEY} ${runId} ${what}`,
      ),
    );
  });

  test('for what the runs of a period add up to', async () => {
    const { app, person, program } = await openRig();
    await person('anna', 'maker');
    const key = await program('reports', 'viewer');
    const runId = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    const dayFromNow = (days: number) => new Date(app.clock.now() + days * 86_400_000).toISOString().slice(0, 10);
    const [first, last] = [dayFromNow(-200), dayFromNow(199)];
    const always = `/period?from=${first}&to=${last}`;
    const period = await key.call('GET', always);
    expect(period.json).toMatchObject({ ties: true, runs: [runId], leftOut: [], earlier: [] });
    expect(period.json).toMatchObject({
      lines: [
        { by: 'currency', name: 'USD', rows: 3 },
        ...Array.from({ length: 7 }, () => ({})),
        { by: 'run', name: runId, rows: 3 },
      ],
    });
    const table = await key.call('GET', `${always}&format=csv`);
    expect(table.text).toMatch(/^by,name,currency,rows,.*\r\ncurrency,USD,USD,3,2,/);
    expect((await key.call('GET', `${always}&format=xlsx`)).text.startsWith('PK')).toBe(true);
    expect((await key.call('GET', '/period?from=2026-02-01&to=2026-01-01')).status).toBe(400);
    expect((await key.call('GET', '/period?from=2026-02-01&to=soon')).status).toBe(400);
    expect((await key.call('GET', '/period')).status).toBe(400);
    // Longer than anybody may add up here.
    expect((await key.call('GET', `/period?from=${first}&to=${dayFromNow(200)}`)).status).toBe(400);
    expect(await downloads(app)).toEqual(
      ['json', 'csv', 'xlsx'].map((format) => `${KEY} ledger period ${first} to ${last}, ${format}`),
    );
    expect((await key.call('GET', '/period?month=2020-01')).json).toMatchObject({
      from: '2020-01-01T00:00:00.000Z',
      end: '2020-02-01T00:00:00.000Z',
      runs: [],
    });
  });

  test('for a run that is held against a statement of the bank', async () => {
    const { app, person, program } = await openRig();
    await person('anna', 'maker');
    const key = await program('accounting', 'maker');
    const runId = await recordRun(app.ledger, { lines: [2] });
    const path = `/reconcile?run=${runId}&name=bank.csv`;
    const statement = csv('reference,amount,currency\nRENT,5.00,USD\n');
    const found = await key.call('POST', path, statement);
    expect(found.json).toMatchObject({
      runs: [runId],
      counts: { payments: 0, extra: 1 },
      lines: [{ status: 'extra' }],
    });
    const table = await key.call('POST', `${path}&format=csv`, statement);
    expect(table.text).toMatch(/^status,why,runId,.*\r\nextra,no payment of these runs,/);
    expect((await key.call('GET', `/runs/${runId}`)).json).toMatchObject({ reconciled: { payments: 0, extra: 1 } });
    expect((await key.call('POST', '/reconcile?run=none', statement)).status).toBe(422);
  });

  test('for a run that is purged once it has ended long ago', async () => {
    const { app, person } = await openRig({ env: { PAYRUN_RETENTION: '400d' } });
    const [ada, mia] = [await person('ada', 'admin'), await person('mia', 'checker')];
    const runId = await recordRun(app.ledger, { lines: [2] });
    expect((await mia.call('POST', `/runs/${runId}/purge`)).status).toBe(403);
    const early = await ada.call('POST', `/runs/${runId}/purge`);
    expect(early.json).toMatchObject({ status: 409, detail: expect.stringContaining('it is paying') });
    await armPayout(app.ledger, { runId, line: 2 }, 'q-1');
    await movePayout(app.ledger, { runId, line: 2 }, 'accepted', 'failed');
    await finishRun(app.ledger, runId);
    mkdirSync(app.config.reportDir, { recursive: true });
    await writeReport(app, runId);
    await app.ledger.runs.leave(runId);
    await app.ledger.runs.takeWatch(-1, Date.now());
    const young = await ada.call('POST', `/runs/${runId}/purge`, { body: { olderThan: '1d' } });
    expect(young.json).toMatchObject({ status: 409, detail: expect.stringContaining('too short a time ago') });
    expect((await ada.call('POST', `/runs/${runId}/purge`, { body: { olderThan: '1h' } })).status).toBe(400);
    await app.ledger.runs.note(runId, { finishedAt: '1' });
    const purged = await ada.call('POST', `/runs/${runId}/purge`);
    expect(purged.json).toMatchObject({ runId, outcomes: { failed: 1 } });
    expect((await ada.call('GET', `/runs/${runId}/details`)).json).toMatchObject({ purgedAt: expect.any(String) });
    expect((await ada.call('POST', `/runs/${runId}/purge`)).status).toBe(200);
  });

  test('for a run that is approved, paused, resumed and cancelled', async () => {
    const { app, person } = await openRig({ env: await configured({ approval: NEEDS_APPROVAL }) });
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
    const made = await anna.call('POST', '/runs', csv(SMALL));
    expect(made.json).toMatchObject({ state: 'awaiting-approval' });
    const [runId = ''] = await app.ledger.runs.list();
    const { fileSha256: sha256 } = await readRun(app, runId);

    const shown = await bob.call('GET', `/runs/${runId}/details`);
    expect(shown.json).toMatchObject({ submittedBy: 'anna', approval: { needed: 1, given: [] } });
    expect((await bob.call('POST', `/runs/${runId}/approve`, { body: { sha256: 'f'.repeat(64) } })).status).toBe(409);
    const approved = await bob.call('POST', `/runs/${runId}/approve`, { body: { sha256 } });
    expect(approved.json).toMatchObject({ run: { runId, state: 'paying' }, missing: 0 });

    const paused = await anna.call('POST', `/runs/${runId}/pause`, { body: { reason: 'the rates look wrong' } });
    expect(paused.json).toMatchObject({ state: 'paused' });
    expect((await bob.call('GET', `/runs/${runId}/details`)).json).toMatchObject({
      pauseReason: 'the rates look wrong',
    });
    expect((await bob.call('POST', `/runs/${runId}/resume`)).json).toMatchObject({ state: 'paying' });
    const cancelled = await anna.call('POST', `/runs/${runId}/cancel`, { body: { reason: 'a wrong file' } });
    expect(cancelled.json).toMatchObject({ state: 'cancelled', outcomes: { waiting: 0 } });
    expect((await bob.call('POST', `/runs/${runId}/resume`)).status).toBe(409);
  });

  test('for the rows with a reference', async () => {
    const { app, person, program } = await openRig();
    await person('anna', 'maker');
    const key = await program('accounting', 'viewer');
    const runId = await recordRun(app.ledger, { lines: [2, 3], refused: [9] });
    const rows = (query: string) => key.call('GET', `/runs/${runId}/payouts?${query}`);
    const found = await rows('text=INV-3');
    expect(found.json).toMatchObject([{ line: 3, reference: 'INV-3', outcome: 'waiting' }]);
    expect([found.headers.get('x-total-count'), found.headers.get('x-search-complete')]).toEqual(['1', 'true']);
    expect((await rows('text=BAD%209&outcome=refused')).json).toMatchObject([{ line: 9 }]);
    expect((await rows('text=INV-3&format=ndjson')).text.trim().split('\n')).toHaveLength(1);
    for (const none of ['text=inv-3', 'text=INV', 'text=INV-3&outcome=held', 'text=INV-3&page=2']) {
      expect([none, (await rows(none)).json]).toEqual([none, []]);
    }
    expect((await rows(`text=${'x'.repeat(201)}`)).status).toBe(400);
  });

  test('for payouts that people decide', async () => {
    const { app, person } = await openRig();
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4, 5] });
    for (const line of [2, 3]) await movePayout(app.ledger, { runId, line }, 'held');
    await armPayout(app.ledger, { runId, line: 4 }, '4d3c2b1a-0000-4000-8000-000000000004');
    await movePayout(app.ledger, { runId, line: 4 }, 'unknown', 'held');
    const at = (line: number): string => `/runs/${runId}/payouts/${line}`;

    const body = { reason: 'not a duplicate' };
    const shown = await anna.call('GET', '/to-settle');
    expect(shown.json).toMatchObject({
      payouts: [2, 3, 4].map((line) => ({ runId, state: 'held', row: { line }, proposal: null })),
      proposed: [],
      next: null,
    });
    const after = await anna.call('GET', `/to-settle?run=${runId}&from=${runId}-4`);
    expect(after.json).toMatchObject({ payouts: [{ row: { line: 4 } }] });

    const proposed = await anna.call('POST', `${at(2)}/allow`, { body });
    expect(proposed.json).toMatchObject({ line: 2, result: 'proposed', proposal: { by: 'anna', decision: 'allow' } });
    expect((await anna.call('POST', `${at(2)}/allow`, { body })).status).toBe(409);
    const done = await bob.call('POST', `${at(2)}/allow`, { body });
    expect(done.json).toMatchObject({ result: 'done', state: 'ready', proposal: null });

    const together = { decision: 'drop', reasonCode: 'test', reason: 'agreed', lines: [2, 3] };
    const moved = { line: 2, reference: 'INV-2', why: 'It has changed meanwhile: it is ready now.' };
    expect((await anna.call('POST', `/runs/${runId}/settle`, { body: together })).json).toEqual({
      proposed: 1,
      done: 0,
      leftOut: [moved],
      more: false,
    });
    expect((await anna.call('POST', `${at(3)}/drop`, { body })).status).toBe(409);
    expect((await bob.call('POST', `/runs/${runId}/settle`, { body: together })).json).toEqual({
      proposed: 0,
      done: 1,
      leftOut: [moved],
      more: false,
    });
    expect((await payoutAt(app.ledger, { runId, line: 3 })).state).toBe('cancelled');

    const notPaid = { outcome: 'not-paid', reason: 'the bank confirms it' };
    expect((await anna.call('POST', `${at(4)}/resolve`, { body: notPaid })).status).toBe(503);
    const own = await startOwnSandbox(app.config.dataDir, app);
    onTestFinished(async () => await own?.sandbox.close());
    expect((await anna.call('POST', `${at(4)}/resolve`, { body: notPaid })).json).toMatchObject({ result: 'proposed' });
    const toRead = await bob.call('POST', `${at(4)}/resolve`, { body: notPaid });
    expect(toRead.json).toMatchObject({ result: 'to-read', digest: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const other = { ...notPaid, read: 'f'.repeat(32) };
    expect((await bob.call('POST', `${at(4)}/resolve`, { body: other })).json).toMatchObject({ result: 'to-read' });
    const read = { ...notPaid, read: Reflect.get(toRead.json as object, 'digest') as string };
    expect((await bob.call('POST', `${at(4)}/resolve`, { body: read })).json).toMatchObject({ state: 'rejected' });

    const cancelled = await anna.call('POST', `${at(5)}/cancel`, { body: { reason: 'paid by hand' } });
    expect(cancelled.json).toMatchObject({ runId, outcomes: { cancelled: 2, rejected: 1, waiting: 1 } });
  });

  test('for the ledger as a whole', async () => {
    const { app, person, program } = await openRig();
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
    const key = await program('watch', 'maker');
    expect((await key.call('GET', '/status')).json).toMatchObject({
      sandbox: true,
      halt: null,
      season: { open: true },
    });
    expect((await key.call('GET', '/settings')).json).toMatchObject({ service: 'sandbox', same: true });
    const halted = await key.call('POST', '/halt', { body: { reason: 'a wrong account' } });
    expect(halted.json).toEqual({ halt: 'a wrong account', releaseBy: null, service: 'sandbox' });
    expect((await anna.call('POST', '/release')).json).toMatchObject({ result: 'proposed', releaseBy: 'anna' });
    expect((await anna.call('POST', '/release')).status).toBe(409);
    expect((await bob.call('POST', '/release')).json).toMatchObject({ result: 'released', halt: null });
    expect((await key.call('GET', '/halt')).json).toMatchObject({ halt: null });

    const log = await anna.call('GET', '/audit?from=2');
    expect(log.json).toMatchObject({ changed: [], next: null });
    expect(log.text).toContain('"ledger.released"');
    expect((await anna.call('GET', '/audit?run=none')).json).toMatchObject({ entries: [] });
    const verdict = await anna.call('GET', '/audit/verdict');
    expect(verdict.json).toMatchObject({ holds: true, findings: [] });
    const [, hash = ''] = /"head":"[0-9]+:([0-9a-f]+)"/.exec(verdict.text) ?? [];
    expect((await anna.call('GET', `/audit/verdict?head=1:${hash}`)).json).toMatchObject({ holds: false });
    expect((await anna.call('GET', '/audit/verdict?head=none')).status).toBe(400);
    expect((await key.call('GET', '/notifications')).json).toEqual([]);
    expect((await app.ledger.state.read()).halt).toBeNull();
  });

  test('for safety settings that changed', async () => {
    const ledger = { PAYRUN_PREFIX: freshPrefix() };
    const before = await openTestApp(server.url, ledger);
    onTestFinished(() => before.close());
    const { app, person } = await openRig({ env: { ...ledger, ...(await configured({ approval: NEEDS_APPROVAL })) } });
    const [ada, eve] = [await person('ada', 'admin'), await person('eve', 'admin')];
    const mia = await person('mia', 'checker');
    const seenSettings = z
      .looseObject({ ledger: z.array(z.string()) })
      .parse((await ada.call('GET', '/settings')).json);
    const body = { ledger: seenSettings.ledger };
    expect((await mia.call('POST', '/settings/adopt', { body })).status).toBe(403);
    const others = { ledger: ['arm deadline 1 ms'] };
    expect((await ada.call('POST', '/settings/adopt', { body: others })).status).toBe(409);
    expect((await ada.call('POST', '/settings/adopt', { body })).json).toMatchObject({
      result: 'proposed',
      same: false,
    });
    expect((await ada.call('POST', '/settings/adopt', { body })).status).toBe(409);
    expect((await eve.call('POST', '/settings/adopt', { body })).json).toMatchObject({ result: 'adopted', same: true });
    expect((await app.ledger.state.read()).safety).toBe(app.safety);
  });

  test('for notifications that were given up', async () => {
    const { app, person } = await openRig();
    const [ada, mia] = [await person('ada', 'admin'), await person('mia', 'checker')];
    for (const id of ['n-1', 'n-2']) await giveUp(app, { id });
    expect((await ada.call('GET', '/notifications')).json).toMatchObject([
      { name: 'hook', deadLetters: [{ id: 'n-1' }, { id: 'n-2' }] },
    ]);
    expect((await mia.call('POST', '/notifications/retry')).status).toBe(403);
    expect((await ada.call('POST', '/notifications/retry', { body: { id: 'n-9' } })).status).toBe(404);
    expect((await ada.call('POST', '/notifications/retry', { body: { id: 'n-1' } })).json).toEqual({ putBack: 1 });
    expect((await ada.call('POST', '/notifications/retry')).json).toEqual({ putBack: 1 });
    expect((await ada.call('GET', '/notifications')).json).toMatchObject([{ waiting: 2, deadLetters: [] }]);
    const log = await ada.call('GET', '/audit');
    expect(log.text.match(/"notifications.retried"/g)).toHaveLength(2);
  });

  test('for an endpoint that is tried', async () => {
    const env = await configured({ webhooks: [{ name: 'gone', url: 'http://127.0.0.1:1', secretFile: 's' }] });
    writeFileSync(join(dirname(env['PAYRUN_CONFIG'] ?? ''), 's'), 'a secret of this test', { mode: 0o600 });
    const { person } = await openRig({ env });
    const [ada, mia] = [await person('ada', 'admin'), await person('mia', 'checker')];
    expect((await mia.call('POST', '/notifications/test', { body: { endpoint: 'gone' } })).status).toBe(403);
    const tried = await ada.call('POST', '/notifications/test', { body: { endpoint: 'gone' } });
    expect(tried.json).toEqual({ delivered: false, reason: expect.stringMatching(/./) });
    expect((await ada.call('POST', '/notifications/test', { body: { endpoint: 'none' } })).status).toBe(409);
  });

  test('for the inboxes that somebody reads', async () => {
    const { app, person, program } = await openRig();
    await person('anna', 'maker');
    const key = await program('accounting', 'viewer');
    expect((await key.call('GET', '/inbox')).json).toEqual([]);
    const box = openBox();
    onTestFinished(() => box.remove());
    await box.source.prepare();
    for (const [name, dir] of [
      ['morning', box.path],
      ['away', 'sftp://payrun@files.example.com/in'],
    ] as const) {
      const asked = { cron: '30 6 * * *', zone: 'UTC', act: { kind: 'inbox', dir } as const, windowMs: 3_600_000 };
      await setSchedule(app, await parseSchedule(asked, app.config), { name, actor: 'test' });
    }
    box.drop('good.csv', payouts('A'));
    box.drop('bad.csv', 'nonsense');
    await readInbox(app, box.source, watching());
    box.drop('later.csv', payouts('B'));
    const run = { name: 'good.csv', runId: box.ack('good.csv').runId };
    expect((await key.call('GET', '/inbox')).json).toMatchObject([
      { address: 'sftp://payrun@files.example.com/in', folder: null, whyNot: expect.stringContaining('on a server') },
      {
        address: box.path,
        readBy: ['schedule morning'],
        folder: {
          waiting: { count: 1, files: [{ name: 'later.csv', runId: null }] },
          claimed: { count: 1, files: [run] },
          accepted: { count: 1, files: [run] },
          refused: { count: 1, files: [{ name: 'bad.csv', runId: null }] },
          isCut: false,
        },
        whyNot: null,
        trouble: null,
      },
    ]);
    box.remove();
    expect((await key.call('GET', '/inbox')).json).toMatchObject([
      {},
      { folder: null, whyNot: 'The folder is not there.' },
    ]);
  });

  test('for schedules and the block list', async () => {
    const { person } = await openRig();
    const [bob, carl] = [await person('bob', 'checker'), await person('carl', 'checker')];
    const body = { cron: '30 6 * * 1-5', zone: 'Europe/Berlin', do: 'start' };
    expect((await bob.call('PUT', '/schedules/morning', { body })).json).toMatchObject({
      name: 'morning',
      setBy: 'bob',
    });
    expect((await bob.call('PUT', '/schedules/morning', { body: { ...body, cron: '1 2' } })).status).toBe(409);
    expect((await bob.call('GET', '/schedules')).json).toMatchObject([{ cron: '30 6 * * 1-5', windowMs: 3_600_000 }]);
    const staged = { ...body, do: 'inbox:sftp://anna@files.example.com/in', stage: '10,rest', goOnIfPaid: true };
    expect((await bob.call('PUT', '/schedules/staged', { body: staged })).json).toMatchObject({
      stages: { sizes: '10,rest', goesOnIfPaid: true },
    });
    expect((await bob.call('PUT', '/schedules/staged', { body: { ...staged, do: 'start' } })).status).toBe(409);
    expect((await bob.call('DELETE', '/schedules/staged')).status).toBe(204);
    expect((await bob.call('PUT', '/schedules/staged', { body: { ...body, goOnIfPaid: true } })).status).toBe(422);
    expect((await bob.call('DELETE', '/schedules/morning')).status).toBe(204);
    expect((await bob.call('DELETE', '/schedules/morning')).status).toBe(404);

    const place = `/block-list/${BENEFICIARY}`;
    const blocked = await bob.call('PUT', place, { body: { reason: 'account taken over' } });
    expect(blocked.json).toMatchObject({ identityId: BENEFICIARY, by: 'bob', unblockBy: null });
    expect((await bob.call('DELETE', place)).json).toEqual({ result: 'proposed' });
    expect((await bob.call('DELETE', place)).status).toBe(409);
    expect((await bob.call('GET', '/block-list')).json).toMatchObject([{ unblockBy: 'bob' }]);
    expect((await carl.call('DELETE', place)).json).toEqual({ result: 'unblocked' });
    expect((await carl.call('DELETE', place)).status).toBe(404);
  });

  test('for people and keys', async () => {
    const { app, person } = await openRig();
    const [ada, eve] = [await person('ada', 'admin'), await person('eve', 'admin')];
    const body = { name: 'Fred Field', role: 'maker' };
    const proposed = { kind: 'proposed', user: null, secret: expect.any(String) };
    expect((await ada.call('POST', '/users', { body })).json).toEqual(proposed);
    const added = await eve.call('POST', '/users', { body });
    expect(added.json).toMatchObject({ kind: 'done', user: { name: 'Fred Field' }, secret: null });
    const fred = '/users/Fred%20Field';
    for (const [step, asked] of [
      ['role', { body: { role: 'checker' } }],
      ['reset', {}],
    ] as const) {
      expect((await ada.call('POST', `${fred}/${step}`, asked)).json).toMatchObject({ kind: 'proposed' });
      expect((await eve.call('POST', `${fred}/${step}`, asked)).json).toMatchObject({ kind: 'done' });
    }
    expect((await ada.call('POST', `${fred}/disable`)).status).toBe(204);
    await ada.call('POST', `${fred}/enable`);
    expect((await eve.call('POST', `${fred}/enable`)).json).toMatchObject({
      user: { isDisabled: false },
      secret: null,
    });
    await giveFactor(app, 'Fred Field');
    const removal = `${fred}/second-factor`;
    expect((await ada.call('DELETE', removal)).json).toMatchObject({ kind: 'proposed' });
    expect((await eve.call('DELETE', removal)).json).toMatchObject({ kind: 'done', user: { hasFactor: false } });
    expect((await ada.call('DELETE', removal)).status).toBe(409);
    expect((await ada.call('POST', '/users/nobody/reset')).status).toBe(404);
    expect((await ada.call('GET', '/users')).text).toContain('"Fred Field"');

    const key = { name: 'accounting', role: 'maker', for: '365d' };
    const bearer = expect.stringMatching(/^pr_/);
    expect((await ada.call('POST', '/keys', { body: key })).json).toMatchObject({ kind: 'proposed', bearer });
    expect((await eve.call('POST', '/keys', { body: key })).json).toMatchObject({ kind: 'done', bearer: null });
    expect((await ada.call('GET', '/keys')).json).toMatchObject([{ name: 'accounting', lastUsedAt: null }]);
    const reset = { target: 'user Fred Field', what: 'reset' };
    await ada.call('POST', `${fred}/reset`);
    expect((await eve.call('POST', '/proposals/withdraw', { body: reset })).status).toBe(204);
    expect((await eve.call('POST', '/proposals/withdraw', { body: reset })).status).toBe(409);
    expect((await ada.call('GET', '/users')).json).toMatchObject({ proposals: [] });

    expect((await ada.call('DELETE', '/keys/accounting?confirm=accounting')).status).toBe(204);
    expect((await ada.call('DELETE', '/keys/accounting?confirm=accounting')).status).toBe(404);
  });

  test('and none was left out', () => {
    expect(described.filter((operation) => !seen.has(operation))).toEqual([]);
    expect(described.length).toBeGreaterThan(35);
  });
});

test('docs/openapi.json is the document that is served', async () => {
  const { document } = await openRig();
  const path = join(import.meta.dirname, '../../docs/openapi.json');
  // Written anew with UPDATE_DOCS=1; then: npx biome format --write docs/openapi.json
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, JSON.stringify(document, null, 2));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(document);
});

const OPERATION = z.object({
  operationId: z.string().regex(/^[a-z][A-Za-z0-9]+$/),
  tags: z.array(z.string().min(1)).length(1),
  responses: z.record(z.string(), z.unknown()),
});

test('the document tells how to come in, and names each operation, where it belongs and what refuses it', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8');
  const document = z.looseObject({ paths: z.unknown() }).parse(JSON.parse(text));
  expect(document).toMatchObject({
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  });
  const operations = Object.values(z.record(z.string(), z.record(z.string(), OPERATION)).parse(document.paths)).flatMap(
    (methods) => Object.values(methods),
  );
  expect(operations.length).toBeGreaterThan(35);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  expect(operations.map(({ operationId }) => operationId)).toContain('getRunsRunPayoutsLine');
  for (const { responses } of operations)
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '429']));
});
