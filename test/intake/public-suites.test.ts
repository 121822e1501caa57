import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import strings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import spectrum from 'csv-spectrum';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type CheckedFile, checkPayoutFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import type { Problem } from '../../src/intake/problems/problems.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { readCsv } from '../../src/intake/records.ts';
import { readCheckedRows } from '../../src/intake/row/rows.ts';
import { COLUMNS, type Column } from '../../src/intake/template/columns.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import type { Template } from '../../src/intake/template/template.ts';
import { formatAmount } from '../../src/money.ts';
import type { PayoutRow, RefusedRow } from '../../src/payout.ts';
import { reportCsv } from '../../src/report/csv.ts';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { payout, sourceOf as reportSource, textOf } from '../report/rows.ts';
import { FORMATS, soundCells, type Written } from './naughty-file.ts';
import { collect, sourceOf, UUID } from './payout-text.ts';

function templateOf(text: object): Template {
  const parsed = parseTemplate(JSON.stringify({ name: 'suite', ...text }));
  if (Array.isArray(parsed)) throw new Error(parsed.join('\n'));
  return parsed;
}

/** The cells of a CSV file, the header first, and the code and line of what stopped the reading. */
async function readTable(csv: Buffer): Promise<{ cells: (readonly string[])[]; stop: unknown }> {
  const cells: (readonly string[])[] = [];
  let stop: unknown;
  for await (const batch of readCsv(sourceOf(csv).chunks(), { ...DEFAULT_LIMITS, delimiter: ',' })) {
    cells.push(...batch.records.map((record) => record.cells));
    stop = batch.stop;
  }
  return { cells, stop };
}

/** A row begins behind the lines of all cells before it; the header has one. */
function linesOf(rows: readonly Record<string, string>[]): number[] {
  const heights = rows.map((row) => Object.values(row).join('').split('\n').length);
  return heights.map((_, at) => 2 + heights.slice(0, at).reduce((sum, height) => sum + height, 0));
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('what should be there is missing');
  return value;
}

describe('#101 csv-spectrum', async () => {
  const files = new Map((await promisify(spectrum)()).map((item) => [item.name, item]));
  const LETTERS = { reference: 'a', amount: 'b', payoutCategory: 'c' };
  /** What a template calls the columns of each file that RFC 4180 knows, and what is refused of it as a payout file. */
  const SUITE: readonly [name: string, columns: Partial<Record<Column, string>>, refused: [number, string][]][] = [
    [
      'comma_in_quotes',
      { reference: 'zip', amount: 'first', payoutCategory: 'address', payinCategory: 'city' },
      [[2, 'E_AMOUNT']],
    ],
    ['empty', LETTERS, [[2, 'E_AMOUNT']]],
    ['empty_crlf', LETTERS, [[2, 'E_AMOUNT']]],
    ['escaped_quotes', { reference: 'a', amount: 'b' }, [[2, 'E_AMOUNT']]],
    ['json', { reference: 'key', amount: 'val' }, [[2, 'E_AMOUNT']]],
    ['newlines', LETTERS, [[3, 'E_CONTROL']]],
    ['newlines_crlf', LETTERS, [[3, 'E_CONTROL']]],
    ['quotes_and_newlines', { reference: 'a', amount: 'b' }, [[2, 'E_CONTROL']]],
    ['simple', LETTERS, []],
    ['simple_crlf', LETTERS, []],
    ['utf8', LETTERS, []],
  ];
  /** Its quotes stand in cells without quotes; its JSON tells of other values, too. */
  const NO_CSV = 'location_coordinates';

  const rowsOf = z.array(z.record(z.string(), z.string()));
  function fileOf(name: string): { csv: Buffer; names: string[]; rows: Record<string, string>[] } {
    const { csv, json } = present(files.get(name));
    const rows = rowsOf.parse(JSON.parse(json.toString('utf8')));
    return { csv, rows, names: Object.keys(rows[0] ?? {}) };
  }

  test('is here as a whole', () => {
    expect([...files.keys()].toSorted()).toEqual([...SUITE.map(([name]) => name), NO_CSV].toSorted());
  });

  test.each(SUITE)('%s has the cells that the suite says', async (name) => {
    const { csv, names, rows } = fileOf(name);
    const { cells, stop } = await readTable(csv);
    expect([stop, ...cells]).toEqual([undefined, names, ...rows.map((row) => names.map((column) => row[column]))]);
  });

  test.each(SUITE)(
    '%s as a payout file has them in their columns, or is refused where it is none',
    async (...given) => {
      const [name, columns, refused] = given;
      const { csv, names, rows } = fileOf(name);
      const ignore = names.filter((column) => !Object.values(columns).includes(column));
      const fixed = { beneficiaryIdentityId: UUID, sourceCurrency: 'USD', destinationCurrency: 'MXN' };
      const template = templateOf({ columns, fixed, ignore });
      const sha256 = createHash('sha256').update(csv).digest('hex');
      const vouched = { template, expected: { rows: rows.length, totals: [], sha256 } };
      const checked = await checkPayoutSource(sourceOf(csv), vouched);
      expect(checked.problems.map(({ line, code }) => [line, code])).toEqual(refused);
      expect(checked).toMatchObject({ rows: rows.length, valid: rows.length - refused.length, fileRefused: false });

      const read = await collect(readCheckedRows(sourceOf(csv).chunks(), checked.reading));
      const mapped = read.map((row) => {
        const named = row.columns.map((column, at) => [columns[column] ?? '', row.cells[at]] as const);
        return Object.fromEntries(named.filter(([column]) => column !== ''));
      });
      expect(read.map(({ line }) => line)).toEqual(linesOf(rows));
      expect(mapped).toEqual(
        rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !ignore.includes(column)))),
      );
      for (const [at, { row }] of read.entries()) {
        if (row === null) continue;
        const { reference = '', amount = '', payoutCategory = '' } = columns;
        expect([row.reference, formatAmount(row.amount), row.payoutCategory]).toEqual([
          rows[at]?.[reference],
          `${rows[at]?.[amount]}.00`,
          rows[at]?.[payoutCategory] ?? null,
        ]);
      }

      const isWhole = csv.at(-1) === 0x0a;
      const alone = await checkPayoutSource(sourceOf(csv), { template });
      expect([alone.fileRefused, alone.problems.some(({ code }) => code === 'E_TRUNCATED')]).toEqual([
        !isWhole,
        !isWhole,
      ]);
    },
  );

  test(`${NO_CSV} is refused with its line and the reason`, async () => {
    const { csv } = present(files.get(NO_CSV));
    const { cells, stop } = await readTable(csv);
    expect(cells).toEqual([['Contact Phone Number', 'Location Coordinates', 'Cities', 'Counties']]);
    expect(stop).toMatchObject({ code: 'E_QUOTE', line: 2, facts: { found: expect.stringContaining('double quote') } });
  });
});

/** Whether a column takes a string of the list; null where its rule is free text. */
const TAKES: Readonly<Record<Column, ((text: string) => boolean) | null>> = {
  reference: (text) =>
    /^[A-Za-z0-9](?:[A-Za-z0-9 ._/#+:(),'-]{0,34}[A-Za-z0-9._/#+:(),'-])?$/.test(text) && !isMangled(text),
  beneficiaryIdentityId: () => false,
  originatorIdentityId: (text) => text === '',
  amount: (text) => /^[1-9][0-9]{0,7}(?:\.[0-9]{1,2})?$/.test(text),
  amountType: (text) => text === '',
  sourceCurrency: () => false,
  destinationCurrency: () => false,
  sourceCountry: (text) => text === '' || /^[A-Z]{2}$/.test(text),
  destinationCountry: (text) => text === '' || /^[A-Z]{2}$/.test(text),
  payoutCategory: null,
  payinCategory: null,
  purposeCode: (text) => text === '' || (/^[A-Za-z0-9_][A-Za-z0-9_-]{0,34}$/.test(text) && !isPlaceholder(text)),
  sourceOfCash: (text) => text === '',
};

/** What stands for nothing (bad-input case 97). */
function isPlaceholder(text: string): boolean {
  return /^(?:true|false|null|undefined|nan|n\/a|-+)$/i.test(text);
}

/** The same, or a number with an exponent (bad-input case 51). */
function isMangled(text: string): boolean {
  return isPlaceholder(text) || /^[0-9](?:[.,][0-9]+e[+-]|e\+)[0-9]+$/i.test(text);
}

/** A cell of the report that shows a text to people: nothing runs as a formula, and nothing is unseen (docs: the report). */
function shown(text: string): string {
  const seen = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
  return /^[\s\p{Cf}]*[=+\-@＝＋－＠﹦﹢﹣﹫]/u.test(text) ? `'${seen}` : seen;
}

type ReadRow = PayoutRow | RefusedRow;

/** What a row says in a column, as the file had it; null for an empty cell. */
function valueOf(row: ReadRow, column: Column): string | null {
  if ('cells' in row) return row.cells[column] || null;
  return column === 'amount' ? formatAmount(row.amount) : row[column];
}

/** What is to be read where a text was accepted; ids go by their small letters, amounts by their value. */
function acceptedValue(text: string, column: Column): string | null {
  if (text === '') return column === 'amountType' ? 'SOURCE_AMOUNT' : null;
  const [whole = '', cents = ''] = text.split('.');
  return column === 'amount' ? `${whole}.${cents.padEnd(2, '0')}` : text;
}

/** The report as our own reader of CSV has it (bad-input case 102), by the names of its columns. */
async function reportOn(
  rows: readonly ReadRow[],
): Promise<{ stop: unknown; lines: Map<string, string | undefined>[] }> {
  const entries = rows.map((row) => ('cells' in row ? row : payout(row.line, { row })));
  const report = await textOf(reportCsv(reportSource(entries)));
  const { cells, stop } = await readTable(Buffer.from(report));
  const [names = [], ...lines] = cells;
  return { stop, lines: lines.map((line) => new Map(names.map((name, at) => [name, line[at]]))) };
}

const SOUND_EVERY_ROWS = 5;
/** One row each; null is a row without any of the strings, between those that have them. */
const TEXTS = strings.flatMap((text, at) => (at % SOUND_EVERY_ROWS === 0 ? [null, text] : [text]));

describe('#85 every string of the big list of naughty strings', { timeout: 120_000 }, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'payrun-naughty-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const files = new Map<(typeof cases)[number], Promise<Naughty>>();
  const template = templateOf({ pain001: { creditorBy: 'creditorId' } });
  const cases = Object.entries(FORMATS).flatMap(([format, { fileName, columns, write }]) =>
    columns.map((column) => ({ format, column, fileName, write })),
  );

  interface Naughty extends Written {
    readonly column: Column;
    readonly checked: CheckedFile;
    readonly rows: readonly ReadRow[];
  }

  /** Each string in this column of a row of its own; the same file is handed in once. */
  function handedIn(one: (typeof cases)[number]): Promise<Naughty> {
    const handing = files.get(one) ?? handIn(one);
    files.set(one, handing);
    return handing;
  }

  async function handIn({ column, fileName, write }: (typeof cases)[number]): Promise<Naughty> {
    const cells = TEXTS.map((text, at) => ({
      ...soundCells(`row-${at}`, column),
      ...(text === null ? {} : { [column]: text }),
    }));
    const written = write(cells);
    const path = join(folder, `${column}-${fileName}`);
    writeFileSync(path, written.bytes);
    const checked = await checkPayoutFile(path, { template, limits: { problemsMax: 10 * strings.length } });
    return { ...written, column, checked, rows: await collect(readPayoutFile(path, checked)) };
  }

  /** What is found of each string, and what is due. */
  function verdictsOn({ column, checked, lines, rows }: Naughty): { found: object[]; due: object[] } {
    const byLine = new Map<number | null, Problem[]>();
    for (const problem of checked.problems) byLine.set(problem.line, [...(byLine.get(problem.line) ?? []), problem]);
    const found = TEXTS.flatMap((text, at) => (text === null ? [] : [{ text, at }])).map(({ text, at }) => {
      const row = present(rows[at]);
      const problems = byLine.get(lines[at] ?? 0) ?? [];
      return {
        text,
        // Two strings that differ only by what people overlook are refused for that.
        isTaken: problems.every(({ code }) => code === 'E_DUP_REF'),
        columns: problems.map((problem) => problem.column),
        code: 'cells' in row ? row.code : undefined,
        value: valueOf(row, column),
        first: problems[0],
      };
    });
    const due = found.map(({ text, isTaken, columns, first }) => ({
      text,
      isTaken: TAKES[column]?.(text) ?? isTaken,
      columns: columns.map(() => column),
      code: first?.code,
      value: first === undefined ? acceptedValue(text, column) : text || null,
      first,
    }));
    return { found, due };
  }

  test('is here', () => {
    expect(strings.length).toBeGreaterThan(400);
    expect(new Set(cases.map(({ column }) => column))).toEqual(new Set(COLUMNS));
  });

  test.each(cases)('as the $column in $format is refused there with a code, or taken exactly', async (one) => {
    const { found, due } = verdictsOn(await handedIn(one));
    expect(found).toHaveLength(strings.length);
    expect(found).toEqual(due);
  });

  test.each(cases)('as the $column in $format does nothing to other rows', async (one) => {
    const { lines, rows, checked } = await handedIn(one);
    expect(checked).toMatchObject({ fileRefused: false, rows: TEXTS.length });
    expect(checked.valid).toBe(rows.filter((row) => !('cells' in row)).length);
    expect(rows.map(({ line }) => line)).toEqual(lines);
    const places = TEXTS.flatMap((text, at) => (text === null ? [at] : []));
    const first = present(rows[0]);
    expect(places.map((at) => rows[at])).toEqual(
      places.map((at) => ({ ...first, line: lines[at], reference: `row-${at}` })),
    );
    expect(first).toMatchObject({ beneficiaryIdentityId: UUID, amount: { minor: 10_000n } });
  });

  test.each(cases.filter(({ column }) => REPORT_COLUMNS.some((name) => name === column)))(
    'as the $column in $format is shown exactly in the report, and runs in no spreadsheet',
    async (one) => {
      const { column, rows } = await handedIn(one);
      const { stop, lines } = await reportOn(rows);
      expect(stop).toBeUndefined();
      expect(lines.map((line) => [line.get('outcome'), line.get(column)])).toEqual(
        rows.map((row) => ['cells' in row ? 'refused' : 'waiting', shown(valueOf(row, column) ?? '')]),
      );
    },
  );
});
