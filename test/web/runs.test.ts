import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import type { RunClaim } from '../../src/ledger/runs/runs.ts';
import type { Run } from '../../src/payout.ts';
import { reportCsv } from '../../src/report/csv.ts';
import { reportSource, writeReport } from '../../src/runs/after/report.ts';
import { haltAll, pauseRun } from '../../src/runs/decide/control.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

/** Runs of which only the claim was recorded, the first one the oldest. */
async function claimRuns(app: App, ...claims: Partial<RunClaim>[]): Promise<void> {
  for (const claim of claims) {
    const id = claim.id ?? 'r1';
    await app.ledger.runs.claim({
      id,
      fileName: `${id}.csv`,
      fileSha256: createHash('sha256').update(id).digest('hex'),
      contentHash: id,
      rows: 2,
      fileTotals: [{ minor: 12_345n, currency: 'USD' }],
      createdBy: 'anna',
      ...claim,
    });
  }
}

/** The runs that a page lists, in its order. */
function listed(text: string): string[] {
  return [...text.matchAll(/<th scope="row" class="run-file"><a href="\/runs\/([^"]+)"/g)].map(([, id]) => id ?? '');
}

async function audited(app: App, action: string): Promise<object[]> {
  const found: object[] = [];
  for await (const line of app.ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action === action) found.push(entry);
  }
  return found;
}

describe('the list of runs', () => {
  test('shows how far each run is, its money, who handed it in and when', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'held');
    const { text } = await (await person('anna', 'viewer')).get('/runs');
    expect(text).toContain('Paying: 1 needs you');
    expect(text).toContain('0 of 3 paid');
    expect(text).toContain('301.50 <abbr>USD</abbr>');
    expect(text).toContain('0.00 <abbr>USD</abbr></span> paid or on the way');
    expect(text).toContain('by test');
    expect(text).toMatch(/<time datetime="20/i);
  });

  test('is narrowed down by state, and by what stands in id, file name, submitter or SHA-256', async () => {
    const { app, person } = await openWebRig(server.url);
    // Runs of one millisecond are listed by their ids: these are claimed in the order of theirs.
    await claimRuns(
      app,
      { id: 'r-one', fileName: 'Wages March.csv' },
      { id: 'r-ten', createdBy: 'Bob %' },
      { id: 'r-two', fileSha256: 'abcd'.repeat(16) },
    );
    await app.ledger.runs.move('r-ten', { to: 'cancelled', actor: 'test', reason: 'test' });
    const anna = await person('anna', 'viewer');
    expect((await anna.get('/runs?text=r-one')).text).toContain('2 rows');
    const found = async (query: string): Promise<string[]> => listed((await anna.get(`/runs?${query}`)).text);
    expect(await found('')).toEqual(['r-two', 'r-ten', 'r-one']);
    expect(await found('state=cancelled&text=')).toEqual(['r-ten']);
    expect(await found('text=wages%20MARCH')).toEqual(['r-one']);
    expect(await found('text=bob%20%25')).toEqual(['r-ten']);
    expect(await found('text=ABCDabcd')).toEqual(['r-two']);
    expect(await found('text=r-t')).toEqual(['r-two', 'r-ten']);
    expect(await found('state=recording&text=r-t')).toEqual(['r-two']);
    expect(await found('text=.')).toEqual(['r-two', 'r-ten', 'r-one']);
    expect(await found('text=%5Bxyz')).toEqual([]);
    expect((await anna.get('/runs?text=nowhere')).text).toContain('No run is like that');
    expect((await anna.get('/runs?state=nonsense')).status).toBe(400);
    expect((await anna.get('/runs?other=1')).status).toBe(400);
  });

  test('has pages of 25, which keep what was looked for', async () => {
    const { app, person } = await openWebRig(server.url);
    await claimRuns(app, ...Array.from({ length: 26 }, (_, index) => ({ id: `run-${index}` })), { id: 'other' });
    const anna = await person('anna', 'viewer');
    const first = await anna.get('/runs?text=run');
    expect(listed(first.text)).toHaveLength(25);
    expect(first.text).toContain('Page 1 of 2');
    expect(first.text).toContain('href="/runs?text=run&amp;page=2"');
    expect(listed((await anna.get('/runs?text=run&page=2')).text)).toEqual(['run-0']);
    expect(listed((await anna.get('/runs?page=999')).text)).toEqual(['run-1', 'run-0']);
    expect((await anna.get('/runs?page=0')).status).toBe(400);
  });

  test('is sorted by each column, and narrowed down by the money of a file and by day', async () => {
    const { app, person } = await openWebRig(server.url);
    await claimRuns(
      app,
      { id: 'r-1', fileName: 'b.csv', rows: 5, fileTotals: [{ minor: 90_000n, currency: 'USD' }] },
      { id: 'r-2', fileName: 'C.csv', rows: 9, fileTotals: [{ minor: 1_000n, currency: 'JPY' }] },
      {
        id: 'r-3',
        fileName: 'a.csv',
        rows: 7,
        fileTotals: [
          { minor: 100_001n, currency: 'USD' },
          { minor: 5n, currency: 'EUR' },
        ],
      },
    );
    const anna = await person('anna', 'viewer');
    const found = async (query: string): Promise<string[]> => listed((await anna.get(`/runs?${query}`)).text);
    const today = new Date(app.clock.now()).toISOString().slice(0, 10);
    for (const [query, runs] of [
      ['sort=handedIn', ['r-1', 'r-2', 'r-3']],
      ['sort=file', ['r-3', 'r-1', 'r-2']],
      ['sort=-file', ['r-2', 'r-1', 'r-3']],
      ['sort=rows', ['r-1', 'r-3', 'r-2']],
      ['sort=-amount', ['r-3', 'r-2', 'r-1']],
      ['sort=-amount&currency=USD', ['r-3', 'r-1']],
      ['currency=EUR', ['r-3']],
      ['amountFrom=900.01&amountTo=1%2C000.00', ['r-2']],
      [`from=${today}&to=${today}&state=recording`, ['r-3', 'r-2', 'r-1']],
      ['from=2126-01-01', []],
      ['to=2020-01-01', []],
    ] as const) {
      expect({ query, runs: await found(query) }).toEqual({ query, runs });
    }
    const { text } = await anna.get('/runs?currency=USD&sort=-rows');
    expect(text).toContain('href="/runs.csv?currency=USD&amp;sort=-rows"');
    expect(text).toContain('href="/runs?currency=USD&amp;sort=rows"');
    const csv: { run: string }[] = parse((await anna.get('/runs.csv?sort=file&currency=USD')).text, { columns: true });
    expect([...new Set(csv.map(({ run }) => run))]).toEqual(['r-3', 'r-1']);
    for (const query of ['sort=sha', 'currency=usd', 'from=tomorrow', 'amountFrom=x']) {
      expect({ query, status: (await anna.get(`/runs?${query}`)).status }).toEqual({ query, status: 400 });
    }
  });

  test('finds a run however many there are', async () => {
    const { app, person } = await openWebRig(server.url);
    await claimRuns(app, { id: 'needle' }, ...Array.from({ length: 2100 }, (_, index) => ({ id: `hay-${index}` })));
    const anna = await person('anna', 'viewer');
    expect(listed((await anna.get('/runs?text=needle')).text)).toEqual(['needle']);
    expect((await anna.get('/runs?text=hay')).text).toContain('2,100 runs');
  });

  test('can be had as CSV, a line for each currency, in which nothing is a formula', async () => {
    const { app, person } = await openWebRig(server.url);
    await claimRuns(
      app,
      { id: 'r1', fileName: '=HYPERLINK("http://evil").csv', createdBy: '@SUM(1)' },
      { id: 'r2', fileTotals: [1n, 2n].map((minor, index) => ({ minor, currency: ['EUR', 'JPY'][index] ?? '' })) },
    );
    const anna = await person('anna', 'viewer');
    const answer = await anna.get('/runs.csv?text=r');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="runs.csv"');
    const rows: Record<string, string>[] = parse(answer.text, { columns: true });
    expect(rows).toMatchObject([
      { run: 'r2', currency: 'EUR', inFile: '0.01', paid: '0.00', rows: '2' },
      { run: 'r2', currency: 'JPY', inFile: '2', paid: '0' },
      { run: 'r1', file: `'=HYPERLINK("http://evil").csv`, submittedBy: "'@SUM(1)", inFile: '123.45' },
    ]);
    expect(parse((await anna.get('/runs.csv?state=finished')).text, { columns: true })).toEqual([]);
  });

  test('has as CSV no run that has left the state which was asked for since it was found', async () => {
    const { app, person } = await openWebRig(server.url);
    for (const id of ['stays', 'leaves']) {
      await recordRun(app.ledger, { id, lines: [2] });
      await app.ledger.runs.move(id, { to: 'paused', actor: 'test', reason: 'test' });
    }
    const anna = await person('anna', 'viewer');
    const find = app.ledger.runs.find.bind(app.ledger.runs);
    vi.spyOn(app.ledger.runs, 'find').mockImplementationOnce(async (search) => {
      const found = await find(search);
      await app.ledger.runs.move('leaves', { to: 'cancelled', actor: 'test', reason: 'test' });
      return found;
    });
    const rows: Record<string, string>[] = parse((await anna.get('/runs.csv?state=paused')).text, { columns: true });
    expect(rows.map(({ run, state }) => [run, state])).toEqual([['stays', 'paused']]);
  });
});

describe('the page of a run', () => {
  test('holds the file against what the ledger has, and says whether it ties', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    const anna = await person('anna', 'viewer');
    expect((await anna.get(`/runs/${run}`)).text).toContain('It ties: every row and all money is accounted for.');
    await server.redis.hincrby(`${app.config.prefix}:run:${run}`, 'm:USD:waiting', -1);
    const { text } = await anna.get(`/runs/${run}`);
    expect(text).toContain('IT DOES NOT TIE');
    expect(text).toContain('301.49');
  });

  test('says why it is paused and when it starts by itself, and shows who did what', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    await pauseRun(app, run, { actor: 'carol', reason: 'the rates look <wrong>' });
    const anna = await person('anna', 'viewer');
    const page = (await anna.get(`/runs/${run}`)).text;
    expect(page.match(/the rates look &lt;wrong>/g)?.length).toBeGreaterThanOrEqual(2);
    expect(page).toMatch(/<td[^>]*>carol<\/td>/);
    await app.ledger.runs.note(run, { startAt: String(Date.UTC(2030, 0, 2, 3, 4)) });
    expect((await anna.get(`/runs/${run}`)).text).toContain('2030-01-02 03:04:00 UTC');
    const history: string[][] = parse((await anna.get(`/runs/${run}/history.csv`)).text);
    expect(history.at(-1)?.slice(1)).toEqual(['paused', 'carol', 'the rates look <wrong>']);
  });

  test.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '" onmouseover="alert(1)',
    '</td></table><svg/onload=alert(1)>',
  ])("shows somebody else's words as words: %s", async (words) => {
    const { app, person } = await openWebRig(server.url);
    await claimRuns(app, { id: 'r1', fileName: words, createdBy: words });
    await app.ledger.runs.note('r1', { state: 'paying' });
    await pauseRun(app, 'r1', { actor: words, reason: words });
    const adam = await person('adam', 'admin');
    for (const path of [
      '/runs',
      `/runs?text=${encodeURIComponent(words)}`,
      '/runs/r1',
      '/runs/r1/progress',
      '/runs/r1/cancel',
    ]) {
      const { status, text } = await adam.get(path);
      expect(status).toBe(200);
      expect(text).not.toMatch(/<(script>|img|svg\/)|" onmouseover="/);
    }
  });

  test('links each outcome to its payouts, and works without a script', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const { text } = await (await person('anna', 'viewer')).get(`/runs/${run}`);
    expect(text).toContain(`href="/runs/${run}/payouts?outcome=waiting"`);
    expect(text).toContain(`<a href="/runs/${run}">Reload</a>`);
    expect(text).not.toMatch(/http-equiv|<script>|onclick|style=/);
  });

  test.each(['/runs/none', '/runs/none/live', '/runs/none/progress', '/runs/none/report', '/runs/none/reports/v1.csv'])(
    'there is none of what there is not: %s',
    async (path) => {
      const { person } = await openWebRig(server.url);
      expect((await (await person('anna', 'admin')).get(path)).status).toBe(404);
    },
  );
});

describe('who may do so', () => {
  test('pauses a run with a reason, and another lets it go on', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const mia = await person('mia', 'maker');
    const carl = await person('carl', 'checker');
    await mia.get(`/runs/${run}`);
    expect((await mia.post(`/runs/${run}/pause`, { reason: ' ' })).status).toBe(422);
    const paused = await mia.post(`/runs/${run}/pause`, { reason: 'wait' });
    expect([paused.status, paused.headers.get('location')]).toEqual([303, `/runs/${run}`]);
    expect(await app.ledger.runs.read(run)).toMatchObject({ state: 'paused', pauseReason: 'wait' });
    expect(await audited(app, 'run.paused')).toMatchObject([
      { actor: 'mia', target: run, details: { reason: 'wait' } },
    ]);
    expect((await mia.post(`/runs/${run}/resume`, { reason: 'go' })).status).toBe(403);
    expect((await carl.post(`/runs/${run}/resume`, { reason: 'go' })).status).toBe(303);
    expect((await app.ledger.runs.read(run))?.state).toBe('paying');
    const again = await carl.post(`/runs/${run}/approve`, { sha256: '0'.repeat(64), digest: '0'.repeat(64) });
    expect(again.status).toBe(409);
  });

  test('is told on the page what a page does about a refusal, and not what somebody would type', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    await pauseRun(app, run, { actor: 'test', reason: 'test' });
    await haltAll(app, { actor: 'test', reason: 'a test' });
    const carl = await person('carl', 'checker');
    const halted = await carl.post(`/runs/${run}/resume`, { reason: 'go on' });
    expect(halted.status).toBe(409);
    expect(halted.text).toContain('one proposes it under Settings, another one confirms');
    const unknown = await carl.post('/schedules/remove', { name: 'nightly' });
    expect(unknown.text).toContain('the page Schedules');
    for (const { text } of [halted, unknown]) expect(text).not.toMatch(/payrun (release|schedule)/);
  });

  test('is asked once more before a run is cancelled, with what is left of it', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const mia = await person('mia', 'maker');
    const asked = await mia.get(`/runs/${run}/cancel`);
    expect(asked.text).toContain('<b>2</b> payouts that were never');
    expect((await app.ledger.runs.read(run))?.state).toBe('paying');
    expect((await mia.post(`/runs/${run}/cancel`, { reason: 'wrong file' })).status).toBe(303);
    expect(await app.ledger.runs.read(run)).toMatchObject({ state: 'cancelled', counts: { cancelled: 2 } });
    expect((await mia.get(`/runs/${run}/cancel`)).status).toBe(409);
    expect((await mia.post(`/runs/${run}/pause`, { reason: 'x' })).status).toBe(409);
  });

  test('is nobody who only looks, who comes from elsewhere, or names a run that there is not', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const vera = await person('vera', 'viewer');
    const adam = await person('adam', 'admin');
    expect((await vera.get(`/runs/${run}`)).text).not.toMatch(/<form[^>]+action="\/runs/);
    for (const act of ['pause', 'resume', 'cancel', 'approve']) {
      expect((await vera.post(`/runs/${run}/${act}`, { reason: 'x' })).status).toBe(403);
      expect((await adam.post(`/runs/${run}/${act}`, { csrf: 'x', reason: 'x' })).status).toBe(403);
      expect((await adam.post(`/runs/${run}/${act}`, { reason: 'x' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(
        403,
      );
      expect((await adam.post(`/runs/none/${act}`, { reason: 'x' })).status).toBe(404);
    }
    for (const page of ['approve', 'cancel']) expect((await vera.get(`/runs/${run}/${page}`)).status).toBe(403);
    expect((await app.ledger.runs.read(run))?.state).toBe('paying');
  });
});

describe('a report', () => {
  test('as it stands now is the same as that of the command line, and its download is on the audit log', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    const anna = await person('anna', 'viewer');
    const csv = await anna.get(`/runs/${run}/report?format=csv`);
    expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="${run}.report.csv"`);
    let expected = '';
    for await (const piece of reportCsv(await reportSource(app, run))) expected += piece;
    expect(csv.text).toBe(expected);
    const json: unknown = JSON.parse((await anna.get(`/runs/${run}/report?format=json`)).text);
    expect(json).toMatchObject({ runId: run, conservation: { rows: true, money: true }, rows: [{}, {}, {}] });
    expect((await anna.get(`/runs/${run}/report?format=summary`)).text).toContain(run);
    expect(await audited(app, 'report.downloaded')).toMatchObject([
      { actor: 'anna', target: run, details: { what: 'csv' } },
      { details: { what: 'json' } },
      { details: { what: 'summary' } },
    ]);
    expect((await anna.get(`/runs/${run}/report?format=exe`)).status).toBe(400);
    // The same person takes the same again, however often; somebody else is noted.
    for (let count = 0; count < 20; count++) await anna.get(`/runs/${run}/report?format=csv`);
    await (await person('vera', 'viewer')).get(`/runs/${run}/report?format=csv`);
    const noted = (await audited(app, 'report.downloaded')).slice(3);
    expect(noted).toMatchObject([{ actor: 'vera', details: { what: 'csv' } }]);
    const turns = await server.redis.keys(`${app.config.prefix}:turn:download:*`);
    for (const turn of turns) expect(await server.redis.pttl(turn)).toBeLessThanOrEqual(60 * 60_000);
  });

  test('that was written is given out only as it was written', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    mkdirSync(app.config.reportDir, { recursive: true });
    const { paths } = await writeReport(app, run);
    const [path = ''] = paths;
    const anna = await person('anna', 'viewer');
    const page = (await anna.get(`/runs/${run}`)).text;
    expect(page).toContain(createHash('sha256').update(readFileSync(path)).digest('hex'));
    const copy = await anna.get(`/runs/${run}/reports/v1.csv`);
    expect(copy.text).toBe(readFileSync(path, 'utf8'));
    expect(copy.headers.get('content-disposition')).toBe(`attachment; filename="${run}.v1.csv"`);
    expect((await anna.get(`/runs/${run}/reports/v2.csv`)).status).toBe(404);
    writeFileSync(path, 'forged');
    const forged = await anna.get(`/runs/${run}/reports/v1.csv`);
    expect([forged.status, forged.text]).toEqual([409, expect.stringContaining('is not the one that was written')]);
  });

  test.each(['..%2f..%2fetc%2fpasswd', 'v1.csv%00', '%2e%2e', 'v1.txt', 'v01.csv', 'v1.csv%0d%0aX: y'])(
    'is none by the name %s',
    async (name) => {
      const { app, person } = await openWebRig(server.url);
      const run = await recordRun(app.ledger, { lines: [2] });
      expect((await (await person('anna', 'viewer')).get(`/runs/${run}/reports/${name}`)).status).toBeOneOf([400, 404]);
    },
  );

  test('has beside it a retry file, once a row may be sent again', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const anna = await person('anna', 'viewer');
    expect((await anna.get(`/runs/${run}/retry-file`)).status).toBe(409);
    await movePayout(app.ledger, { runId: run, line: 3 }, 'cancelled');
    const file = await anna.get(`/runs/${run}/retry-file`);
    expect(file.text).toContain('INV-3');
    expect(file.text).not.toContain('INV-2');
    expect(await audited(app, 'report.downloaded')).toMatchObject([{ details: { what: 'retry-file' } }]);
  });
});

const ANNA = '11111111-1111-4111-8111-111111111111';
const BILL = '22222222-2222-4222-8222-222222222222';

const ROWS = [`A,${ANNA},100.00`, `B,${BILL},2000.50`, `C,${ANNA},1.00`].map((row) => `${row},USD,MXN`);

/** A file of three payouts to two beneficiaries, or of these rows, handed in by `actor` where runs need an approval. */
async function openApprovalRig(actor = 'mia', { approvals = 1, rows = ROWS } = {}) {
  const folder = join(server.socket, '..');
  const config = join(folder, `${actor.replaceAll(' ', '-')}-${approvals}.json`);
  const tiers = { USD: [{ from: '0', approvals }] };
  const limits = { currencies: { USD: { payout: '5000.00' } } };
  writeFileSync(config, JSON.stringify({ approval: { mode: 'tiers', tiers }, limits }));
  const rig = await openWebRig(server.url, { env: { PAYRUN_CONFIG: config } });
  const path = join(rig.app.dir, 'wages.csv');
  const header = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
  writeFileSync(path, `${[header, ...rows].join('\n')}\n`);
  const submitted = await submitRun(rig.app, { path, actor, skipInvalid: false });
  if (submitted.kind !== 'submitted') throw new Error('the file was refused');
  return { ...rig, run: submitted.run };
}

const idOf = (number: number): string => `5d2e8b7f-1d2f-42c8-a8de-fe56e686${String(number).padStart(4, '0')}`;

/** As if the file had come by an inbox. */
async function noteDropper({ ledger }: App, run: Run, dropper: string): Promise<void> {
  await ledger.runs.note(run.id, { dropper, seal: ledger.seals.run({ ...run, dropper }) });
}

function seenOn(page: string): { sha256: string; digest: string } {
  const valueOf = (name: string): string => new RegExp(`name="${name}" value="([0-9a-f]+)"`).exec(page)?.[1] ?? '';
  return { sha256: valueOf('sha256'), digest: valueOf('digest') };
}

describe('an approval', () => {
  test('is asked for with what the ledger has of the run, and lets exactly that be paid', async () => {
    const { app, run, person } = await openApprovalRig();
    const carl = await person('carl', 'checker');
    expect((await carl.get(`/runs/${run.id}`)).text).toContain('Look at it and approve');
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    for (const fact of [run.fileSha256, '2,101.50', '5,000.00', 'by mia', '0 of 1 hold', ANNA, BILL]) {
      expect(text).toContain(fact);
    }
    expect(text.indexOf(BILL)).toBeLessThan(text.indexOf(ANNA));
    expect(text).toContain('never paid before');
    for (const [path, content] of [
      [`/runs/${run.id}/approve/beneficiaries.csv`, `${BILL},1,2000.50,USD,yes`],
      [`/runs/${run.id}/approve/totals.csv`, 'USD,2101.50,0.00'],
    ] as const) {
      expect(text).toContain(`href="${path}"`);
      expect((await carl.get(path)).text).toContain(content);
    }
    const shown = await carl.get(`/runs/${run.id}`);
    for (const [table, content] of [
      ['outcomes', 'USD,2101.50,'],
      ['tie', 'USD,2101.50,2101.50,yes'],
    ] as const) {
      expect(shown.text).toContain(`href="/runs/${run.id}/${table}.csv"`);
      expect((await carl.get(`/runs/${run.id}/${table}.csv`)).text).toContain(content);
    }
    const done = await carl.post(`/runs/${run.id}/approve`, seenOn(text));
    expect([done.status, done.headers.get('location')]).toEqual([303, `/runs/${run.id}`]);
    expect(await app.ledger.runs.read(run.id)).toMatchObject({ state: 'paying', approvals: [{ by: 'carl' }] });
    expect(await audited(app, 'run.approved')).toMatchObject([{ actor: 'carl', target: run.id }]);
    expect((await carl.get(`/runs/${run.id}/approve`)).status).toBe(409);
  });

  test('names each blocked beneficiary, however little they get, what goes to new ones, and why rows are held', async () => {
    const small = idOf(40);
    const rows = Array.from({ length: 40 }, (_, index) => `R${index + 1},${idOf(index + 1)},${50 - index}.00,USD,MXN`);
    const { app, run, person } = await openApprovalRig('mia', { rows });
    await app.ledger.approvals.block(small, { by: 'root', reason: 'a fraud' });
    const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
    await app.ledger.payouts.move({ runId: run.id, line: 3, to: 'held', actor: 'test', reason: 'held', values });
    const carl = await person('carl', 'checker');
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    expect(text).toMatch(/1 beneficiary is blocked: (?:(?!<\/li>).)*11\.00/);
    expect(text).toContain(`href="/runs/${run.id}/payouts?text=${small}"`);
    expect(text).not.toContain('No beneficiary is blocked.');
    expect(text).toMatch(new RegExp(`<code>${small}</code>(?:(?!</tr>).)*>blocked<`));
    expect(text).toContain('40 beneficiaries get <span><span class="money">1,220.00 <abbr>USD</abbr></span></span>');
    expect(text).toMatch(
      new RegExp(
        `1 row is held and waits for people: <span><a href="/runs/${run.id}/settle/E_LIMIT">1 because it would pass a limit</a> \\((?:(?!</li>).)*49\\.00`,
      ),
    );
    // Of 1,220.00 neither the held row nor that to somebody who is blocked is paid; the service quotes what leaves for it.
    expect(text).toMatch(/in 38 rows, by quotes of <time /);
    const { funds } = await readRun(app, run.id);
    expect(funds).toMatchObject({ payouts: 39, unpriced: 0, needed: [{ currency: 'USD', amount: 116_000n }] });
    expect([...text.matchAll(/<th scope="row"[^>]*><a href="[^"]*">(R[0-9]+)<\/a>/g)].map(([, one]) => one)).toEqual(
      Array.from({ length: 10 }, (_, index) => `R${index + 1}`),
    );
    expect(text).toMatch(/>R2<(?:(?!<\/tr>).)*>held</);
    await app.ledger.approvals.unblock(small, 'root', []);
    await app.ledger.approvals.unblock(small, 'ada', []);
    expect((await carl.get(`/runs/${run.id}/approve`)).text).toContain('No beneficiary is blocked.');
  });

  test('says by how much it is more or less than the last file of the same name', async () => {
    const { app, run, person } = await openApprovalRig();
    const before = Date.now();
    // An older run of the same name: 1,000.00 in one row.
    const older = await app.ledger.runs.claim({
      id: 'older',
      fileName: 'wages.csv',
      fileSha256: 'a'.repeat(64),
      contentHash: 'b'.repeat(64),
      rows: 1,
      fileTotals: [{ minor: 100_000n, currency: 'USD' }],
      createdBy: 'mia',
    });
    await app.ledger.runs.note(older.id, { createdAt: String(before - 7 * 86_400_000), state: 'finished' });
    const carl = await person('carl', 'checker');
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    expect(text).toMatch(
      /Against the last file of this name<\/h2><p class="figure">\+ 110 %<\/p>(?:(?!<\/div>).)*1,000\.00/,
    );
  });

  test('is not given by sending the run back, which has words of its own, a reason, and ends it', async () => {
    const { app, run, person } = await openApprovalRig();
    const carl = await person('carl', 'checker');
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    expect(text).toContain(`href="/runs/${run.id}/send-back"`);
    const page = await carl.get(`/runs/${run.id}/send-back`);
    expect(page.text).toContain('<h1>Send wages.csv back?</h1>');
    expect(page.text).toContain('mia, who handed it in, reads your reason');
    expect((await carl.post(`/runs/${run.id}/send-back`, { reason: '' })).text).toContain(
      '<h1>Send wages.csv back?</h1>',
    );
    const sent = await carl.post(`/runs/${run.id}/send-back`, { reason: 'line 3 is last month' });
    expect(sent.headers.get('location')).toBe(`/runs/${run.id}`);
    expect(await app.ledger.runs.read(run.id)).toMatchObject({ state: 'cancelled' });
    expect((await carl.get(`/runs/${run.id}`)).text).toContain('line 3 is last month');
    expect((await carl.get(`/runs/${run.id}/send-back`)).status).toBe(409);
  });

  test('is not taken back by a page to send it back that stood open meanwhile: the run goes on', async () => {
    const { app, run, person } = await openApprovalRig();
    const carl = await person('carl', 'checker');
    await carl.get(`/runs/${run.id}/send-back`);
    await server.redis.hset(`${app.config.prefix}:run:${run.id}`, 'state', 'paying');
    await carl.post(`/runs/${run.id}/send-back`, { reason: 'line 3 is last month' });
    expect(await app.ledger.runs.read(run.id)).toMatchObject({ state: 'paying', counts: { cancelled: 0 } });
  });

  test.each([
    { forged: { ben: ANNA }, of: 'a beneficiary' },
    { forged: { amt: '100' }, of: 'an amount' },
  ])('of a row is shown nowhere with $of that payrun did not write: everything is halted', async ({ forged }) => {
    const { app, run, person } = await openApprovalRig('mia', { approvals: 2 });
    const carl = await person('carl', 'checker');
    await changeStored({ redis: server.redis, prefix: app.config.prefix, runId: run.id, line: 3 }, forged);
    for (const path of ['approve', 'approve/beneficiaries.csv', 'payouts', 'payouts/3', 'payouts?text=B']) {
      const { status, text } = await carl.get(`/runs/${run.id}/${path}`);
      expect([path, status, text]).toEqual([
        path,
        409,
        expect.stringMatching(/line 3 of run \S+ was changed in Redis/),
      ]);
    }
    for (const path of ['payouts?page=1', 'payouts?text=B', 'payouts/3']) {
      expect([path, (await carl.get(`/api/v1/runs/${run.id}/${path}`)).status]).toEqual([path, 409]);
    }
    expect((await app.ledger.state.read()).halt).toMatch(/line 3 of run/);
  });

  test.each([
    { forged: { createdBy: 'nobody' }, of: 'who handed it in' },
    { forged: { approvals: JSON.stringify([{ by: 'mo', at: 1, digest: 'd' }]) }, of: 'an approval' },
  ])('is not asked for with $of that payrun did not write: everything is halted', async ({ forged }) => {
    const { app, run, person } = await openApprovalRig('mia', { approvals: 2 });
    const carl = await person('carl', 'checker');
    await server.redis.hset(`${app.config.prefix}:run:${run.id}`, forged);
    for (const path of ['approve', 'approve/beneficiaries.csv', 'approve/totals.csv']) {
      const { status, text } = await carl.get(`/runs/${run.id}/${path}`);
      expect([path, status, text]).toEqual([path, 409, expect.stringMatching(/was changed in Redis/)]);
    }
    expect((await carl.get(`/api/v1/runs/${run.id}/details`)).status).toBe(409);
    expect((await app.ledger.state.read()).halt).toMatch(/run .*was changed in Redis/);
  });

  test('of a run that came by an inbox tells who put it there and which schedules are new, on its page and in the API', async () => {
    const { app, run, person } = await openApprovalRig('schedule morning of bob');
    await noteDropper(app, run, 'mia');
    const act = { kind: 'inbox', dir: '/srv/in' } as const;
    const schedule = { cron: '0 6 * * *', zone: 'UTC', act, windowMs: 60_000 };
    await setSchedule(app, schedule, { name: 'morning', actor: 'bob' });
    const [mia, carl] = [await person('mia', 'checker'), await person('carl', 'checker')];
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    for (const fact of ['by mia', 'bob set the schedule morning (inbox:/srv/in)']) expect(text).toContain(fact);
    const { droppedBy, approval } = JSON.parse((await carl.get(`/api/v1/runs/${run.id}/details`)).text);
    expect(droppedBy).toBe('mia');
    expect(approval.scheduleChanges).toMatchObject([
      { by: 'bob', name: 'morning', isSet: true, does: 'inbox:/srv/in' },
    ]);
    expect((await mia.get(`/runs/${run.id}/approve`)).text).toContain('You handed this file in');
    await noteDropper(app, run, '');
    const unnamed = (await carl.get(`/runs/${run.id}/approve`)).text;
    for (const fact of ['one person more has to approve it', '0 of 2 hold']) expect(unnamed).toContain(fact);
  });

  test('is of amounts that people can read on each page, and that programs have plain in CSV and from the API', async () => {
    const { run, person } = await openApprovalRig('mo');
    const anna = await person('anna', 'viewer');
    for (const page of ['/runs', `/runs/${run.id}`]) {
      const { text } = await anna.get(page);
      expect(text).toContain('2,101.50');
      expect(text).not.toContain('2101.50');
    }
    for (const page of [`/runs/${run.id}/payouts`, `/runs/${run.id}/payouts/3`])
      expect((await anna.get(page)).text).toContain('2,000.50');
    for (const plain of ['/runs.csv', `/runs/${run.id}/report`, '/api/v1/runs']) {
      expect((await anna.get(plain)).text).toMatch(/2101\.50|2000\.50/);
    }
  });

  test('is refused to whoever handed the run in, on the page and when it is sent all the same', async () => {
    const { app, run, person } = await openApprovalRig('Carl');
    const carl = await person('carl', 'checker');
    const { text } = await carl.get(`/runs/${run.id}/approve`);
    expect(text).toContain('another person has to approve it');
    expect(text).not.toContain('name="digest"');
    const digest = /<dt>What is approved<\/dt><dd><code>([0-9a-f]{64})/.exec(text)?.[1] ?? '';
    const sent = await carl.post(`/runs/${run.id}/approve`, { sha256: run.fileSha256, digest });
    expect([sent.status, sent.text]).toEqual([
      409,
      expect.stringContaining('handed it in; another person approves it'),
    ]);
    expect((await app.ledger.runs.read(run.id))?.state).toBe('awaiting-approval');
  });

  test('is refused to who made the key by which a program handed the run in', async () => {
    const { app, run, person } = await openApprovalRig('key erp of carl');
    const carl = await person('carl', 'checker');
    expect((await carl.get(`/runs/${run.id}/approve`)).text).toContain('another person has to approve it');
    const dora = await person('dora', 'checker');
    const seen = seenOn((await dora.get(`/runs/${run.id}/approve`)).text);
    expect((await carl.post(`/runs/${run.id}/approve`, seen)).status).toBe(409);
    expect((await app.ledger.runs.read(run.id))?.state).toBe('awaiting-approval');
    expect((await dora.post(`/runs/${run.id}/approve`, seen)).status).toBe(303);
    expect((await app.ledger.runs.read(run.id))?.state).toBe('paying');
  });

  test('needs as many people as the rules say, and says who is missing', async () => {
    const { app, run, person } = await openApprovalRig('mia', { approvals: 2 });
    const carl = await person('carl', 'checker');
    const dora = await person('dora', 'checker');
    const seen = seenOn((await carl.get(`/runs/${run.id}/approve`)).text);
    await carl.post(`/runs/${run.id}/approve`, seen);
    expect((await carl.get(`/runs/${run.id}/approve`)).text).toContain('You have approved it. 1 more person needed.');
    expect((await carl.post(`/runs/${run.id}/approve`, seen)).status).toBe(409);
    const page = (await dora.get(`/runs/${run.id}/approve`)).text;
    expect(page).toContain('1 of 2 hold');
    expect((await dora.post(`/runs/${run.id}/approve`, seenOn(page))).status).toBe(303);
    expect((await app.ledger.runs.read(run.id))?.state).toBe('paying');
  });

  test('is refused when another file, other limits or other rules were shown', async () => {
    const { app, run, person } = await openApprovalRig();
    const carl = await person('carl', 'checker');
    const seen = seenOn((await carl.get(`/runs/${run.id}/approve`)).text);
    for (const other of [{ sha256: '0'.repeat(64) }, { digest: '0'.repeat(64) }])
      expect((await carl.post(`/runs/${run.id}/approve`, { ...seen, ...other })).status).toBe(409);
    expect((await carl.post(`/runs/${run.id}/approve`, { sha256: seen.sha256 })).status).toBe(422);
    expect((await app.ledger.runs.read(run.id))?.state).toBe('awaiting-approval');
  });

  test('is not for a viewer or a maker', async () => {
    const { run, person } = await openApprovalRig('nobody');
    for (const role of ['viewer', 'maker'] as const) {
      const one = await person(`one ${role}`, role);
      expect((await one.get(`/runs/${run.id}/approve`)).status).toBe(403);
      expect((await one.post(`/runs/${run.id}/approve`, { sha256: run.fileSha256 })).status).toBe(403);
    }
  });
});
