import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { OUTCOMES } from '../../src/payout.ts';
import { sheetsOf } from '../report/workbook.ts';
import { useTestRedis } from '../support/redis.ts';
import { parsed, payoutFile, reportSchema, runSchema, usePayrun } from './payrun.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const ALWAYS = ['--from', '2020-01-01', '--to', '2099-12-31'];
const period = z.looseObject({
  ties: z.boolean(),
  runs: z.array(z.string()),
  earlier: z.array(z.looseObject({ outcomes: z.record(z.string(), z.number()) })),
  lines: z.array(z.looseObject({ by: z.string(), outcomes: z.record(z.string(), z.number()) })),
});

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
const runs: string[] = [];

beforeAll(async () => {
  writeFileSync(
    join(payrun.dir, 'a.csv'),
    payoutFile([
      ['A-1', '10.10'],
      ['A-2', '20.20'],
      ['A-3', 'much'],
    ]),
  );
  writeFileSync(join(payrun.dir, 'b.csv'), payoutFile([['B-1', '30.30']]));
  for (const words of [
    ['run', 'a.csv', '--skip-invalid'],
    ['submit', 'b.csv', '--sandbox'],
  ]) {
    runs.push(parsed(runSchema, (await payrun.run([...words, '--json'])).stdout).runId);
  }
});

describe('report --from --to', () => {
  test('adds up the reports of its runs, and ties', async () => {
    const { code, stdout } = await payrun.run(['report', ...ALWAYS, '--json']);
    expect(code).toBe(0);
    const report = parsed(period, stdout);
    expect(report).toMatchObject({ ties: true, runs });
    const reports = await Promise.all(runs.map((run) => payrun.run(['report', run, '--json'])));
    const outcomes = reports.map((one) => parsed(reportSchema, one.stdout).outcomes);
    for (const by of ['currency', 'corridor', 'beneficiary', 'run']) {
      const lines = report.lines.filter((line) => line.by === by);
      for (const outcome of OUTCOMES) {
        const here = lines.reduce((sum, line) => sum + (line.outcomes[outcome] ?? 0), 0);
        expect({ by, outcome, rows: here }).toEqual({
          by,
          outcome,
          rows: outcomes.reduce((sum, one) => sum + (one[outcome] ?? 0), 0),
        });
      }
    }
  });

  test('is of a day, a week or a month as well', async () => {
    const now = new Date();
    const month = now.toISOString().slice(0, 7);
    const { stdout } = await payrun.run(['report', '--month', month, '--json']);
    const [first, last] = [`${month}-01`, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0))];
    const range = ['--from', first, '--to', last.toISOString().slice(0, 10)];
    const { createdAt: _, ...report } = parsed(period, stdout);
    expect(report).toMatchObject({ runs, from: `${first}T00:00:00.000Z` });
    expect(parsed(period, (await payrun.run(['report', ...range, '--json'])).stdout)).toMatchObject(report);
    for (const words of [
      ['--day', '2020-02-29'],
      ['--week', '2020-W53'],
    ])
      expect(parsed(period, (await payrun.run(['report', ...words, '--json'])).stdout)).toMatchObject({ runs: [] });
  });

  test('names what is still open from before it', async () => {
    const { stdout } = await payrun.run(['report', '--from', '2099-01-01', '--to', '2099-12-31', '--format', 'json']);
    expect(parsed(period, stdout)).toMatchObject({
      runs: [],
      lines: [],
      earlier: [{ runId: runs[1], outcomes: { waiting: 1 } }],
    });
  });

  test('is CSV, a workbook or a summary', async () => {
    const csv: string[][] = parse((await payrun.run(['report', ...ALWAYS])).stdout);
    await payrun.run(['report', ...ALWAYS, '--format', 'xlsx', '--output', 'period.xlsx']);
    const sheets = await sheetsOf(readFileSync(join(payrun.dir, 'period.xlsx')));
    expect([...sheets.keys()]).toEqual([
      'Summary',
      'Currencies',
      'Corridors',
      'Beneficiaries',
      'Reasons',
      'Reasons by corridor',
      'Reasons by beneficiary',
      'Runs',
    ]);
    expect(sheets.get('Summary')?.[0]).toEqual(['does it tie?', 'yes']);
    const rows = [...sheets].slice(1).flatMap(([, [, ...lines]]) => lines);
    expect(rows.map((row) => String(row[1]))).toEqual(csv.slice(1).map((row) => row[1]));
    const { stdout } = await payrun.run(['report', ...ALWAYS, '--format', 'summary']);
    expect(stdout).toMatch(/does it tie\? +yes\n/);
    expect(stdout).toMatch(/corridor +USD to MXN +1: 30\.30 USD/);
  });

  test.each([
    [['report'], 'No run is named'],
    [['report', '--from', '2026-01-31', '--to', '2026-01-01'], 'ends before it begins'],
    [['report', '--from', 'January', '--to', '2026-01-01'], '--from must be a day'],
    [['report', 'r1', '--from', '2026-01-01'], 'instead of a run'],
    [['report', '--day', '2026-01-01', '--week', '2026-W01'], 'More than one period'],
    [['report', '--week', '2025-W53'], '--week must be a week that its year has'],
    [['report', ...ALWAYS, '--format', 'pain.002'], 'no such format'],
  ])('refuses %j', async (words, found) => {
    const { code, stdout, stderr } = await payrun.run(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(found);
  });
});
