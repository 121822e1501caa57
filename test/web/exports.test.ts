import { parse } from 'csv-parse/sync';
import { expect, test, vi } from 'vitest';
import { startSession } from '../../src/people/sessions.ts';
import { tableCsv } from '../../src/report/table-csv.ts';
import { beneficiaryRows } from '../../src/web/run/table-rows.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { COST_TABLES, stoppedRows } from '../../src/web/uploads/table-rows.ts';
import { camtXml } from '../intake/camt-message.ts';
import { cellsOf, HAS_LIBRE_OFFICE, readByLibreOffice } from '../report/libre-office.ts';
import { useTestRedis } from '../support/redis.ts';
import { fillNaughty } from './naughty-site.ts';
import { addressOf, openWholeSite, type Route, routesOf } from './whole-site.ts';

vi.setConfig({ testTimeout: 120_000 });

const server = await useTestRedis();

/** What spreadsheets take for the beginning of a formula, alone and behind what they, or editors, leave out. */
const SIGNS = ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫'];
const BEFORE = ['', ' ', '   ', '\u00A0', '\uFEFF', '\u200B', '\u3000', '\u202E', '\t', '\r\n'];
const NAUGHTY = [
  ...SIGNS.flatMap((sign) => BEFORE.map((before) => `${before}${sign}HYPERLINK("http://evil.example","x")`)),
  "=cmd|' /C calc'!A0",
  '@SUM(1+1)*cmd|calc',
  '-2+3+cmd|calc',
  '=1,"=2"',
  '+1;=2',
  ...SIGNS.filter((sign) => !/\s/.test(sign)).flatMap((sign) => [`x;${sign}1+1`, `x; ${sign}1+1`]),
];

/**
 * A cell of an export that a spreadsheet would run, also where it cuts the text at a semicolon; numbers are none, and neither is what
 * `'` or an escape makes text.
 */
function isRun(cell: string): boolean {
  return /(?:^|;)[\s\p{Cf}\0]*[=+\-@\t\r\n\0＝＋－＠﹦﹢﹣﹫]/u.test(cell) && !/^-?[0-9]+(\.[0-9]+)?$/.test(cell);
}

const ROW = { line: 2, beneficiaryIdentityId: '', amount: '1.00', currency: 'USD' };
const STOPPED = { code: 'E_LIMIT' as const, becomes: 'held' as const, rows: 1, totals: [] };
const CORRIDOR = {
  destinationCurrency: 'MXN',
  rows: 1,
  quoted: 1,
  estimate: false,
  sourceAmount: '1.00',
  destinationAmount: null,
  fees: null,
  rates: null,
};

/** Exports in which somebody's words stand, and how many different ones at least. */
const HOLD: Readonly<Record<Route, number>> = {
  'GET /runs.csv': NAUGHTY.length,
  'GET /runs/:run/history.csv': NAUGHTY.length,
  'GET /runs/:run/outcomes.csv': 0,
  'GET /runs/:run/tie.csv': 0,
  'GET /runs/:run/reports.csv': 0,
  'GET /runs/:run/changes.csv': 0,
  'GET /runs/:run/approve/totals.csv': 0,
  'GET /runs/:run/approve/beneficiaries.csv': 0,
  'GET /runs/:run/report': NAUGHTY.length,
  'GET /runs/:run/reports/:file': NAUGHTY.length,
  'GET /runs/:run/payouts.csv': NAUGHTY.length,
  'GET /runs/:run/payouts/:line/history.csv': 1,
  'GET /to-settle.csv': NAUGHTY.length,
  'GET /block-list.csv': NAUGHTY.length,
  'GET /audit.csv': NAUGHTY.length,
  'GET /users.csv': 20,
  'GET /keys.csv': NAUGHTY.length,
  'GET /schedules.csv': 20,
  'GET /settings.csv': 0,
  'GET /inbox.csv': 20,
  'GET /notifications.csv': NAUGHTY.length,
  'GET /upload/example.csv': 0,
  'GET /uploads.csv': 0,
  'GET /uploads/:id/problems.csv': 1,
  'GET /uploads/:id/totals.csv': 0,
  'GET /uploads/:id/not-paid.csv': 0,
  'GET /uploads/:id/funds.csv': 0,
  'GET /uploads/:id/corridors.csv': 0,
  'GET /uploads/:id/unquoted.csv': 0,
  'GET /uploads/:id/marked-up.csv': 1,
  'GET /api/v1/runs/:run/report': NAUGHTY.length,
  'GET /api/v1/runs/:run/reports/:file': NAUGHTY.length,
};
/** A payout file for payrun, of rows that intake has taken: it refuses formulas. */
const NO_TABLE = ['GET /runs/:run/retry-file', 'GET /api/v1/runs/:run/retry-file'];

test('no cell that a spreadsheet would run is in a table whose words come from the service or from the file', () => {
  const tables = NAUGHTY.flatMap((text) => [
    beneficiaryRows({
      beneficiaries: { top: [{ identityId: text, rows: 1, amount: { minor: 1n, currency: 'USD' } }] },
      names: new Map([[text, text]]),
      neverPaid: new Set(),
    }),
    COST_TABLES.unquoted({ unquotedRows: [{ line: 2, reference: text, outcome: text, code: text, reason: text }] }),
    stoppedRows({ stopped: [{ ...STOPPED, reason: text, named: [{ ...ROW, reference: text, other: text }] }] }),
    COST_TABLES.corridors({ corridors: [{ ...CORRIDOR, corridor: text, sourceCurrency: text }] }),
  ]);
  const cells: string[] = tables.flatMap((rows) => parse(tableCsv(rows), { relax_column_count: true }).flat());
  expect(cells.filter(isRun)).toEqual([]);
  expect(cells.filter((cell) => cell.includes('HYPERLINK')).length).toBeGreaterThan(NAUGHTY.length);
});

test('no cell that a spreadsheet would run is in any table that can be had', async () => {
  const { web, base, app, person } = await openWholeSite(server);
  const ada = await person('ada', 'admin');
  const names = await fillNaughty(app, ada, NAUGHTY);
  const cookie = `${SESSION_COOKIE}=${await startSession(app, 'ada')}`;
  const exports = routesOf(web).filter((route) => /^GET .*(\.csv|\/report|:file|retry-file)$/.test(route));
  expect(exports.toSorted()).toEqual([...Object.keys(HOLD), ...NO_TABLE].toSorted());
  const texts = new Map<string, string>();
  for (const route of Object.keys(HOLD)) {
    const { path } = addressOf(route, names);
    const answer = await fetch(base + path, { headers: { cookie } });
    const text = await answer.text();
    texts.set(`t${texts.size}`, text);
    expect(`${route} ${answer.status}`).toBe(`${route} 200`);
    const cells: string[] = parse(text, { relax_column_count: true, bom: true }).flat();
    expect({ route, run: cells.filter(isRun) }).toEqual({ route, run: [] });
    const held = new Set(cells.filter((cell) => /^'|;\s*'|\\u[0-9a-f]{4}/.test(cell)));
    expect(held.size).toBeGreaterThanOrEqual(HOLD[route] ?? 0);
  }

  // Nor in what is made of a statement of the bank, or of a period.
  const mia = await person('mia', 'maker');
  await mia.get('/reconcile');
  const written = NAUGHTY.filter((text) => !/[\p{Cc}]/u.test(text));
  const entries = written.map((text) => ({
    amount: '100.50',
    currency: 'USD',
    transactions: [
      { reference: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'), id: '' },
    ],
  }));
  const form = new FormData();
  for (const [field, value] of Object.entries({ runs: 'r0', format: 'csv' })) form.set(field, value);
  form.set('file', new Blob([camtXml(entries)]), 'bank.xml');
  const today = new Date(app.clock.now()).toISOString().slice(0, 10);
  const answers = [await mia.upload('/reconcile', form), await mia.get(`/period/download?from=${today}&to=${today}`)];
  for (const { status, headers, text } of answers) {
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/csv')]);
    expect(parse(text, { relax_column_count: true, bom: true }).flat().filter(isRun)).toEqual([]);
  }
  const words = new Set(
    parse(answers[0]?.text ?? '')
      .flat()
      .filter((cell: string) => /^'|;\s*'|\\u[0-9a-f]{4}/.test(cell)),
  );
  expect(words.size).toBeGreaterThanOrEqual(written.length / 2);
  if (!HAS_LIBRE_OFFICE) return;
  for (const [name, { asText, asRun }] of readByLibreOffice(texts)) {
    const cells = cellsOf(texts.get(name) ?? '');
    expect({ name, rows: asRun.length, cells: asText }).toEqual({ name, rows: cells.length, cells });
    expect(asRun.flat().filter((cell) => cell.startsWith('='))).toEqual([]);
  }
});
