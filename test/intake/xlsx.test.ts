import * as fc from 'fast-check';
import { writeXlsx, writeXlsxStream } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutSource, type IntakeOptions } from '../../src/intake/check-file.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { lettersOf } from '../../src/intake/xlsx/sheet.ts';
import { packedBlanks } from '../hostile/bombs.ts';
import { type Cells, check, file, HEADER, line, sourceOf, UUID } from './payout-text.ts';
import {
  type PartFlaws,
  partsOf,
  rowXml,
  type SheetXml,
  type WorkbookXml,
  workbookOf,
  zipOf,
} from './workbook-file.ts';

const NAMES = HEADER.split(',');
const cellsOf = (text: string): string[] => text.split(',');
const first = cellsOf(line({ reference: 'INV-1' }));
const REFERENCE = NAMES.indexOf('reference');
const AMOUNT = NAMES.indexOf('amount');
const MEMO = NAMES.indexOf('payoutCategory');

function checkWorkbook(bytes: Buffer | Uint8Array, options: IntakeOptions = {}): Promise<CheckedFile> {
  return checkPayoutSource({ ...sourceOf(Buffer.from(bytes), 1000), name: 'test.xlsx' }, options);
}

const codesOf = ({ problems }: CheckedFile): [string, number | null, string | null][] =>
  problems.map(({ code, line: at, column }) => [code, at, column]);

/** What is said of a number in this format as the amount. */
async function toldOf(number: string, format: string): Promise<string | undefined> {
  return (await checkWorkbook(withAmount(number, format))).problems[0]?.message;
}

/** A sheet with a header and these rows below it. */
function sheet(...rows: string[][]): SheetXml {
  return { rows: [NAMES, ...rows].map((cells, at) => rowXml(at + 1, cells)).join('') };
}

/** One row with a number in this format as its amount. */
function withAmount(number: string, format: string | number, cells: Cells = {}): Buffer {
  const row = cellsOf(line({ reference: 'INV-1', ...cells })).with(AMOUNT, `<c s="1"><v>${number}</v></c>`);
  return workbookOf({ sheets: [sheet(row)], formats: [format] });
}

/** One row with one cell given as XML. */
function withCell(at: number, xml: string, more: Partial<WorkbookXml> = {}): Buffer {
  return workbookOf({ sheets: [sheet(first.with(at, xml))], ...more });
}

describe('a workbook', () => {
  const texts = [
    line({ reference: 'INV-1' }),
    line({ reference: 'INV-2', amount: '1.5', payoutCategory: 'Zoë & <Ω>' }),
  ];

  test('is read as the CSV file with the same cells is', async () => {
    const workbook = workbookOf({ sheets: [sheet(...texts.map(cellsOf))] });
    const [checked, csv] = [await checkWorkbook(workbook), await check(file(...texts))];
    expect(checked).toMatchObject({ rows: 2, valid: 2, problems: [], totals: csv.totals });
    expect(checked.contentHash).toBe(csv.contentHash);
  });

  test.each([
    ['with a table of texts', (rows: string[][]) => writeXlsx({ sheets: [{ name: 'P', rows }] })],
    [
      'with texts in the cells',
      (rows: string[][]) => writeXlsx({ sheets: [{ name: 'P', rows }], stringMode: 'inline' }),
    ],
    [
      'by a stream, sizes behind the parts',
      async (rows: string[][]) => Buffer.from(await new Response(writeXlsxStream(rows, { name: 'P' })).arrayBuffer()),
    ],
  ])('written by another program %s is read exactly', async (_how, write) => {
    const checked = await checkWorkbook(await write([NAMES, ...texts.map(cellsOf)]));
    expect(codesOf(checked)).toEqual([]);
    expect(checked.contentHash).toBe((await check(file(...texts))).contentHash);
  });

  test('has any text in its cells exactly', async () => {
    const cell = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
      .filter((text) => !/[\p{C}\uFFFE\uFFFF]/u.test(text));
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 5 }), async (values) => {
        const rows = values.map((payoutCategory, at) =>
          cellsOf(line({ reference: `R-${at}` })).with(MEMO, payoutCategory),
        );
        const checked = await checkWorkbook(await writeXlsx({ sheets: [{ name: 'P', rows: [NAMES, ...rows] }] }));
        const quoted = rows.map((cells) => cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(','));
        const csv = await check(file(...quoted));
        expect(codesOf(checked)).toEqual(codesOf(csv));
        expect(checked.contentHash).toBe(csv.contentHash);
      }),
      { numRuns: 40 },
    );
  });

  test('has numbers by their shortest text', async () => {
    const numbers: readonly [xml: string, minor: bigint | string][] = [
      ['100', 10_000n],
      ['4.3499999999999996', 435n],
      ['1234.56', 123_456n],
      ['1.5E3', 150_000n],
      ['99999999.989999995', 9_999_999_999n],
      ['1E-2', 'E_AMOUNT_RANGE'],
      ['100.005', 'E_AMOUNT_SCALE'],
      ['-5', 'E_AMOUNT'],
      ['0.30000000000000004', 'E_PRECISION'],
      ['100.12345678901234', 'E_PRECISION'],
      ['1234567890123456789', 'E_PRECISION'],
      ['12.3400000000000000000001', 'E_PRECISION'],
      ['1E400', 'E_PRECISION'],
    ];
    for (const [number, expected] of numbers) {
      const checked = await checkWorkbook(withCell(AMOUNT, `<c><v>${number}</v></c>`));
      expect([number, checked.totals[0]?.minor ?? checked.problems[0]?.code]).toEqual([number, expected]);
    }
  });

  test('has no number in the place of a reference whose last digits a spreadsheet has turned into zeros', async () => {
    const numbers: readonly [xml: string, code: string | undefined][] = [
      ['123456789012345', undefined],
      ['1234567890123450', 'E_PRECISION'],
      ['1234567890123460000', 'E_PRECISION'],
      ['1.23456789012346E+18', 'E_PRECISION'],
      ['1E+15', 'E_PRECISION'],
    ];
    for (const [number, expected] of numbers) {
      const { problems } = await checkWorkbook(withCell(REFERENCE, `<c><v>${number}</v></c>`));
      expect([number, problems[0]?.code]).toEqual([number, expected]);
    }
  });

  test('any amount up to 13 digits that a program writes as a number is that amount', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 100, max: 10_000_000_000 }), { minLength: 1, maxLength: 10 }),
        async (minors) => {
          const rows = minors.map((minor, at) => [`R-${at}`, UUID, minor / 100, 'USD', 'MXN']);
          const written = await writeXlsx({ sheets: [{ name: 'P', rows: [NAMES.slice(0, 5), ...rows] }] });
          const { totals, problems } = await checkWorkbook(written);
          expect(problems).toEqual([]);
          expect(totals).toEqual([{ currency: 'USD', minor: minors.reduce((sum, minor) => sum + BigInt(minor), 0n) }]);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('has its numbers in the marks of the template', async () => {
    const template = parseTemplate('{"name": "t", "decimalMark": ","}');
    if (Array.isArray(template)) throw new Error(template.join());
    const both = workbookOf({
      sheets: [
        sheet(first.with(AMOUNT, '<c><v>1234.56</v></c>'), cellsOf(line({ reference: 'INV-2' })).with(AMOUNT, '7,50')),
      ],
    });
    expect(await checkWorkbook(both, { template })).toMatchObject({ problems: [], totals: [{ minor: 124_206n }] });
    expect(codesOf(await checkWorkbook(both))).toEqual([['E_AMOUNT', 3, 'amount']]);
  });

  test.each<[string, string, string]>([
    ['a formula', '<c><f>B2*2</f><v>100</v></c>', 'E_FORMULA'],
    ['a shared formula', '<c><f t="shared" si="0"/><v>100</v></c>', 'E_FORMULA'],
    ['a formula that gives a text', '<c t="str"><f>A1</f><v>100</v></c>', 'E_FORMULA'],
    ['a date by a built-in format', '<c s="1"><v>45306</v></c>', 'E_DATE'],
    ['a date by a format of its own', '<c s="2"><v>45306</v></c>', 'E_DATE'],
    ['a date in ISO 8601', '<c t="d"><v>2026-01-15</v></c>', 'E_DATE'],
    ['a number that is shown with zeros at its head', '<c s="3"><v>100</v></c>', 'E_NUMBER_FORMAT'],
    ['a number that is shown as percent', '<c s="4"><v>100</v></c>', 'E_NUMBER_FORMAT'],
    ['an error', '<c t="e"><v>#DIV/0!</v></c>', 'E_EXCEL_ERROR'],
    ['a truth value', '<c t="b"><v>1</v></c>', 'E_PLACEHOLDER'],
    ['a text with a line end', '<c t="inlineStr"><is><t>1&#10;2</t></is></c>', 'E_CONTROL'],
    ['a text with a blank', '<c t="inlineStr"><is><t xml:space="preserve"> 100</t></is></c>', 'E_SPACE'],
    ['a text with an escaped character', '<c t="inlineStr"><is><t>100_x000D_</t></is></c>', 'E_CONTROL'],
  ])('with %s where a value belongs has that row refused', async (_what, xml, code) => {
    const checked = await checkWorkbook(withCell(AMOUNT, xml, { formats: [14, 'dd.mm.yyyy', '00000', 9] }));
    expect(codesOf(checked)).toEqual([[code, 2, 'amount']]);
    expect(checked.fileRefused).toBe(false);
  });

  test.each<[what: string, number: string, format: string | number, cells?: Cells]>([
    ['is rounded', '100.49', '0'],
    ['is rounded up', '100.50', '#,##0'],
    ['is rounded to one digit', '1.25', '0.0'],
    ['is rounded by a built-in format', '100.49', 3],
    ['is shown as a fraction', '1.5', '# ?/?'],
    ['is shown as a fraction by a built-in format', '1.5', 12],
    ['leaves out thousands', '5000', '0,'],
    ['leaves out thousands, and says so', '5000', '0.0,"K"'],
    ['is shown as percent', '5', '0.00%'],
    ['loses digits to an exponent', '1234.56', '0.00E+00'],
    ['has more digits than a cell without a format shows', '12345678.125', 'General', { sourceCurrency: 'KWD' }],
    ['is not shown at all', '100', ';;;'],
    ['is shown in another currency', '100', '[$€-407] #,##0.00'],
    ['is shown in another currency by its code', '100', '#,##0.00 [$EUR]'],
    ['is shown in dollars where it is in euros', '100', '[$$-409]#,##0.00', { sourceCurrency: 'EUR' }],
    ['is shown in the currency that is to arrive', '100', '[$MXN] 0.00'],
    [
      'is shown in the currency that leaves where it is to arrive',
      '100',
      '[$USD] 0.00',
      { amountType: 'DESTINATION_AMOUNT' },
    ],
    ['is said to be thousands', '100', '0" k"'],
    ['is said to be negative', '100', '-0'],
  ])('with an amount that %s has that row refused', async (_what, ...amount) => {
    const checked = await checkWorkbook(withAmount(...amount));
    expect(codesOf(checked)).toEqual([['E_NUMBER_FORMAT', 2, 'amount']]);
    expect(checked).toMatchObject({ valid: 0, fileRefused: false, totals: [] });
  });

  test.each<[format: string | number, number: string, cells?: Cells]>([
    [0, '1234.56'],
    [1, '100'],
    [2, '1234.56'],
    [3, '1234567'],
    [4, '1234.5'],
    [44, '1234.56'],
    [49, '1234.56'],
    ['0.000', '1.25'],
    ['#,##0.00_ ;[Red]-#,##0.00 ', '1234.56'],
    ['_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', '1234.56', { sourceCurrency: 'EUR' }],
    ['[$€-407] #,##0.00', '1234.56', { sourceCurrency: 'EUR' }],
    ['"$"#,##0.00', '1234.56'],
    ['[$$-409]#,##0.00', '1234.56', { sourceCurrency: 'CAD' }],
    ['[$$-80A]#,##0.00', '1234.56', { amountType: 'DESTINATION_AMOUNT' }],
    ['[$¥-411]#,##0', '1234', { sourceCurrency: 'JPY' }],
    ['[$BHD] 0.000', '1234.567', { sourceCurrency: 'BHD' }],
  ])('takes an amount in the format %j', async (format, number, cells = {}) => {
    const checked = await checkWorkbook(withAmount(number, format, cells));
    expect(checked.problems).toEqual([]);
    const csv = await check(file(line({ reference: 'INV-1', ...cells, amount: number })));
    expect(checked.contentHash).toBe(csv.contentHash);
  });

  test('tells what the format shows, and nothing that a terminal would act on', async () => {
    expect(await toldOf('100.49', '0')).toBe('The cell shows something other than its value: its format makes it 100.');
    expect(await toldOf('1.5', '# ?/?')).toBe(
      'The cell shows something other than its value: its format makes no plain number of it.',
    );
    expect(await toldOf('100', '[$€-407]0')).toBe(
      'The cell shows something other than its value: "€" stands beside the amount, which is no sign of its currency.',
    );
    expect(await toldOf('100', '0"\u202Ek"')).toContain('"k"');
    expect(await toldOf('100', '0"\uE000"')).toContain('"\\u{e000}"');
  });

  test('a currency beside a number that is no amount means nothing', async () => {
    const checked = await checkWorkbook(withCell(0, '<c s="1"><v>4711</v></c>', { formats: ['"No" 0 [$€-407]'] }));
    expect(codesOf(checked)).toEqual([]);
  });

  test('a number that is rounded in any column has that row refused', async () => {
    const checked = await checkWorkbook(withCell(0, '<c s="1"><v>4711.5</v></c>', { formats: ['0'] }));
    expect(codesOf(checked)).toEqual([['E_NUMBER_FORMAT', 2, 'reference']]);
  });

  test.each([
    [';;;', 'nothing'],
    ['0;-0;0;@"00"', 'other digits'],
  ])('a text in the format %j, of which %s is seen, has that row refused', async (format) => {
    const text = '<c s="1" t="inlineStr"><is><t>100.00</t></is></c>';
    const checked = await checkWorkbook(withCell(AMOUNT, text, { formats: [format] }));
    expect(codesOf(checked)).toEqual([['E_NUMBER_FORMAT', 2, 'amount']]);
  });

  test.each(['array', 'dataTable'])(
    'whose cells are the results of one formula of kind %s has each of those rows refused',
    async (kind) => {
      const amounts = [
        `<c><f t="${kind}" ref="C2:C3">D2:D3*2</f><v>100</v></c>`,
        '<c><v>200</v></c>',
        '<c><v>300</v></c>',
      ];
      const rows = amounts.map((xml, at) => cellsOf(line({ reference: `INV-${at}` })).with(AMOUNT, xml));
      const checked = await checkWorkbook(workbookOf({ sheets: [sheet(...rows)] }));
      expect(NAMES[2]).toBe('amount');
      expect(codesOf(checked)).toEqual([
        ['E_FORMULA', 2, 'amount'],
        ['E_FORMULA', 3, 'amount'],
      ]);
      expect(checked.valid).toBe(1);
    },
  );

  test('joins the runs of a text, and leaves the readings of words out', async () => {
    const runs =
      '<si><t>x</t></si><si><r><t>BA</t></r><r><rPr><b/></rPr><t>NK</t></r><rPh sb="0" eb="1"><t>no</t></rPh></si>';
    const checked = await checkWorkbook(withCell(MEMO, '<c t="s"><v>1</v></c>', { texts: runs }));
    expect(checked.contentHash).toBe(
      (await check(file(line({ reference: 'INV-1', payoutCategory: 'BANK' })))).contentHash,
    );
  });

  test.each<[string, SheetXml, [string, number]]>([
    ['a hidden row', { rows: sheet().rows + rowXml(2, first, 'hidden="1"') }, ['E_HIDDEN', 2]],
    ['a row of no height', { rows: sheet().rows + rowXml(2, first, 'ht="0" customHeight="1"') }, ['E_HIDDEN', 2]],
    ['a row that is too low to be seen', { rows: sheet().rows + rowXml(2, first, 'ht="0.1"') }, ['E_HIDDEN', 2]],
    [
      'rows that are hidden unless they say otherwise',
      { ...sheet(first), before: '<sheetFormatPr defaultRowHeight="15" zeroHeight="1"/>' },
      ['E_HIDDEN', 1],
    ],
    [
      'a column that is too narrow to be seen',
      { ...sheet(first), before: '<cols><col min="2" max="3" width="0.01"/></cols>' },
      ['E_HIDDEN', 1],
    ],
    ['a hidden column', { ...sheet(first), before: '<cols><col min="2" max="3" hidden="1"/></cols>' }, ['E_HIDDEN', 1]],
    ['merged cells', { ...sheet(first), after: '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>' }, ['E_MERGED', 2]],
    ['a blank row in the middle', { rows: sheet().rows + rowXml(3, first) }, ['E_BLANK_ROW', 2]],
    ['a blank row above the header', { rows: rowXml(2, NAMES) + rowXml(3, first) }, ['E_HEADER', 1]],
    ['a cell beyond the header', sheet([...first, 'x']), ['E_COLUMNS', 2]],
    [
      'a formula for a column name',
      { rows: rowXml(1, NAMES.with(2, '<c><f>A1</f><v>amount</v></c>')) + rowXml(2, first) },
      ['E_HEADER', 1],
    ],
  ])('with %s is refused as a whole', async (_what, xml, [code, at]) => {
    const checked = await checkWorkbook(workbookOf({ sheets: [xml] }));
    expect(checked.fileRefused).toBe(true);
    expect(codesOf(checked)[0]?.slice(0, 2)).toEqual([code, at]);
  });

  test('may have rows without values at its end, a hidden column without any, and cells that are only coloured', async () => {
    const empty =
      rowXml(
        3,
        first.map(() => '<c s="0"/>'),
      ) + rowXml(9, [], 'hidden="1"');
    const xml = { rows: sheet(first).rows + empty, before: '<cols><col min="20" max="90" hidden="1"/></cols>' };
    const checked = await checkWorkbook(workbookOf({ sheets: [xml] }));
    expect(checked).toMatchObject({ rows: 1, valid: 1, problems: [], fileRefused: false });
    expect(checked.warnings).toMatchObject([{ code: 'W_ROWS_IGNORED' }]);
  });

  test('tells each cell by its place, whether places are written or not', async () => {
    const row = first.with(MEMO, 'BANK');
    const places = / r="[A-Z]?\d+"/g;
    const gap = await checkWorkbook(workbookOf({ sheets: [{ rows: sheet(row).rows.replaceAll(places, '') }] }));
    expect(codesOf(gap)).toEqual([['E_ORIGINATOR', 2, 'originatorIdentityId']]);
    const filled = sheet(row.map((cell) => cell || '<c/>')).rows.replaceAll(places, '');
    expect(codesOf(await checkWorkbook(workbookOf({ sheets: [{ rows: filled }] })))).toEqual([]);
  });
});

const named = (name: string, more: Partial<SheetXml> = {}): SheetXml => ({ ...sheet(first), name, ...more });

describe('the sheet with the payouts', () => {
  const none: SheetXml = { name: 'None', rows: '<row r="1"><c r="A1" s="0"/></row>' };
  test('is the only one with values', async () => {
    expect(codesOf(await checkWorkbook(workbookOf({ sheets: [none, named('Pay'), none] })))).toEqual([]);
    const { problems } = await checkWorkbook(workbookOf({ sheets: [named('A'), none, named('B')] }));
    expect(problems).toMatchObject([{ code: 'E_SHEET', message: expect.stringContaining('"A", "B"') }]);
    expect(codesOf(await checkWorkbook(workbookOf({ sheets: [none] })))).toEqual([['E_EMPTY', null, null]]);
  });

  test('is not one that nobody sees', async () => {
    for (const state of ['hidden', 'veryHidden']) {
      expect(codesOf(await checkWorkbook(workbookOf({ sheets: [named('A', { state })] })))).toEqual([
        ['E_SHEET', null, null],
      ]);
    }
  });

  test('is the one that the template names', async () => {
    const template = parseTemplate('{"name": "t", "sheet": "B"}');
    if (Array.isArray(template)) throw new Error(template.join());
    const read = (sheets: SheetXml[]) => checkWorkbook(workbookOf({ sheets }), { template });
    expect(codesOf(await read([named('A'), named('B')]))).toEqual([]);
    expect(codesOf(await read([named('A')]))).toEqual([['E_SHEET', null, null]]);
  });
});

describe('what is no workbook', () => {
  const parts = partsOf({ sheets: [sheet(first)] });
  const PART = 'xl/worksheets/sheet1.xml';

  test.each<[string, Buffer, string]>([
    ['text', Buffer.from(file(line({ reference: 'INV-1' }))), 'E_TYPE'],
    ['nothing', Buffer.alloc(0), 'E_TYPE'],
    ['another archive', zipOf({ 'a.csv': 'x' }), 'E_WORKBOOK'],
    ['half a workbook', zipOf(parts).subarray(0, 900), 'E_WORKBOOK'],
    ['a workbook with bytes behind it', Buffer.concat([zipOf(parts), Buffer.from('x')]), 'E_WORKBOOK'],
    [
      'a workbook without its sheet',
      zipOf(Object.fromEntries(Object.entries(parts).filter(([name]) => name !== PART))),
      'E_WORKBOOK',
    ],
    [
      'a document with a document type',
      zipOf({ ...parts, [PART]: `<!DOCTYPE x [<!ENTITY a "b">]>${parts[PART]?.split('\n')[1]}` }),
      'E_WORKBOOK',
    ],
    [
      'a document with an entity',
      zipOf({ ...parts, [PART]: parts[PART]?.replace('INV-1', '&nbsp;') ?? '' }),
      'E_WORKBOOK',
    ],
    [
      'a document that is not closed',
      zipOf({ ...parts, [PART]: parts[PART]?.replace('</worksheet>', '') ?? '' }),
      'E_WORKBOOK',
    ],
    [
      'a document that is not UTF-8',
      zipOf({ ...parts, [PART]: Buffer.from(parts[PART]?.replace('INV-1', 'é') ?? '', 'latin1') }),
      'E_WORKBOOK',
    ],
    ['a document in UTF-16', zipOf({ ...parts, [PART]: Buffer.from(`\uFEFF${parts[PART]}`, 'utf16le') }), 'E_WORKBOOK'],
    ['a cell twice', zipOf({ ...parts, [PART]: parts[PART]?.replaceAll('r="B', 'r="A') ?? '' }), 'E_WORKBOOK'],
    ['a row twice', workbookOf({ sheets: [{ rows: rowXml(1, NAMES) + rowXml(1, first) }] }), 'E_WORKBOOK'],
    [
      'a cell of another row',
      zipOf({ ...parts, [PART]: parts[PART]?.replace('r="A2"', 'r="A3"') ?? '' }),
      'E_WORKBOOK',
    ],
    ['a cell with a text that is not there', withCell(AMOUNT, '<c t="s"><v>7</v></c>'), 'E_WORKBOOK'],
    ['a cell of an unknown type', withCell(AMOUNT, '<c t="x"><v>7</v></c>'), 'E_WORKBOOK'],
    [
      'a cell with a style that is not there',
      withCell(AMOUNT, '<c s="2"><v>7</v></c>', { formats: ['0'] }),
      'E_WORKBOOK',
    ],
    [
      'a text with a style that is not there',
      withCell(AMOUNT, '<c s="9" t="inlineStr"><is><t>7</t></is></c>'),
      'E_WORKBOOK',
    ],
    [
      'a cell with a number format that is not there',
      withCell(AMOUNT, '<c s="1"><v>7</v></c>', { formats: [163] }),
      'E_WORKBOOK',
    ],
    ['a number that is none', withCell(AMOUNT, '<c><v>0x10</v></c>'), 'E_WORKBOOK'],
    [
      'a row beyond all rows',
      workbookOf({ sheets: [{ rows: '<row r="1048577"><c r="A1048577"><v>1</v></c></row>' }] }),
      'E_WORKBOOK',
    ],
    ['an attribute twice', withCell(AMOUNT, '<c t="n" t="s"><v>0</v></c>'), 'E_WORKBOOK'],
  ])('%s is refused', async (_what, bytes, code) => {
    const checked = await checkWorkbook(bytes);
    expect(checked.fileRefused).toBe(true);
    expect(codesOf(checked).map(([told]) => told)).toEqual([code]);
  });

  test.each<[string, PartFlaws]>([
    ['another checksum', { crc: 1 }],
    ['more bytes than it says', { bytes: 10 }],
    ['fewer bytes than it says', { bytes: 10_000 }],
    ['another name', { localName: 'xl/worksheets/sheet9.xml' }],
    ['a way of packing that nobody knows', { method: 12 }],
    ['a password', { flags: 1 }],
    ['bytes that are not packed as they should be', { method: 0 }],
  ])('an archive in which a part has %s is refused', async (_what, flaw) => {
    const checked = await checkWorkbook(zipOf(parts, { [PART]: flaw }));
    expect(codesOf(checked).map(([code]) => code)).toEqual(['E_WORKBOOK']);
  });

  test('#90 a workbook under the name of a CSV file is refused, and CSV under that of a workbook', async () => {
    expect(codesOf(await check(zipOf(parts)))).toEqual([['E_TYPE', 1, null]]);
    const { problems } = await checkPayoutSource({ ...sourceOf(file(first.join(','))), name: 'x.XLSX' });
    expect(problems).toMatchObject([{ code: 'E_TYPE' }]);
  });

  test('any bytes are refused or read, and nothing breaks', async () => {
    const whole = zipOf(parts);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (changes) => {
          const bytes = Buffer.from(whole);
          for (const [at, byte] of changes) bytes[at] = byte;
          const checked = await checkWorkbook(bytes);
          expect(checked.fileRefused || checked.rows > 0).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('limits of a workbook', () => {
  test('#91 a bomb is refused when it has unpacked as much as it may, whatever size it claims', async () => {
    const packed = packedBlanks(30_000_000);
    expect(packed.length).toBeLessThan(60_000);
    const before = process.memoryUsage().arrayBuffers;
    const checked = await checkWorkbook(packed, { limits: { unpackedBytesMax: 1_000_000 } });
    expect(checked.problems).toMatchObject([{ code: 'E_UNPACKED_SIZE' }]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
  });

  test.each<[string, IntakeOptions['limits'], string]>([
    ['too large a file', { workbookBytesMax: 100 }, 'E_FILE_SIZE'],
    ['too much text', { sharedTextBytesMax: 20 }, 'E_UNPACKED_SIZE'],
    ['too many rows', { rowsMax: 1 }, 'E_TOO_MANY_ROWS'],
    ['too long a text', { recordBytesMax: 30 }, 'E_RECORD_SIZE'],
  ])('%s', async (_what, limits, code) => {
    const rows = [NAMES, first, cellsOf(line({ reference: 'INV-2' }))];
    const written = await writeXlsx({
      sheets: [{ name: 'P', rows }],
      stringMode: limits?.recordBytesMax === undefined ? 'shared' : 'inline',
    });
    const checked = await checkWorkbook(written, { limits: limits ?? {} });
    expect(codesOf(checked).map(([told]) => told)).toEqual([code]);
    expect(checked.fileRefused).toBe(true);
  });

  test('an endless tag is refused', async () => {
    const endless = withCell(
      AMOUNT,
      `<c ${Array.from({ length: 90_000 }, (_, at) => `a${at}="1"`).join(' ')}><v>1</v></c>`,
    );
    expect(codesOf(await checkWorkbook(endless))).toEqual([['E_WORKBOOK', null, null]]);
  });
});

test('columns have the letters of a spreadsheet', () => {
  expect([0, 25, 26, 51, 701, 702, 16_383].map(lettersOf)).toEqual(['A', 'Z', 'AA', 'AZ', 'ZZ', 'AAA', 'XFD']);
});
