import { partsOf, rowXml, zipOf } from '../intake/workbook-file.ts';

const NAMES = 'reference,beneficiaryIdentityId,amount,amountType,sourceCurrency,destinationCurrency'.split(',');
const ROW = ['INV-1', '00000000-0000-4000-8000-000000000001', '100.00', 'SOURCE_AMOUNT', 'USD', 'MXN'];
const SOUND = rowXml(1, NAMES) + rowXml(2, ROW);
const RELATIONS = 'xl/_rels/workbook.xml.rels';
const WORKBOOK = 'xl/workbook.xml';
const STYLES = 'xl/styles.xml';
const TEXTS = 'xl/sharedStrings.xml';

/** A sound workbook of one sheet, whose parts are changed. */
function workbook(
  sheet: Parameters<typeof partsOf>[0]['sheets'][number],
  change: Record<string, Changed> = {},
): Buffer {
  const parts = partsOf({ sheets: [sheet] });
  for (const [name, changed] of Object.entries(change)) parts[name] = changed(parts[name] ?? '');
  return zipOf(parts);
}

type Changed = (part: string) => string;

function before(mark: string, more: string): Changed {
  return (part) => part.replace(mark, more + mark);
}

function numbered(count: number, xml: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => xml(at)).join('');
}

/** Some kilobytes each, or little more; the code that each is refused with. */
export const HOSTILE_WORKBOOKS: readonly (readonly [what: string, make: () => Buffer, code: string])[] = [
  [
    'a cell at XFD1 and 100,000 rows without values',
    () =>
      workbook({
        rows: rowXml(1, NAMES).replace('</row>', '<c r="XFD1"><v>1</v></c></row>') + '<row/>'.repeat(100_000),
      }),
    'E_WORKBOOK',
  ],
  [
    '1,000 columns and 200,000 rows without values',
    () =>
      workbook({
        rows: `<row r="1">${numbered(1000, () => '<c t="inlineStr"><is><t>x</t></is></c>')}</row>${'<row/>'.repeat(200_000)}`,
      }),
    'E_HEADER',
  ],
  ['rows without end', () => workbook({ rows: `${SOUND}<row r="1048000"/>${'<row/>'.repeat(2000)}` }), 'E_WORKBOOK'],
  [
    'numbers of 60,000 digits',
    () => workbook({ rows: SOUND + numbered(50, () => `<row><c><v>1${'0'.repeat(60_000)}1</v></c></row>`) }),
    'E_WORKBOOK',
  ],
  [
    'a million styles',
    () => workbook({ rows: SOUND }, { [STYLES]: before('</cellXfs>', '<xf numFmtId="0"/>'.repeat(1_000_000)) }),
    'E_WORKBOOK',
  ],
  [
    '100,000 formats of numbers',
    () =>
      workbook(
        { rows: SOUND },
        {
          [STYLES]: before(
            '</numFmts>',
            numbered(100_000, (at) => `<numFmt numFmtId="${at + 300}" formatCode="0;[>${at}]0"/>`),
          ),
        },
      ),
    'E_WORKBOOK',
  ],
  [
    '60,000 relations, and a sheet for each',
    () => {
      const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet';
      return workbook(
        { rows: SOUND },
        {
          [RELATIONS]: before(
            '</Relationships>',
            numbered(60_000, (at) => `<Relationship Id="x${at}" Type="${type}" Target="worksheets/sheet1.xml"/>`),
          ),
          [WORKBOOK]: before(
            '</sheets>',
            numbered(60_000, (at) => `<sheet name="${at}" sheetId="${at + 2}" r:id="x${at}"/>`),
          ),
        },
      );
    },
    'E_WORKBOOK',
  ],
  [
    '9,000 sheets that are one',
    () =>
      workbook(
        { rows: SOUND },
        {
          [WORKBOOK]: before(
            '</sheets>',
            numbered(9000, (at) => `<sheet name="${at}" sheetId="${at + 2}" r:id="r0"/>`),
          ),
        },
      ),
    'E_WORKBOOK',
  ],
  [
    '900 sheets with long names that all have values',
    () =>
      workbook(
        { rows: SOUND },
        {
          [WORKBOOK]: before(
            '</sheets>',
            numbered(900, () => `<sheet name="${'x'.repeat(200)}" sheetId="2" r:id="r0"/>`),
          ),
        },
      ),
    'E_SHEET',
  ],
  [
    '100,000 hidden columns',
    () =>
      workbook({
        before: `<cols>${'<col min="1" max="16384" hidden="1"/>'.repeat(100_000)}</cols>`,
        rows: SOUND + numbered(10_000, (at) => rowXml(at + 3, ROW)),
      }),
    'E_WORKBOOK',
  ],
  [
    'a million merged cells',
    () => workbook({ rows: SOUND, after: `<mergeCells>${'<mergeCell ref="A2:A3"/>'.repeat(1_000_000)}</mergeCells>` }),
    'E_WORKBOOK',
  ],
  [
    '100,000 formulas whose results fill the sheet',
    () =>
      workbook({
        rows: SOUND + '<row><c><f t="array" ref="A3:F1048576"/></c></row>'.repeat(100_000).replaceAll('A3:F', 'A1:F'),
      }),
    'E_WORKBOOK',
  ],
  [
    'a text of 32,000 characters in each cell of wide rows',
    () =>
      workbook(
        { rows: SOUND + numbered(1000, () => `<row>${'<c t="s"><v>0</v></c>'.repeat(1000)}</row>`) },
        { [TEXTS]: before('</sst>', `<si><t>${'x'.repeat(32_000)}</t></si>`) },
      ),
    'E_RECORD_SIZE',
  ],
  [
    '20 million texts that are empty',
    () => workbook({ rows: SOUND }, { [TEXTS]: before('</sst>', '<si/>'.repeat(20_000_000)) }),
    'E_UNPACKED_SIZE',
  ],
  [
    'a text in ten million pieces',
    () =>
      workbook({ rows: SOUND }, { [TEXTS]: before('</sst>', `<si><t>${'<![CDATA[x]]>'.repeat(10_000_000)}</t></si>`) }),
    'E_RECORD_SIZE',
  ],
  [
    'attributes without end',
    () => workbook({ rows: `${SOUND}<row ${numbered(200_000, (at) => `a${at}="" `)}/>` }),
    'E_WORKBOOK',
  ],
  ['deep nesting', () => workbook({ rows: `${SOUND}${'<row>'.repeat(1_000_000)}` }), 'E_WORKBOOK'],
];
