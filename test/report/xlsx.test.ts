import { inflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { reportXlsx } from '../../src/report/xlsx/report-xlsx.ts';
import { workbookBytes } from '../../src/report/xlsx/workbook.ts';
import { payment, payout, type Row, refused, runOf, sourceOf, usd } from './rows.ts';
import { bytesOf, sheetsOf } from './workbook.ts';

const REFERENCES = [
  '000123',
  '1234567890123456789',
  '1.10',
  '=1+1',
  '-2',
  'AMT_x0041_',
  '1E5',
  '2026-01-15',
  ' x ',
  '<&>"',
];

function referenced(row: Row, reference: string): Row {
  return 'row' in row ? { ...row, row: { ...row.row, reference } } : row;
}

const ROWS: Row[] = [
  ...REFERENCES.map((reference, at) => referenced(payment(at + 2, 'completed'), reference)),
  payment(20, 'failed', { reasonCode: 'AC04', reason: '@SUM(1)', sourceAmount: usd(110n), rate: '17.10' }),
  payout(21, { state: 'held', reason: 'a\u0000b\uFFFFc' }),
  refused(22, { cells: { reference: '=cmd', amount: '000123' } }),
];

function column(sheet: readonly unknown[][] | undefined, name: (typeof REPORT_COLUMNS)[number]): unknown[] {
  return (sheet ?? []).slice(1).map((row) => row[REPORT_COLUMNS.indexOf(name)]);
}

describe('the report as a workbook', () => {
  test('shows the summary first, then every row and once more those that were not paid', async () => {
    const sheets = await sheetsOf(await bytesOf(reportXlsx(sourceOf(ROWS))));
    expect([...sheets.keys()]).toEqual(['Summary', 'Rows', 'Problems']);
    expect(sheets.get('Rows')?.[0]).toEqual([...REPORT_COLUMNS]);
    expect(sheets.get('Rows')).toHaveLength(ROWS.length + 1);
    expect(column(sheets.get('Problems'), 'line')).toEqual([20, 21, 22]);
    expect(sheets.get('Summary')?.[0]).toEqual(['does it tie?', 'yes']);
  });

  test('keeps references as text, as they were, whatever they look like', async () => {
    const sheets = await sheetsOf(await bytesOf(reportXlsx(sourceOf(ROWS))));
    expect(column(sheets.get('Rows'), 'reference').slice(0, REFERENCES.length)).toEqual(REFERENCES);
  });

  test('has numbers for amounts and real times, and text for all that a refused row said', async () => {
    const rows = (await sheetsOf(await bytesOf(reportXlsx(sourceOf(ROWS))))).get('Rows');
    expect(column(rows, 'sourceAmount')[10]).toBe(1.1);
    expect(column(rows, 'line')[0]).toBe(2);
    expect(column(rows, 'sentAt')[0]).toEqual(new Date('2026-01-15T09:30:01.250Z'));
    expect(column(rows, 'amount').at(-1)).toBe('000123');
    expect(column(rows, 'reason').at(11)).toBe('a\\u0000b\uFFFDc');
  });

  test('has no formula in any part', async () => {
    const bytes = await bytesOf(reportXlsx(sourceOf(ROWS)));
    const parts = partsOf(bytes);
    expect(parts.size).toBe(8);
    for (const text of parts.values()) expect(text).not.toMatch(/<f[ >/]/);
  });

  test('says in its summary, and nowhere else, that it does not tie', async () => {
    const run = runOf(ROWS.slice(1));
    const sheets = await sheetsOf(await bytesOf(reportXlsx(sourceOf(ROWS, { run }))));
    expect(sheets.get('Summary')?.[0]?.[1]).toMatch(/^NO/);
    expect(String(sheets.get('Summary')?.[1]?.[1])).toMatch(/^rows: the file has 12, the ledger gave 13/);
  });

  test('adds up to the file in its summary', async () => {
    const summary = (await sheetsOf(await bytesOf(reportXlsx(sourceOf(ROWS))))).get('Summary') ?? [];
    const at = (label: string) => summary.find(([first]) => first === label);
    expect(at('paid')).toEqual(['paid', 10, 1005]);
    expect(at('sum')).toEqual(['sum', 13, 1206]);
    expect(at('in the file')).toEqual(['in the file', 13, 1206]);
  });
});

async function* fiveRows() {
  yield [['1'], ['2'], ['3']];
  yield [];
  yield [['4'], ['5']];
}

async function* brokenRows() {
  yield [['1']];
  throw new Error('the ledger is gone');
}

describe('a workbook', () => {
  test('keeps a number that has more digits than a spreadsheet keeps as text', async () => {
    const decimals = [
      '0.10',
      '-1.5',
      '999999999999999',
      '1234567890123456',
      '0.000000000000000001',
      '1000000000000000.0',
    ];
    async function* rows() {
      yield decimals.map((decimal) => [{ decimal }]);
    }
    const bytes = await bytesOf(workbookBytes([{ name: 'A', widths: [9], rows: rows() }], { createdAt: 0 }));
    const cells = (await sheetsOf(bytes)).get('A')?.map(([cell]) => cell);
    expect(cells).toEqual([0.1, -1.5, 999_999_999_999_999, decimals[3], decimals[4], decimals[5]]);
  });

  test('goes on in another sheet where one is full, with the names of its columns', async () => {
    const sheet = { name: 'Rows', head: ['n'], widths: [9], rows: fiveRows() };
    const sheets = await sheetsOf(await bytesOf(workbookBytes([sheet], { createdAt: 0, rowsMax: 3 })));
    expect([...sheets]).toEqual([
      ['Rows', [['n'], ['1'], ['2']]],
      ['Rows 2', [['n'], ['3'], ['4']]],
      ['Rows 3', [['n'], ['5']]],
    ]);
  });

  test('fails with what its rows fail with', async () => {
    const making = bytesOf(workbookBytes([{ name: 'A', widths: [9], rows: brokenRows() }], { createdAt: 0 }));
    await expect(making).rejects.toThrow('the ledger is gone');
  });

  test('has the same bytes for the same rows and time', async () => {
    const [one, other] = await Promise.all([bytesOf(reportXlsx(sourceOf(ROWS))), bytesOf(reportXlsx(sourceOf(ROWS)))]);
    expect(one.equals(other)).toBe(true);
  });
});

/** The parts of a ZIP archive by its directory at the end. */
function partsOf(zip: Buffer): Map<string, string> {
  const end = zip.lastIndexOf('PK\u0005\u0006');
  const found = new Map<string, string>();
  for (let at = zip.readUInt32LE(end + 16); at < end; ) {
    const lengths = [28, 30, 32].map((from) => zip.readUInt16LE(at + from));
    const name = zip.toString('utf8', at + 46, at + 46 + (lengths[0] ?? 0));
    const local = zip.readUInt32LE(at + 42);
    const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    found.set(name, inflateRawSync(zip.subarray(from, from + zip.readUInt32LE(at + 20))).toString('utf8'));
    at += 46 + lengths.reduce((sum, length) => sum + length, 0);
  }
  return found;
}
