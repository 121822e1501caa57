import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const NAUGHTY = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '" onmouseover="alert(1)',
  '</td></table><svg/onload=alert(1)>',
];

const server = await useTestRedis();

/** Lines from 2 on. */
function lines(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 2);
}

/** How often payouts and other hashes were read as a whole so far. */
async function recordsRead(): Promise<number> {
  const stats = await server.redis.info('commandstats');
  return Number.parseInt(/^cmdstat_hgetall:calls=([0-9]+)/m.exec(stats)?.[1] ?? '0', 10);
}

describe('the payouts of a run', () => {
  test('are shown a page at a time, in the order of the file', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: lines(230), refused: [500] });
    const anna = await person('anna', 'viewer');
    const first = await anna.get(`/runs/${run}/payouts`);
    expect(first.status).toBe(200);
    expect(first.text).toContain('Rows 1 to 25 of 231');
    expect(first.text).toContain('Page 1 of 10');
    expect(first.text).toMatch(/<form method="get" action="[^"]+\/payouts"[^>]*><input type="number"[^>]* name="page"/);
    expect(first.text).toMatch(/<td class="number"[^>]*>100\.50 <abbr>USD<\/abbr><\/td>/);
    const last = await anna.get(`/runs/${run}/payouts?page=10`);
    expect(last.text).toContain('Rows 226 to 231 of 231');
    expect(last.text).toContain('BAD 500');
    expect(last.text).not.toContain('>INV-226<');
    expect(last.text).toContain('>INV-227<');
    expect((await anna.get(`/runs/${run}/payouts?page=11`)).text).toContain('No row');
  });

  test('are filtered by outcome, each on its own page', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: lines(4), refused: [9] });
    await movePayout(app.ledger, { runId: run, line: 3 }, 'held');
    await armPayout(app.ledger, { runId: run, line: 4 }, 'q-4');
    const anna = await person('anna', 'viewer');
    const shown = async (outcome: string): Promise<string[]> => {
      const { text } = await anna.get(`/runs/${run}/payouts?outcome=${outcome}&text=`);
      return [...text.matchAll(/\/payouts\/([0-9]+)"/g)].map(([, line]) => line ?? '');
    };
    expect(await shown('')).toEqual(['2', '3', '4', '5', '9']);
    expect(await shown('held')).toEqual(['3']);
    expect(await shown('unknown')).toEqual(['4']);
    expect(await shown('waiting')).toEqual(['2', '5']);
    expect(await shown('refused')).toEqual(['9']);
    expect(await shown('paid')).toEqual([]);
    expect((await anna.get(`/runs/${run}/payouts?outcome=nonsense`)).status).toBe(400);
  });

  test('are found by any part of their reference, payouts and refused rows alike', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: lines(4), refused: [9] });
    const anna = await person('anna', 'viewer');
    const found = await anna.get(`/runs/${run}/payouts?text=INV-3`);
    expect(found.text).toContain(`/runs/${run}/payouts/3"`);
    expect(found.text).not.toContain(`/runs/${run}/payouts/2"`);
    expect((await anna.get(`/runs/${run}/payouts?text=BAD%209`)).text).toContain(`/runs/${run}/payouts/9"`);
    expect((await anna.get(`/runs/${run}/payouts?text=inv`)).text).toContain('Rows 1 to 4 of 4');
    expect((await anna.get(`/runs/${run}/payouts?text=INV-77`)).text).toContain('No row is like that');
  });

  test('are had as CSV in the columns of the report, with the same filter', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: lines(620), refused: [700] });
    await movePayout(app.ledger, { runId: run, line: 3 }, 'held');
    const anna = await person('anna', 'viewer');
    const all = await anna.get(`/runs/${run}/payouts.csv`);
    expect(all.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(all.headers.get('content-disposition')).toBe(`attachment; filename="${run}-payouts.csv"`);
    const rows: Record<string, string>[] = parse(all.text, { columns: true });
    expect(Object.keys(rows[0] ?? {})).toEqual([...REPORT_COLUMNS]);
    expect(rows.map(({ line }) => line)).toEqual([...lines(620), 700].map(String));
    const held: Record<string, string>[] = parse((await anna.get(`/runs/${run}/payouts.csv?outcome=held`)).text, {
      columns: true,
    });
    expect(held.map(({ reference }) => reference)).toEqual(['INV-3']);
  });

  test('of 100,000 rows are shown, filtered and found by reading the rows of one page', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: lines(100_000) });
    for (const line of [70_000, 70_001]) await movePayout(app.ledger, { runId: run, line }, 'held');
    const anna = await person('anna', 'viewer');
    const besides = 20;
    for (const [path, most, wanted] of [
      ['payouts', 25, 'Rows 1 to 25 of 100,000'],
      ['payouts?page=4000', 25, 'Rows 99,976 to 100,000 of 100,000'],
      ['payouts?outcome=held', 2, 'Rows 1 to 2 of 2'],
      ['payouts?text=INV-99999', 3, '>INV-99999<'],
      ['payouts?text=INV-999999', 2, 'No row is like that'],
      ['payouts/99999', 1, 'INV-99999'],
    ] as const) {
      const before = await recordsRead();
      const { status, text } = await anna.get(`/runs/${run}/${path}`);
      const read = (await recordsRead()) - before;
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(text).toContain(wanted);
      expect({ path, isBounded: read <= most + besides, read }).toMatchObject({ isBounded: true });
    }
    const before = await recordsRead();
    expect((await anna.get('/to-settle')).text).toContain('>INV-70001<');
    expect((await recordsRead()) - before).toBeLessThanOrEqual(2 + besides);
  }, 180_000);

  test('offer to block a beneficiary to those who may', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const offered = async (name: string, role: 'viewer' | 'maker' | 'checker'): Promise<boolean> =>
      (await (await person(name, role)).get(`/runs/${run}/payouts/2`)).text.includes('Block its beneficiary');
    expect(await offered('vera', 'viewer')).toBe(false);
    expect(await offered('mia', 'maker')).toBe(false);
    expect(await offered('carl', 'checker')).toBe(true);
  });

  test('of a run that there is not, or on a line that it has not, are not found', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const anna = await person('anna', 'viewer');
    for (const path of [
      '/runs/none/payouts',
      '/runs/none/payouts.csv',
      '/runs/none/payouts/2',
      `/runs/${run}/payouts/3`,
    ]) {
      expect({ path, status: (await anna.get(path)).status }).toEqual({ path, status: 404 });
    }
    expect((await anna.get(`/runs/${run}/payouts/x`)).status).toBe(400);
  });
});

const clock = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

describe('one payout', () => {
  test('is shown with its whole story', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    await armPayout(app.ledger, { runId: run, line: 2 }, 'quote-2');
    await movePayout(app.ledger, { runId: run, line: 2 }, 'unknown');
    const anna = await person('anna', 'viewer');
    const { text } = await anna.get(`/runs/${run}/payouts/2`);
    for (const part of ['unknown', 'quote-2', `${run}-2, line 2 of the file`, 'attempts', 'arming counter', 'c1']) {
      expect(text).toContain(part);
    }
    expect([...text.matchAll(/<th scope="row">([a-z]+)<\/th>/g)].map(([, to]) => to)).toEqual([
      'ready',
      'armed',
      'unknown',
    ]);
    const csv = await anna.get(`/runs/${run}/payouts/2/history.csv`);
    const steps: Record<string, string>[] = parse(csv.text, { columns: true });
    expect(steps.map(({ state }) => state)).toEqual(['ready', 'armed', 'unknown']);
  });

  test('tells who gets how much, when it came how far and what to do next, and keeps evidence in a fold', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    await armPayout(app.ledger, { runId: run, line: 2 }, 'quote-2');
    const paid = {
      paymentState: 'FAILED',
      reasonCode: 'USR_201',
      reason: 'the account is closed',
      sourceAmount: { minor: 10050n, currency: 'USD' },
      fees: [{ minor: 125n, currency: 'USD' }],
    };
    await movePayout(app.ledger, { runId: run, line: 2 }, 'accepted');
    await app.ledger.payouts.move({ runId: run, line: 2, to: 'failed', actor: 'test', reason: 'test', values: paid });
    const anna = await person('anna', 'viewer');
    const { text } = await anna.get(`/runs/${run}/payouts/2`);
    const [shown = '', folded = ''] = text.split('<summary>Technical evidence</summary>');
    expect(shown).toContain('100.50 USD → MXN');
    expect(shown).toContain('It failed at the service.');
    expect(shown).toContain('the account is closed');
    expect(shown).toMatch(/<b>Handed in<\/b> <time [^>]+>[^<]+<\/time> <span class="dim">by test/);
    expect(shown).toMatch(/<b>Failed<\/b> <time /);
    expect(shown).toContain('hand it in again once its run is over');
    for (const part of ['quote-2', 'USR_201', 'arming counter', 'attempts']) {
      expect([part, shown.includes(part), folded.includes(part)]).toEqual([part, false, true]);
    }
    await movePayout(app.ledger, { runId: run, line: 3 }, 'cancelled');
    await app.ledger.runs.move(run, { to: 'finished', actor: 'test', reason: 'over' });
    expect((await anna.get(`/runs/${run}/payouts/2`)).text).toContain(`href="/runs/${run}/retry-file"`);
    expect((await anna.get(`/runs/${run}/payouts/4`)).text).toContain('<b>Refused in the file</b>');
  });

  test('tells time in the zone of the settings, with UTC in the title', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'payrun-zone-'));
    const config = join(folder, 'payrun.json');
    writeFileSync(
      config,
      JSON.stringify({ limits: { zone: 'Asia/Tokyo', currencies: { USD: { payout: '5000.00' } } } }),
    );
    const { app, person } = await openWebRig(server.url, { env: { PAYRUN_CONFIG: config } });
    const run = await recordRun(app.ledger, { lines: [2] });
    const at = (await app.ledger.runs.read(run))?.createdAt ?? 0;
    const { text } = await (await person('anna', 'viewer')).get(`/runs/${run}/payouts/2`);
    expect(text).toContain(`title="${clock(at)} UTC">${clock(at + 9 * 3_600_000)} Asia/Tokyo</time>`);
    const live = (await (await person('bob', 'viewer')).get(`/runs/${run}`)).text;
    expect(live).toContain('Asia/Tokyo</time>');
  });

  test('that may repeat another one leads to it', async () => {
    const { app, person } = await openWebRig(server.url);
    await recordRun(app.ledger, { id: 'r1', lines: [2] });
    const again = await recordRun(app.ledger, { id: 'r2', lines: [2] });
    const anna = await person('anna', 'viewer');
    const { text } = await anna.get(`/runs/${again}/payouts/2`);
    expect(text).toContain('E_DUP_HISTORY');
    expect(text).toContain('href="/runs/r1/payouts/2"');
  });

  test('that intake refused is shown with its code', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2], refused: [3] });
    const anna = await person('anna', 'admin');
    const { text } = await anna.get(`/runs/${run}/payouts/3`);
    expect(text).toContain('E_AMOUNT');
    expect(text).not.toContain('<form method="post" action="/runs');
  });

  test.each(NAUGHTY)('shows %s as text, wherever it stands', async (words) => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const values = { reasonCode: 'E_LIMIT', reason: words };
    await app.ledger.payouts.move({ runId: run, line: 2, to: 'held', actor: words, reason: words, values });
    const anna = await person('anna', 'maker');
    await anna.get(`/runs/${run}/payouts/2`);
    await anna.post(`/runs/${run}/payouts/2/decide`, { decision: 'allow', reason: words });
    const pages = [
      `/runs/${run}/payouts`,
      `/runs/${run}/payouts/2`,
      '/to-settle',
      `/runs/${run}/payouts?text=${encodeURIComponent(words)}`,
    ];
    for (const path of pages) {
      const { status, text } = await anna.get(path);
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(text).not.toContain(words);
      expect(text).toContain('alert(1)');
    }
  });

  test('has no cell in its CSV that a spreadsheet would run', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const words = '=HYPERLINK("http://evil.example")';
    const values = { reasonCode: 'E_LIMIT', reason: words };
    await app.ledger.payouts.move({ runId: run, line: 2, to: 'held', actor: words, reason: words, values });
    const anna = await person('anna', 'viewer');
    for (const path of [`/runs/${run}/payouts.csv`, `/runs/${run}/payouts/2/history.csv`, '/to-settle.csv']) {
      const cells: string[][] = parse((await anna.get(path)).text);
      expect(cells.flat().filter((cell) => cell.includes('HYPERLINK'))).not.toEqual([]);
      expect(cells.flat().filter((cell) => cell.startsWith('='))).toEqual([]);
    }
  });
});
