import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CheckedFile } from '../../src/intake/check-file.ts';
import { checkPayoutSource } from '../../src/intake/check-file.ts';
import { readCheckedRows } from '../../src/intake/row/rows.ts';
import { type Cells, COLUMNS, check, collect, file, HEADER, line, sourceOf, UUID } from './payout-text.ts';

/** Case of bad-input.md, what it is, the file's bytes, verdict and code (none for OK). */
type Case = readonly [number, string, Buffer | string, 'OK' | 'F' | 'R' | 'W', string?];

const ok = line({ reference: 'INV-1' });
const second = line({ reference: 'INV-2' });
const utf16 = Buffer.from(file(ok), 'utf16le');
const utf16be = Buffer.from(utf16).swap16();
const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
const withCategory = (payoutCategory: string): string => file(line({ reference: 'INV-1', payoutCategory }));
const withCells = (cells: Cells): string => file(line({ reference: 'INV-1', ...cells }));

const FILES: readonly Case[] = [
  [1, 'an empty file', '', 'F', 'E_EMPTY'],
  [2, 'a header only', `${HEADER}\n`, 'F', 'E_NO_ROWS'],
  [2, 'a header only, without a line end', HEADER, 'F', 'E_NO_ROWS'],
  [3, 'a byte order mark only', '\uFEFF', 'F', 'E_EMPTY'],
  [3, 'line ends only', '\n\n\n', 'F', 'E_EMPTY'],
  [3, 'CR LF line ends only', '\r\n\r\n', 'F', 'E_EMPTY'],
  [3, 'spaces only', '    ', 'F', 'E_EMPTY'],
  [4, 'a byte order mark', `\uFEFF${file(ok)}`, 'OK'],
  [5, 'two byte order marks', `\uFEFF\uFEFF${file(ok)}`, 'F', 'E_HEADER'],
  [5, 'a byte order mark within a cell', withCells({ reference: 'INV\uFEFF1' }), 'R', 'E_CONTROL'],
  [5, 'a byte order mark at the head of a line', file(`\uFEFF${ok}`), 'R', 'E_CONTROL'],
  [6, 'UTF-16LE with a mark', bytes([0xff, 0xfe], utf16.toString('latin1')), 'F', 'E_ENCODING'],
  [7, 'UTF-16BE with a mark', Buffer.concat([Buffer.from([0xfe, 0xff]), utf16be]), 'F', 'E_ENCODING'],
  [7, 'UTF-32 with a mark', bytes([0xff, 0xfe, 0, 0, 0x72, 0, 0, 0]), 'F', 'E_ENCODING'],
  [8, 'UTF-16LE without a mark', utf16, 'F', 'E_ENCODING'],
  [8, 'UTF-16BE without a mark', utf16be, 'F', 'E_ENCODING'],
  [9, 'Latin-1', Buffer.from(withCategory('J\u00F6rg'), 'latin1'), 'F', 'E_ENCODING'],
  [10, 'a replacement character', withCategory('J\uFFFDrg'), 'R', 'E_REPLACEMENT_CHAR'],
  [11, 'an overlong form', bytes(`${HEADER}\n`, [0xc0, 0xaf], '\n'), 'F', 'E_ENCODING'],
  [11, 'a surrogate', bytes(`${HEADER}\n`, [0xed, 0xa0, 0x80], '\n'), 'F', 'E_ENCODING'],
  [13, 'mojibake', withCategory('JÃ¶rg'), 'W', 'W_MOJIBAKE'],
  [14, 'a NUL character', withCells({ reference: 'INV\u00001' }), 'F', 'E_CONTROL'],
  [15, 'a vertical tab', withCells({ reference: 'INV\u000B1' }), 'R', 'E_CONTROL'],
  [15, 'a C1 control', withCategory('BANK\u0090'), 'R', 'E_CONTROL'],
  [16, 'Ctrl-Z at the end', `${file(ok)}\u001A`, 'F', 'E_COLUMNS'],
  [17, 'CR LF', file(ok, second).replaceAll('\n', '\r\n'), 'OK'],
  [18, 'CR only', file(ok, second).replaceAll('\n', '\r'), 'F', 'E_NEWLINE'],
  [19, 'LF first, then CR LF', `${HEADER}\n${ok}\r\n`, 'F', 'E_NEWLINE'],
  [20, 'CR LF first, then LF', `${HEADER}\r\n${ok}\n`, 'F', 'E_NEWLINE'],
  [21, 'a line end in a quoted cell', withCategory('"BANK\nACCOUNT"'), 'R', 'E_CONTROL'],
  [22, 'a line separator', withCategory('BANK\u2028X'), 'R', 'E_CONTROL'],
  [22, 'a next-line character', withCategory('BANK\u0085X'), 'R', 'E_CONTROL'],
  [23, 'no last line end', file(ok).slice(0, -1), 'F', 'E_TRUNCATED'],
  [24, 'a file cut within a row', file(ok, second).slice(0, -60), 'F', 'E_COLUMNS'],
  [27, 'blank lines at the end', `${file(ok)}\n\n`, 'W', 'W_ROWS_IGNORED'],
  [27, 'a blank line in the middle', file(ok, '', second), 'F', 'E_BLANK_ROW'],
  [27, 'a blank line above the header', `\n${file(ok)}`, 'F', 'E_HEADER'],
  [28, 'lines of commas at the end', file(ok, ',,,,,,,,,,', ',,,,,,,,,,'), 'W', 'W_ROWS_IGNORED'],
  [28, 'a line of commas in the middle', file(ok, ',,,,,,,,,,', second), 'R', 'E_EMPTY_ROW'],
  [29, 'a line of totals', file(ok, 'TOTAL,,1234.00,,,,,,,,'), 'R', 'E_BENEFICIARY'],
  [30, 'a title above the header', `Payouts of March\n${file(ok)}`, 'F', 'E_HEADER'],
  [30, 'a comment above the header', `# Payouts, March\n${file(ok)}`, 'F', 'E_HEADER'],
  [31, 'sep=; above the header', `sep=;\n${file(ok).replaceAll(',', ';')}`, 'F', 'E_DELIMITER'],
  [31, 'sep=, above the header', `sep=,\n${file(ok)}`, 'OK'],
  [31, 'sep=, above no header', `sep=,\n${ok}\n`, 'F', 'E_HEADER'],
  [32, 'semicolons', file(ok).replaceAll(',', ';'), 'F', 'E_DELIMITER'],
  [32, 'tab characters', file(ok).replaceAll(',', '\t'), 'F', 'E_DELIMITER'],
  [32, 'vertical bars', file(ok).replaceAll(',', '|'), 'F', 'E_DELIMITER'],
  [33, 'a missing column', `reference,amount\nINV-1,100.00\n`, 'F', 'E_HEADER'],
  [33, 'an extra column', `${HEADER},memo\n${ok},x\n`, 'F', 'E_HEADER'],
  [33, 'columns in another order', reversed(file(ok)), 'OK'],
  [34, 'a column twice', `${HEADER},amount\n${ok},100.00\n`, 'F', 'E_HEADER_DUP'],
  [35, 'a column in capital letters', file(ok).replace('amount', 'AMOUNT'), 'F', 'E_HEADER'],
  [35, 'a column with a blank', file(ok).replace('amount', ' amount'), 'F', 'E_HEADER'],
  [35, 'a column with a no-break space', file(ok).replace('amount', 'amount\u00A0'), 'F', 'E_HEADER'],
  [36, 'a column __proto__', `${HEADER},__proto__\n${ok},x\n`, 'F', 'E_HEADER'],
  [36, 'a column constructor', `${HEADER},constructor\n${ok},x\n`, 'F', 'E_HEADER'],
  [37, 'a header in another language', `Referenz,Empfänger,Betrag\n`, 'F', 'E_HEADER'],
  [38, 'a short row', file(ok, 'INV-2,x'), 'F', 'E_COLUMNS'],
  [38, 'a long row', file(ok, `${second},x`), 'F', 'E_COLUMNS'],
  [39, 'a comma after each row', file(`${ok},`, `${second},`), 'F', 'E_COLUMNS'],
  [40, 'a quote that is not closed', file(ok, `"${second}`), 'F', 'E_QUOTE'],
  [41, 'a quote in a cell without quotes', withCategory('5" PIPE'), 'F', 'E_QUOTE'],
  [42, 'text after a closing quote', withCategory('"BANK"X'), 'F', 'E_QUOTE'],
  [43, 'a quote after a backslash', withCategory('"BA\\"NK"'), 'F', 'E_QUOTE'],
  [44, 'curly quotes around a cell', withCells({ reference: '“INV-1”' }), 'R', 'E_QUOTE_CHAR'],
  [44, 'a comma within curly quotes', withCategory('“BANK, ACCOUNT”'), 'F', 'E_COLUMNS'],
  [45, 'single quotes around a cell', withCells({ reference: "'INV-1'" }), 'R', 'E_QUOTE_CHAR'],
  [46, 'the text trick of a spreadsheet', withCells({ reference: '="00123"' }), 'F', 'E_QUOTE'],
  [47, 'an apostrophe before a number', withCells({ amount: "'100.00" }), 'R', 'E_QUOTE_CHAR'],
  ...['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1'].map(
    (reference): Case => [48, `formula ${reference}`, withCells({ reference }), 'R', 'E_FORMULA'],
  ),
  [48, 'a tab before a formula', withCategory('\t=1+1'), 'R', 'E_CONTROL'],
  [48, 'a carriage return before a formula', withCategory('"\r=1+1"'), 'R', 'E_CONTROL'],
  [49, 'a formula behind a semicolon', withCategory('BANK; =1+1'), 'R', 'E_FORMULA'],
  [49, 'a DDE call', withCategory("=cmd|' /C calc'!A0"), 'R', 'E_FORMULA'],
  [49, 'a formula as the amount', withCells({ amount: '=SUM(C2:C9)' }), 'R', 'E_FORMULA'],
  ...['#REF!', '#N/A', '#VALUE!', '#WERT!', '#DIV/0!', '########'].map(
    (value): Case => [50, value, withCells({ amount: value }), 'R', 'E_EXCEL_ERROR'],
  ),
  [51, 'an id with an exponent', withCells({ beneficiaryIdentityId: '1.23457E+15' }), 'R', 'E_SCIENTIFIC'],
  [51, 'a reference with an exponent', withCells({ reference: '1.23457E+15' }), 'R', 'E_SCIENTIFIC'],
  [51, 'a reference with a small exponent', withCells({ reference: '1.5E-05' }), 'R', 'E_SCIENTIFIC'],
  [52, 'a reference that lost digits', withCells({ reference: '1234567890123450000' }), 'W', 'W_LONG_NUMBER'],
  [52, 'an id that lost digits', withCells({ beneficiaryIdentityId: '1234567890123450000' }), 'R', 'E_BENEFICIARY'],
  ...['1.23457E15', '1E+5', '1E+05', '1,5E3', '2.0e7'].map(
    (reference): Case => [
      51,
      `the reference ${reference}`,
      withCells({ reference: `"${reference}"` }),
      'R',
      'E_SCIENTIFIC',
    ],
  ),
  ...['1E5', '12e4', '10.5E3', '1E-5', '84620e17'].map(
    (reference): Case => [51, `the reference ${reference}`, withCells({ reference }), 'W', 'W_SCIENTIFIC'],
  ),
  ...['E5', '1E5A', '1-E5', '1E', 'INV-1E5', '0x1E5', '4711'].map(
    (reference): Case => [51, `the reference ${reference}`, withCells({ reference }), 'OK'],
  ),
  ...[
    '3-Apr',
    '03-apr',
    '31-Dec',
    '03. Apr',
    '3.Apr',
    '03-avr',
    '3-abr',
    '3 May',
    '3-Apr-26',
    '03-Apr-2026',
    '2-ene',
    '1/dez',
    '05-janv.',
    '3-April',
    '3. august 2026',
    '3-März',
    '3-août',
    '4-déc.',
    'April 3, 2026',
    'Friday, April 3, 2026',
    'Apr 3, 2026',
    'Freitag, 3. April 2026',
    'vendredi 3 avril 2026',
    '3 de abril de 2026',
    'viernes, 3 de abril de 2026',
    '3 April, 2026',
  ].map(
    (reference): Case => [54, `the reference ${reference}`, withCells({ reference: `"${reference}"` }), 'R', 'E_DATE'],
  ),
  ...['APRIL 3, 2026', 'April 3, 26', 'Rent, April 3, 2026', 'April 3, 2026, A'].map(
    (reference): Case => [54, `the reference ${reference}`, withCells({ reference: `"${reference}"` }), 'OK'],
  ),
  ...[
    '12-SET',
    '03-APR-26',
    'Apr-26',
    'Okt 26',
    'abr/26',
    '2026-04-03',
    '2026/4/3',
    '03.04.2026',
    '3/4/2026',
    '4-3-1999',
    'April 3',
    'April 3 2026',
    'Apr.26',
    'Sept. 26',
    'APR-2026',
    '03.04.26',
    '04-03-26',
    '4/3/26',
  ].map((reference): Case => [54, `the reference ${reference}`, withCells({ reference }), 'W', 'W_DATE']),
  ...[
    '45306',
    '20260403',
    '3-4',
    '2026-0403',
    '2026-04',
    '2026-4711-03',
    '26-47-03',
    'April 3 A',
    'Apr.',
    '3-Apr-A',
    'RENT Apr-26',
    'RENT 3 April 2026',
    'Friday',
    '3 de April de A',
    'Apr-2026-7',
    '3-Aprils',
    '47-Apr',
    '2026.04-03',
  ].map((reference): Case => [54, `the reference ${reference}`, withCells({ reference }), 'OK']),
  [54, 'an id turned into a date', withCells({ beneficiaryIdentityId: '3-Apr' }), 'R', 'E_BENEFICIARY'],
  [55, 'an id in capital letters', withCells({ beneficiaryIdentityId: UUID.toUpperCase() }), 'OK'],
  [55, 'an id in braces', withCells({ beneficiaryIdentityId: `{${UUID}}` }), 'R', 'E_BENEFICIARY'],
  [55, 'an id without dashes', withCells({ beneficiaryIdentityId: UUID.replaceAll('-', '') }), 'R', 'E_BENEFICIARY'],
  [55, 'an id with a blank', withCells({ beneficiaryIdentityId: `${UUID} ` }), 'R', 'E_SPACE'],
  [
    56,
    'an id with a Cyrillic letter',
    withCells({ beneficiaryIdentityId: UUID.replace('a', 'а') }),
    'R',
    'E_BENEFICIARY',
  ],
  [57, 'no beneficiary', withCells({ beneficiaryIdentityId: '' }), 'R', 'E_BENEFICIARY'],
  [57, 'an originator that is no id', withCells({ originatorIdentityId: 'ACME' }), 'R', 'E_ORIGINATOR'],
  ...[
    [58, '"1,234.56"', 'E_AMOUNT'],
    [59, '"1.234,56"', 'E_AMOUNT'],
    [59, '"1234,56"', 'E_AMOUNT'],
    [59, '1 234.56', 'E_AMOUNT'],
    [59, '1\u00A0234.56', 'E_AMOUNT'],
    [59, '1\u202F234.56', 'E_AMOUNT'],
    [59, "1'234.56", 'E_AMOUNT'],
    [60, '1.234', 'E_AMOUNT_SCALE'],
    [61, '100.005', 'E_AMOUNT_SCALE'],
    [63, '100.', 'E_AMOUNT'],
    [63, '.5', 'E_AMOUNT'],
    [63, '00100', 'E_AMOUNT'],
    [63, '+100', 'E_AMOUNT'],
    [63, '-100', 'E_AMOUNT'],
    [63, '(100)', 'E_AMOUNT'],
    [63, '100-', 'E_AMOUNT'],
    [64, '1e3', 'E_AMOUNT'],
    [64, '1E+3', 'E_AMOUNT'],
    [64, '1.00E+03', 'E_SCIENTIFIC'],
    [64, '0x1F', 'E_AMOUNT'],
    [64, 'Infinity', 'E_AMOUNT'],
    [64, 'NaN', 'E_PLACEHOLDER'],
    [64, '1_000', 'E_AMOUNT'],
    [65, '１００', 'E_AMOUNT'],
    [65, '١٠٠', 'E_AMOUNT'],
    [66, '$100', 'E_AMOUNT'],
    [66, '100 USD', 'E_AMOUNT'],
    [66, '100€', 'E_AMOUNT'],
    [67, '', 'E_AMOUNT'],
    [67, '0', 'E_AMOUNT_RANGE'],
    [67, '0.00', 'E_AMOUNT_RANGE'],
    [67, '0.99', 'E_AMOUNT_RANGE'],
    [68, '100000000.01', 'E_AMOUNT_RANGE'],
    [68, '99999999999999999999', 'E_AMOUNT_RANGE'],
    [68, '9'.repeat(40), 'E_AMOUNT_RANGE'],
    [96, ' 100.00', 'E_SPACE'],
  ].map(
    ([number, amount, code]): Case => [
      Number(number),
      `amount ${amount}`,
      withCells({ amount: String(amount) }),
      'R',
      String(code),
    ],
  ),
  [61, '10.5 JPY', withCells({ amount: '10.5', sourceCurrency: 'JPY' }), 'R', 'E_AMOUNT_SCALE'],
  [62, '1.000 BHD', withCells({ amount: '1.000', sourceCurrency: 'BHD' }), 'OK'],
  [68, '100000000', withCells({ amount: '100000000' }), 'OK'],
  [71, 'usd', withCells({ sourceCurrency: 'usd' }), 'R', 'E_CURRENCY'],
  [71, 'a blank before USD', withCells({ sourceCurrency: ' USD' }), 'R', 'E_SPACE'],
  ...['US', 'XXX', 'BTC', 'DEM'].map(
    (code): Case => [71, code, withCells({ destinationCurrency: code }), 'R', 'E_CURRENCY'],
  ),
  [73, 'an unknown source of cash', withCells({ sourceOfCash: 'WORK' }), 'R', 'E_SOURCE_OF_CASH'],
  [73, 'a source of cash in small letters', withCells({ sourceOfCash: 'comp' }), 'R', 'E_SOURCE_OF_CASH'],
  [73, 'a source of cash', withCells({ sourceOfCash: 'COMP' }), 'OK'],
  [74, 'a purpose code', withCells({ purposeCode: 'OTHR' }), 'OK'],
  [74, 'a purpose code of 36 characters', withCells({ purposeCode: 'A'.repeat(36) }), 'R', 'E_PURPOSE_CODE'],
  [74, 'a purpose code with a full stop', withCells({ purposeCode: 'A.B' }), 'R', 'E_PURPOSE_CODE'],
  [76, 'a reference with all that it may hold', withCells({ reference: `"N+1:(a),'b'. _/#-"` }), 'OK'],
  [76, 'a reference that begins with a mark', withCells({ reference: '(INV-1)' }), 'R', 'E_REFERENCE'],
  [76, 'no reference', withCells({ reference: '' }), 'R', 'E_REFERENCE'],
  [76, 'a reference of 36 characters', withCells({ reference: 'A'.repeat(36) }), 'OK'],
  [76, 'a reference of 37 characters', withCells({ reference: 'A'.repeat(37) }), 'R', 'E_REFERENCE'],
  [76, 'a reference with a bidirectional character', withCells({ reference: 'INV\u202E1' }), 'R', 'E_CONTROL'],
  [77, 'a reference twice', file(ok, ok), 'R', 'E_DUP_REF'],
  ...['inv-1', 'IN V-1', 'ＩＮＶ-1', 'INV-1.', 'INV\u200B-1', 'INV-1 '].map(
    (reference): Case => [79, `INV-1 and ${reference}`, file(ok, line({ reference })), 'R', 'E_DUP_REF'],
  ),
  [84, 'a category of 129 characters', withCategory('x'.repeat(129)), 'R', 'E_CATEGORY'],
  [84, 'a right-to-left override', withCategory('BANK\u202EKNAB'), 'R', 'E_CONTROL'],
  [84, 'a zero-width space', withCategory('BA\u200BNK'), 'R', 'E_CONTROL'],
  [88, 'characters that mean something to Redis', withCells({ reference: 'a:*{b}' }), 'R', 'E_REFERENCE'],
  [90, 'an Excel workbook', bytes('PK\u0003\u0004', [0x14, 0, 6, 0, 8]), 'F', 'E_TYPE'],
  [90, 'a PDF document', '%PDF-1.7\n%x\n', 'F', 'E_TYPE'],
  [90, 'a payment message', '<?xml version="1.0" encoding="UTF-8"?>\n<Document/>\n', 'F', 'E_TYPE'],
  [90, 'a payment message behind a byte order mark', '\uFEFF<Document xmlns="urn:x"/>\n', 'F', 'E_TYPE'],
  [90, 'a PNG image', bytes([0x89], 'PNG\r\n', [0x1a], '\n'), 'F', 'E_TYPE'],
  [91, 'a gzip archive', bytes([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), 'F', 'E_TYPE'],
  [
    91,
    'an empty ZIP archive',
    bytes(
      'PK\u0005\u0006',
      Array.from({ length: 18 }, () => 0),
    ),
    'F',
    'E_TYPE',
  ],
  [95, 'all cells in quotes', file(ok, second).replaceAll(/[^,\n]+/g, '"$&"'), 'OK'],
  [
    95,
    'some cells in quotes',
    file(ok, second)
      .replaceAll('INV', '"INV')
      .replaceAll(/(INV-\d)/g, '$1"'),
    'OK',
  ],
  ...['TRUE', 'NULL', 'null', 'undefined', 'N/A', '-'].map(
    (value): Case => [97, value, withCells({ reference: value }), 'R', 'E_PLACEHOLDER'],
  ),
  [97, 'NULL as a country', withCells({ destinationCountry: 'NULL' }), 'R', 'E_PLACEHOLDER'],
  [98, 'an empty cell in quotes', withCells({ originatorIdentityId: '""' }), 'OK'],
  [99, 'a row of more than 64 KiB', withCategory('x'.repeat(64 * 1024)), 'F', 'E_RECORD_SIZE'],
  [99, 'a row of nothing but commas, over 64 KiB', file(ok, ','.repeat(64 * 1024)), 'F', 'E_RECORD_SIZE'],
  [40, 'a quote that is not closed in a long file', file(`"${ok}`, ...Array(2000).fill(second)), 'F', 'E_QUOTE'],
];

function reversed(text: string): string {
  return text
    .split('\n')
    .map((row) => row.split(',').toReversed().join(','))
    .join('\n');
}

/**
 * The cases that the bytes of one file cannot show: the test that has each, by file and title. None of them is intake's to
 * judge but those whose test lies in this folder.
 */
const ELSEWHERE: Readonly<Record<number, readonly [file: string, title: string]>> = {
  12: ['intake/bad-input.test.ts', '#12 the byte at which UTF-8 ends'],
  25: ['intake/control-totals.test.ts', '#25 find a file that was cut exactly at the end of a row'],
  26: ['intake/control-totals.test.ts', '#26 control totals'],
  53: ['intake/templates.test.ts', '#53 finds references that lost zeros'],
  69: ['intake/templates.test.ts', '#69 limits the amount of a payout'],
  70: ['intake/read-file.test.ts', '#70 sums are exact'],
  72: ['intake/templates.test.ts', '#72 fixes a value for all rows'],
  75: ['intake/templates.test.ts', '#75 requires optional columns'],
  78: ['ledger/recording.test.ts', 'of a payout that nobody has begun to pay holds the next one'],
  80: ['ledger/likely-duplicates.test.ts', 'is held with a link to it, in the same file and in a later one'],
  81: ['ledger/recording.test.ts', '20 times at once makes one run'],
  82: ['ledger/recording.test.ts', 'with its rows in another order'],
  83: ['runs/retry-file.test.ts', '#83 of a corrected file the rows that were refused are payable'],
  85: ['intake/public-suites.test.ts', '#85 every string of the big list of naughty strings'],
  86: ['report/csv.test.ts', 'keeps one line a row whatever the words hold'],
  87: ['log.test.ts', 'cannot begin a line of its own'],
  89: ['intake/bad-input.test.ts', '#89 a file that is too large'],
  92: ['intake/read-file.test.ts', '#92 %s: refused with exit code 3'],
  93: ['inbox/inbox.test.ts', 'is refused once with %s, read by nobody, and does not stay in the folder "in"'],
  94: ['inbox/inbox.test.ts', 'is not read while it grows, and is read whole then'],
  100: ['intake/bad-input.test.ts', '#100 the row beyond the limit'],
  101: ['intake/public-suites.test.ts', '#101 csv-spectrum'],
  102: ['report/csv.test.ts', 'is read back with every machine field equal'],
};
const CASES_OF_BAD_INPUT = 102;

describe('the cases of bad input', () => {
  test('are all judged here or named with their place', () => {
    const known = new Set([...FILES.map(([number]) => number), ...Object.keys(ELSEWHERE).map(Number)]);
    const all = Array.from({ length: CASES_OF_BAD_INPUT }, (_, at) => at + 1);
    expect(all.filter((number) => !known.has(number))).toEqual([]);
  });

  test.each(Object.entries(ELSEWHERE))('#%s is where it is said to be: %s', (_number, [path, title]) => {
    expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toContain(`'${title}`);
  });
});

function verdictOf(checked: CheckedFile): string {
  if (checked.fileRefused) return 'F';
  if (checked.valid < checked.rows) return 'R';
  return checked.warnings.length > 0 ? 'W' : 'OK';
}

const CASES = FILES.map(([number, title, content, verdict, code]) => ({ number, title, content, verdict, code }));

describe('each case of bad input gets its verdict and its code', () => {
  test.each(CASES)('#$number $title', async ({ content, verdict, code }) => {
    const checked = await check(content);
    const told = verdict === 'W' ? checked.warnings : checked.problems;
    expect({ verdict: verdictOf(checked), code: told[0]?.code }).toEqual({ verdict, code });
    for (const problem of checked.problems) expect(`${problem.message} ${problem.remedy}`).not.toContain('?');
  });
});

describe('the same is told however the file is cut into pieces', () => {
  test.each(CASES.filter(({ content }) => Buffer.byteLength(content) < 4000))(
    '#$number $title',
    async ({ content }) => {
      const whole = await check(content);
      for (const pieceBytes of [1, 2, 3, 7, 64]) {
        expect(await checkPayoutSource(sourceOf(content, pieceBytes))).toEqual(whole);
      }
    },
  );
});

describe('limits', () => {
  test('#100 the row beyond the limit refuses the file, and lines without values at its end do not count until then', async () => {
    expect(await check(file(ok, second), { limits: { rowsMax: 2 } })).toMatchObject({ problems: [], rows: 2 });
    const checked = await check(file(ok, second, line({ reference: 'INV-3' })), { limits: { rowsMax: 2 } });
    expect(checked).toMatchObject({ fileRefused: true, sha256: '', rows: 2 });
    expect(checked.problems).toMatchObject([{ code: 'E_TOO_MANY_ROWS', line: 4 }]);
  });

  test('#89 a file that is too large is refused without being read to its end', async () => {
    let read = 0;
    const endless = {
      name: 'endless.csv',
      bytes: null,
      async *chunks() {
        yield Buffer.from(`${HEADER}\n`);
        for (; ; read++) yield Buffer.from(`${line({ reference: `INV-${read}` })}\n`);
      },
    };
    const checked = await checkPayoutSource(endless, { limits: { fileBytesMax: 2000 } });
    expect(checked.problems).toMatchObject([{ code: 'E_FILE_SIZE', line: null }]);
    expect(read).toBeLessThan(30);
    const known = { ...endless, bytes: 2001, chunks: () => failing() };
    expect((await checkPayoutSource(known, { limits: { fileBytesMax: 2000 } })).problems).toMatchObject([
      { code: 'E_FILE_SIZE' },
    ]);
  });

  test('#89 a row of 10,000 columns and a cell of several megabytes are refused', async () => {
    expect((await check(`${HEADER}${',x'.repeat(10_000)}\n${ok}\n`)).fileRefused).toBe(true);
    const checked = await check(withCategory(`"${'x'.repeat(4_000_000)}"`));
    expect(checked.problems).toMatchObject([{ code: 'E_RECORD_SIZE', line: 2 }]);
  });

  test('a thousand problems are told and all are counted', async () => {
    const bad = Array.from({ length: 1500 }, (_, at) => line({ reference: `INV-${at}`, amount: 'x' }));
    const checked = await check(file(...bad));
    expect(checked).toMatchObject({ problemsTotal: 1500, rows: 1500, valid: 0 });
    expect(checked.problems).toHaveLength(1000);
    expect(checked.problems.at(-1)?.line).toBe(1001);
  });

  test('memory does not grow with the file', async () => {
    const row = line({ reference: 'X' });
    const rowsMax = 60_000;
    const large = {
      name: 'large.csv',
      bytes: null,
      async *chunks() {
        yield Buffer.from(`${HEADER}\n`);
        for (let at = 0; at < rowsMax; at += 100) {
          const rows = Array.from({ length: 100 }, (_, more) => row.replace('X', `INV-${at + more}`));
          yield Buffer.from(`${rows.join('\n')}\n`);
        }
      },
    };
    const before = process.memoryUsage().arrayBuffers;
    const checked = await checkPayoutSource(large);
    expect(checked).toMatchObject({ rows: rowsMax, valid: rowsMax, problemsTotal: 0 });
    expect(checked.duplicates.lines).toHaveLength(0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  });
});

async function* failing(): AsyncGenerator<Buffer> {
  yield Buffer.from('');
  throw new Error('the file was read');
}

describe('what a problem tells', () => {
  test('#12 the byte at which UTF-8 ends, a byte order mark included', async () => {
    const content = bytes([0xef, 0xbb, 0xbf], `${HEADER}\n${ok}\n`, [0x4a, 0xf6, 0x72]);
    const offset = 3 + HEADER.length + 1 + ok.length + 1 + 2;
    for (const pieceBytes of [1, 2, 5, 4096]) {
      const { problems } = await checkPayoutSource(sourceOf(content, pieceBytes));
      expect(problems).toMatchObject([{ code: 'E_ENCODING', line: 3 }]);
      expect(problems[0]?.message).toContain(`byte ${offset} `);
    }
  });

  test('the line on which a row begins, also after line ends within quotes', async () => {
    const checked = await check(
      file(line({ reference: 'INV-1', payoutCategory: '"a\nb\n\nc"' }), ok.replace('100.00', 'x'), `${second},`),
    );
    expect(checked.problems.map(({ code, line: at }) => [code, at])).toEqual([
      ['E_CONTROL', 2],
      ['E_DUP_REF', 2],
      ['E_AMOUNT', 6],
      ['E_DUP_REF', 6],
      ['E_COLUMNS', 7],
    ]);
  });

  test('the line of a row whose quotes do not fit, and every problem above it', async () => {
    const rows = [line({ reference: '"INV-1"', amount: 'x' }), `"a\r\nb"${ok}`];
    const checked = await check([HEADER, ...rows, ''].join('\r\n'));
    expect(checked.problems.map(({ code, line: at }) => [code, at])).toEqual([
      ['E_AMOUNT', 2],
      ['E_QUOTE', 3],
    ]);
  });

  test('all that is wrong with a row, by column', async () => {
    const { problems } = await check(
      withCells({ reference: '', amount: '1,5', sourceCurrency: 'usd' }).replace('1,5', '"1,5"'),
    );
    expect(problems.map(({ code, column }) => [code, column])).toEqual([
      ['E_REFERENCE', 'reference'],
      ['E_AMOUNT', 'amount'],
      ['E_CURRENCY', 'sourceCurrency'],
    ]);
  });

  test('all that is wrong with a header', async () => {
    const { problems } = await check('Reference,amount,amount,memo,\n');
    expect(problems.map(({ code, column }) => [code, column])).toEqual([
      ['E_HEADER_DUP', 'amount'],
      ['E_HEADER', 'Reference'],
      ['E_HEADER', 'memo'],
      ['E_HEADER', null],
      ['E_HEADER', 'reference'],
      ['E_HEADER', 'beneficiaryIdentityId'],
      ['E_HEADER', 'sourceCurrency'],
      ['E_HEADER', 'destinationCurrency'],
    ]);
    expect(problems[1]?.message).toContain('write reference exactly so');
  });

  test('never a whole account number or identity id, and nothing that a terminal would act on', async () => {
    const iban = 'DE89370400440532013000';
    const rows = COLUMNS.filter((column) => column !== 'reference' && column !== 'amount').map((column, at) =>
      line({ reference: `INV-${at}`, [column]: `\u001B[31m${iban}` }),
    );
    const odd = line({ reference: 'INV\u001B[2J\u202E', beneficiaryIdentityId: UUID.slice(1) });
    const { problems } = await check(file(...rows, odd));
    expect(problems.length).toBeGreaterThan(rows.length);
    const told = JSON.stringify(problems);
    expect(told).not.toContain(iban.slice(0, 10));
    expect(told).not.toContain(UUID.slice(1, 20));
    expect(problems.map(({ value }) => value).join('')).toMatch(/^[\x20-\x7e…]*$/);
    expect(problems.find(({ column }) => column === 'reference')?.value).toBe('INV\\u{1b}[2J\\u{202e}');
  });

  test('the other line of a repeated reference', async () => {
    const { problems } = await check(file(ok, second, ok, ok));
    expect(problems.map(({ line: at, message }) => [at, /line (\d+)/.exec(message)?.[1]])).toEqual([
      [2, '4'],
      [4, '2'],
      [5, '2'],
    ]);
  });
});

describe('#85 strings that break other programs', () => {
  const words =
    "' OR 1=1 --|<script>alert(1)</script>|../../etc/passwd|${jndi:ldap://x}|%s%n%x|\\\\|`id`|__proto__|constructor";
  const texts = 'hasOwnProperty|🏳️‍🌈|ﷺ|Ω≈ç√∫|社會科學院|\u0301|ﬁ|1/0|con.csv|\u00A0|\u2800|nil|̡̗|İ|ß|{}|$&|{found}';
  const strings = `${words}|${texts}`.split('|').concat('0'.repeat(300), 'A'.repeat(60_000));
  test.each(COLUMNS)('do no harm in %s: the row is taken as it is or refused', async (column) => {
    for (const text of strings) {
      const quoted = `"${text.replaceAll('"', '""')}"`;
      const checked = await check(file(line({ reference: 'INV-1', [column]: quoted }), second));
      expect(checked.rows).toBe(2);
      expect(checked.valid + new Set(checked.problems.map(({ line: at }) => at)).size).toBe(2);
    }
  });

  test('whatever they are, what is accepted is paid exactly as it stands, and what is shown is safe', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom(...strings.filter((one) => one.length < 100)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...COLUMNS), text, async (column, value) => {
        const sound = value.replaceAll('\0', '').replaceAll(/[\r\p{Cs}]/gu, '');
        const content = file(line({ reference: 'INV-1', [column]: `"${sound.replaceAll('"', '""')}"` }));
        const checked = await check(content);
        const [row] = await collect(readCheckedRows(sourceOf(content).chunks(), checked.reading));
        expect(row?.cells[COLUMNS.indexOf(column)]).toBe(sound);
        expect([checked.valid === 1, row?.row !== null]).toEqual([
          checked.problemsTotal === 0,
          checked.problemsTotal === 0,
        ]);
        expect(
          checked.problems.map(({ message, remedy, value: shown }) => `${message}${remedy}${shown}`).join(''),
        ).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]*$/u);
        const paid = Object.values(row?.row ?? { none: sound });
        const isOtherForm = column === 'amount' || column.endsWith('Id') || sound === '';
        expect(isOtherForm || paid.includes(sound)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});
