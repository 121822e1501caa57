import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, parse as pathOf } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { parsed, payoutFile, runSchema, usePayrun } from '../cli/payrun.ts';
import { camtXml } from '../intake/camt-message.ts';
import { useTestRedis } from '../support/redis.ts';
import { cellsOf, HAS_LIBRE_OFFICE, readByLibreOffice } from './libre-office.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

/** All sheets, each a file; UTF-8; cells as they are shown, and formulas as formulas. */
const FILTER = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1';
const REFERENCES = ['000123', '1234567890123456789', '1.10', '2026-01-15', '3/4', '7 E5', 'INV_x0041_'];

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let runId: string;

beforeAll(async () => {
  const rows = REFERENCES.map((reference, at) => [reference, `${at + 1}.10`] as const);
  writeFileSync(join(payrun.dir, 'payouts.csv'), payoutFile([...rows, ['=1+1', '000123'], ['INV-8', '1.10']]));
  const { stdout, stderr } = await payrun.run(['run', 'payouts.csv', '--skip-invalid', '--json']);
  if (stdout === '') throw new Error(stderr);
  runId = parsed(runSchema, stdout).runId;
});

/** The sheets of a workbook by name, as LibreOffice shows their cells. */
function shownBy(workbook: string): Map<string, string[][]> {
  const profile = `-env:UserInstallation=file://${join(payrun.dir, 'office')}`;
  const words = [profile, '--headless', '--convert-to', FILTER, '--outdir', payrun.dir, join(payrun.dir, workbook)];
  const { status, stdout, stderr } = spawnSync('soffice', words, { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const names = [...stdout.matchAll(/-> (.+?\.csv)(?= using|$)/gm)].map(([, name = '']) => name);
  const sheets = names.map((name) => {
    const sheet = pathOf(name).name.slice(pathOf(workbook).name.length + 1);
    return [sheet, parse(readFileSync(name, 'utf8'), { relax_column_count: true })] as const;
  });
  return new Map(sheets);
}

describe.skipIf(!HAS_LIBRE_OFFICE)(
  `opened in LibreOffice${HAS_LIBRE_OFFICE ? '' : ' (which is not installed here)'}`,
  () => {
    test('a report has every row, key, amount and time of its CSV, and no formula', async () => {
      await payrun.run(['report', runId, '--format', 'xlsx', '--output', 'report.xlsx']);
      const { stdout } = await payrun.run(['report', runId]);
      const rows: string[][] = parse(stdout);
      expect(rows).toHaveLength(REFERENCES.length + 3);
      const sheets = shownBy('report.xlsx');
      expect([...sheets.keys()]).toEqual(['Summary', 'Rows', 'Problems']);
      // In CSV a text that a spreadsheet would run begins with '; in a workbook it is text.
      expect(sheets.get('Rows')).toEqual(rows.map((cells) => cells.map((cell) => cell.replace(/^'(?==)/, ''))));
      expect(sheets.get('Summary')?.[0]?.slice(0, 2)).toEqual(['does it tie?', 'yes']);
    });

    test('a retry file has the cells of its CSV', async () => {
      writeFileSync(
        join(payrun.dir, 'more.csv'),
        payoutFile(REFERENCES.map((name) => [`${name} b`, '1000000.10'] as const)),
      );
      const { stdout } = await payrun.run(['submit', 'more.csv', '--sandbox', '--json']);
      const { runId: cancelled } = parsed(runSchema, stdout);
      await payrun.run(['cancel', cancelled]);
      const wrote = await payrun.run(['retry-file', cancelled, '--format', 'xlsx', '--output', 'again.xlsx']);
      expect(wrote.stderr).toContain(`${REFERENCES.length} rows may be sent again`);
      const csv = await payrun.run(['retry-file', cancelled]);
      expect(shownBy('again.xlsx').get('Payouts')).toEqual(parse(csv.stdout));
    });

    test('the report of a period has every line, name, count, amount and rate of its CSV', async () => {
      const period = ['report', '--from', '2020-01-01', '--to', '2099-12-31'];
      await payrun.run([...period, '--format', 'xlsx', '--output', 'period.xlsx']);
      const [head, ...lines]: string[][] = parse((await payrun.run(period)).stdout);
      const [summary, ...tables] = [...shownBy('period.xlsx').values()];
      expect(summary?.[0]?.slice(0, 2)).toEqual(['does it tie?', 'yes']);
      expect(tables.map((rows) => rows[0])).toEqual(tables.map(() => head));
      expect(tables.flatMap((rows) => rows.slice(1))).toEqual(lines);
    });

    test('every CSV of a command has the cells that payrun wrote, as many rows, and no formula', async () => {
      const out = async (...words: string[]): Promise<string> => (await payrun.run(words)).stdout;
      const file = async (name: string, ...words: string[]): Promise<string> => {
        await payrun.run([...words, name]);
        return readFileSync(join(payrun.dir, name), 'utf8');
      };
      const rows = REFERENCES.map((reference) => [`${reference} d`, '2.10'] as const);
      writeFileSync(join(payrun.dir, 'csv.csv'), payoutFile(rows));
      const { runId: cancelled } = parsed(runSchema, await out('submit', 'csv.csv', '--sandbox', '--json'));
      await payrun.run(['cancel', cancelled]);
      writeFileSync(
        join(payrun.dir, 'bank.xml'),
        camtXml([{ amount: '9.99', currency: 'USD', transactions: [{ reference: '=1+1', id: '000123' }] }]),
      );
      await redis.redis.hincrby(`{payrun}:run:${runId}`, 'changes', 1);
      await payrun.run(['run', 'payouts.csv', '--skip-invalid']);
      const texts = new Map([
        ['report', await out('report', runId)],
        ['retry', await out('retry-file', cancelled)],
        ['period', await out('report', '--from', '2020-01-01', '--to', '2099-12-31')],
        ['problems', await file('told.csv', 'validate', 'payouts.csv', '--problems')],
        ['reconcile', await out('reconcile', runId, '--statement', 'bank.xml', '--format', 'csv')],
        ['changes', await out('report', runId, '--changes-since', '1')],
        ['read-back', await out('report', cancelled, '--verify-with-service')],
      ]);
      for (const [name, { asText, asRun }] of readByLibreOffice(texts)) {
        const written = cellsOf(texts.get(name) ?? '');
        expect({ name, rows: written.length > 0, cells: asText }).toEqual({ name, rows: true, cells: written });
        expect({ name, rows: asRun.length, formulas: asRun.flat().filter((cell) => cell.startsWith('=')) }).toEqual({
          name,
          rows: written.length,
          formulas: [],
        });
      }
    });

    test('the problems of a file are told, a line each', async () => {
      await payrun.run(['validate', 'payouts.csv', '--problems', 'problems.xlsx']);
      await payrun.run(['validate', 'payouts.csv', '--problems', 'problems.csv']);
      const csv: string[][] = parse(readFileSync(join(payrun.dir, 'problems.csv'), 'utf8'));
      const rows = csv.map((cells) => cells.map((cell) => cell.replace(/^'(?==)/, '')));
      expect(rows.length).toBeGreaterThan(2);
      expect(shownBy('problems.xlsx').get('Problems')).toEqual(rows);
    });
  },
);

test('a retry file that is a workbook is taken as its CSV is', async () => {
  writeFileSync(join(payrun.dir, 'less.csv'), payoutFile(REFERENCES.map((name) => [`${name} c`, '9.50'] as const)));
  const { stdout } = await payrun.run(['submit', 'less.csv', '--sandbox', '--json']);
  const { runId: cancelled } = parsed(runSchema, stdout);
  await payrun.run(['cancel', cancelled]);
  await payrun.run(['retry-file', cancelled, '--format', 'xlsx', '--output', 'less.xlsx']);
  const checked = await payrun.run(['validate', 'less.xlsx', '--json']);
  expect(JSON.parse(checked.stdout)).toMatchObject({
    rows: REFERENCES.length,
    valid: REFERENCES.length,
    totals: [{ currency: 'USD', file: '66.50' }],
    problems: [],
  });
});

test('with --bom a CSV begins with a byte order mark, and is else the same', async () => {
  const [plain, marked] = await Promise.all([payrun.run(['report', runId]), payrun.run(['report', runId, '--bom'])]);
  expect(marked.stdout).toBe(`\uFEFF${plain.stdout}`);
  const refused = await payrun.run(['report', runId, '--format', 'json', '--bom']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
});
