import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { rfc3339, systemClock } from '../../src/clock.ts';
import { summariseRun } from '../../src/runs/after/report.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { foreignParts } from './page-html.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

const TODAY = rfc3339(systemClock.now()).slice(0, 10);
const THIS_YEAR = `from=${TODAY.slice(0, 4)}-01-01&to=${TODAY.slice(0, 4)}-12-31`;

/** Two runs of today, of five rows, one of them held, one refused. */
async function twoRuns() {
  const rig = await openWebRig(server.url);
  await recordRun(rig.app.ledger, { id: 'a1', lines: [2, 3], refused: [4] });
  await recordRun(rig.app.ledger, { id: 'b1', lines: [12, 13] });
  await movePayout(rig.app.ledger, { runId: 'a1', line: 2 }, 'held');
  return { ...rig, vera: await rig.person('vera', 'viewer') };
}

describe('the report of a period', () => {
  test('asks for a period first, and reads no rows until then', async () => {
    const { vera } = await twoRuns();
    const { status, text } = await vera.get('/period');
    expect({ status, foreign: foreignParts(text) }).toEqual({ status: 200, foreign: [] });
    expect(text).toContain('Choose a period');
    expect(text).not.toContain('<table');
    expect((await vera.get('/runs')).text).toContain('href="/period"');
  });

  test('adds its runs up as their own reports do, and names each of them', async () => {
    const { app, vera } = await twoRuns();
    const { status, text } = await vera.get(`/period?${THIS_YEAR}`);
    expect({ status, foreign: foreignParts(text) }).toEqual({ status: 200, foreign: [] });
    expect(text).toContain('This report ties with the reports of its 2 runs.');
    const table: string[][] = parse((await vera.get(`/period/download?${THIS_YEAR}`)).text);
    const [head = [], ...lines] = table;
    const sumOf = (column: string, by: string) =>
      lines.filter(([one]) => one === by).reduce((sum, line) => sum + Number(line[head.indexOf(column)]), 0);
    const reports = await Promise.all(['a1', 'b1'].map((run) => summariseRun(app, run)));
    for (const outcome of ['waiting', 'held', 'refused'] as const) {
      const expected = reports.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
      for (const by of ['run', 'currency', 'corridor', 'beneficiary']) expect(sumOf(outcome, by)).toBe(expected);
    }
    for (const run of ['a1', 'b1']) expect(text).toContain(`<a href="/runs/${run}">${run}</a>`);
    expect(text).toContain('301.50 USD');
  });

  test('names what is still open from before it, and links there', async () => {
    const { vera } = await twoRuns();
    const { text } = await vera.get('/period?month=2099-01');
    expect(text).toContain('href="/runs/a1/payouts?outcome=held"');
    expect(text).toMatch(/href="\/runs\/b1\/payouts\?outcome=waiting">2 [^<]*</);
  });

  test('says that it does not tie, and why', async () => {
    const { app, vera } = await twoRuns();
    await server.redis.hset(`${app.config.prefix}:run:b1`, 'rows', '3');
    const { text } = await vera.get(`/period?${THIS_YEAR}`);
    expect(text).toContain('THIS REPORT DOES NOT TIE');
    expect(text).toContain('run b1: its own report does not tie');
  });

  test('who took it stands on the audit log, and a page alone is not taken', async () => {
    const { app, vera } = await twoRuns();
    await vera.get('/period?month=2020-01');
    const taken = [];
    for (const format of ['csv', 'xlsx', 'json']) {
      const { status, headers } = await vera.get(`/period/download?month=2020-01&format=${format}`);
      taken.push([status, headers.get('content-disposition')]);
    }
    expect(taken).toEqual(
      ['csv', 'xlsx', 'json'].map((ending) => [200, `attachment; filename="period-2020-01.${ending}"`]),
    );
    const said: string[] = [];
    for await (const line of app.ledger.audit.lines()) {
      if (line.includes('report.downloaded')) said.push(/"what":"([^"]*)"/.exec(line)?.[1] ?? '');
    }
    expect(said).toEqual(['csv', 'xlsx', 'json'].map((format) => `period 2020-01, ${format}`));
  });

  test.each(['?day=2026-02-29', '?from=2026-01-31&to=2026-01-01', '?week=2026-W01&month=2026-01', '?year=2026'])(
    'refuses %s',
    async (query) => {
      const { vera } = await twoRuns();
      expect((await vera.get(`/period${query}`)).status).toBe(400);
      expect((await vera.get(`/period/download${query}`)).status).toBe(400);
    },
  );
});
