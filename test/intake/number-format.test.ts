import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSignOf } from '../../src/intake/row/currency-signs.ts';
import { readNumberFormat } from '../../src/intake/xlsx/number-format.ts';

/** Reading that took the square of a length would take ten seconds and more. */
const READ_CPU_MS_MAX = 3000;

/** What a format shows of a number: the number that a person reads, null for none, and the words beside a number. */
const SHOWN: readonly (readonly [format: string, decimal: string, number: string | null, ...words: string[]])[] = [
  ['General', '100.49', '100.49'],
  ['General', '99999999.99', '99999999.99'],
  ['General', '12345678.125', '12345678.13'],
  ['GENERAL" €"', '5', '5', '€'],
  ['[Red]General', '5.5', '5.5'],
  ['@', '100.49', '100.49'],
  ['0', '100', '100'],
  ['0', '100.49', '100'],
  ['0', '100.5', '101'],
  ['0.0', '1.25', '1.3'],
  ['0.0', '1.2', '1.2'],
  ['0.00', '99.999', '100.00'],
  ['0.00', '100.5', '100.5'],
  ['0.00', '4.35', '4.35'],
  ['0.##', '4', '4'],
  ['.00', '0.5', '0.5'],
  ['#', '0', null],
  ['#.00', '0', '0'],
  ['#,##0', '100.50', '101'],
  ['#,##0.00', '1234567.89', '1234567.89'],
  ['#,##0.000', '1234.5678', '1234.568'],
  ['#,##0_);(#,##0)', '1234', '1234'],
  ['#,##0.00;[Red]-#,##0.00', '1234.5', '1234.5'],
  ['_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-', '1234.5', '1234.5'],
  ['??0.0?', '12.5', '12.5'],
  ["#'##0.00", '1234.5', '1234.5'],
  ['#\\ ##0.00', '1234.5', '1234.5'],
  ['[>=10000000]##\\,##\\,##\\,##0.00;[>=100000]##\\,##\\,##0.00;##,##0.00', '1234567.89', '1234567.89'],
  // Other digits, or none.
  ['00000', '100', '00100'],
  ['00000', '12345', '12345'],
  ['0%', '1', '100', '%'],
  ['0.00%', '0.125', '12.50', '%'],
  ['0,', '1234', '1'],
  ['#,##0,', '100', '0'],
  ['0.0,,"m"', '1250000', '1.3', 'm'],
  ['0.00,', '1234567', '1234.57'],
  ['0,.00', '1234', '1.23'],
  ['# ?/?', '1.5', null],
  ['# ??/??', '100', null],
  ['0/8', '1', null],
  ['0\\.00', '12345', null],
  ['0\\,00', '12345', null],
  ['000-00', '100', null],
  ['0"000"', '5', null],
  ['0\\0', '5', null],
  ['"5.00"', '100', null],
  ['*00', '5', null],
  ['[$1€]0', '5', null],
  ['0.0"0"', '5', null],
  ['0 .00', '12345', null],
  ['', '5', null],
  [';;;', '5', null],
  [';-0', '5', null],
  ['"paid"', '5', null],
  ['0'.repeat(300), '5', null],
  ['0.00E+00', '1200', '1200'],
  ['0.00E+00', '1234.56', '1230'],
  ['0E+0', '12', '10'],
  ['##0.0E+0', '12345', null],
  // Which section it is.
  ['0.00;(0.00);"-"', '0', null],
  ['0.00;(0.00)', '0', '0'],
  ['0;@', '5.5', '6'],
  ['[>50]"10";0', '100', null],
  ['[>50]"10";0', '50', '50'],
  ['[Red][<0]-0.00;0.00', '5.5', '5.5'],
  ['[>=1000000]0.0,,"M";[>=1000]0.0,"K";0.00', '1500', '1.5', 'K'],
  ['[>=1000000]0.0,,"M";[>=1000]0.0,"K";0.00', '999.99', '999.99'],
  ['[=1]"one";[<>2]0;0.0', '5.5', '6'],
  ['[<5]0', '5', null],
  ['[<=5]0;0.0', '5.5', '5.5'],
  ['[<=5.5]0;0.0', '5.5', '6'],
  ['[>5]0;0.0', '5', '5'],
  ['[=5]"five";0', '5', null],
  ['[<>5]"other";0', '5', '5'],
  // What stands beside it.
  ['[$€-407] #,##0.00', '5', '5', '€'],
  ['#,##0.00\\ [$€-407]', '5', '5', '€'],
  ['[$EUR] 0', '5', '5', 'EUR'],
  ['[$-409]0', '5', '5'],
  ['[$R$ -416]#,##0.00', '5', '5', 'R$'],
  ['[$$-409]#,##0.00;[RED]-[$$-409]#,##0.00', '5', '5', '$'],
  ['_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', '5', '5', '$'],
  ['$#,##0.00', '5', '5', '$'],
  ['"US"\\$0', '5', '5', 'US$'],
  ['"day" 0', '5', '5', 'day'],
  ['0" per month"', '5', '5', 'per', 'month'],
  ['0"k"', '5', '5', 'k'],
  ['-0', '5', '5', '-'],
  ['(0)', '5', '5', '(', ')'],
  ['0"\u200F د.إ."', '5', '5', 'د.إ.'],
];

describe('a number format', () => {
  const rows = SHOWN.map(([format, decimal, number, ...words]) => ({ format, decimal, number, words }));
  test.each(rows)('$format shows of $decimal the number $number', ({ format, decimal, number, words }) => {
    const shown = readNumberFormat(format).show(decimal);
    const told = shown === undefined ? [null] : [withoutZeros(shown.number), ...shown.words];
    expect(told).toEqual([number === null ? null : withoutZeros(number), ...words]);
  });

  test.each(['dd/mm/yy', 'yyyy-mm-dd', '[h]:mm', 'mmm', 'h AM/PM', '[$-407]d. mmmm yyyy', '[mm]:ss', '0;yy'])(
    '%j shows a date',
    (format) => expect(readNumberFormat(format).isDate).toBe(true),
  );

  test('is none of dates for letters that are text', () => {
    for (const [format] of SHOWN) expect([format, readNumberFormat(format).isDate]).toEqual([format, false]);
  });

  test.each<[string, boolean]>([
    ['General', true],
    ['0.00', true],
    ['0.00;-0.00;0.00', true],
    ['@', true],
    ['_(* 0_);_(* (0);_(* "-"??_);_(@_)', true],
    ['0;@', true],
    [';;;', false],
    ['0;-0;0;', false],
    ['0;-0;0;"paid"', false],
    ['@"00"', false],
    ['0;-0;0;"-"@', false],
  ])('%j shows a text as it stands: %s', (format, isShown) => expect(readNumberFormat(format).showsText).toBe(isShown));

  test('with as many decimals as a number has shows that number, with any marks and blanks around it', () => {
    const around = fc.constantFrom('', '_-', '* ', '"€"', '[Red]', '\\ ', '[$-409]', '[$US$-409]');
    const number = fc.record({ minor: fc.nat(99_999_999_999), digits: fc.nat(3) }).map(({ minor, digits }) => {
      const text = String(minor).padStart(digits + 1, '0');
      return { digits, decimal: digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}` };
    });
    const format = fc.record({
      before: around,
      whole: fc.constantFrom('0', '#,##0', '#0', '?0', '#\\ ##0'),
      more: fc.nat(2),
      after: around,
    });
    fc.assert(
      fc.property(number, format, ({ decimal, digits }, { before, whole, more, after }) => {
        const places = digits + more === 0 ? '' : `.${'0'.repeat(digits + more)}`;
        const shown = readNumberFormat(`${before}${whole}${places}${after}`).show(decimal);
        expect(withoutZeros(shown?.number ?? '')).toBe(withoutZeros(decimal));
      }),
    );
  });

  test('of any text is read in no time, and shows a number, or none, of any decimal', () => {
    const piece = fc.constantFrom(...Array.from('0#?.,;@%/E+-_*\\"[]$€ dmy<>=5'), 'General', '[>5]', '[$€-407]', 'E+');
    const code = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    const decimal = fc.constantFrom('0', '1', '0.5', '1234.56', '99999999.999');
    fc.assert(
      fc.property(code, decimal, (format, value) => {
        expect(readNumberFormat(format).show(value)?.number ?? '0').toMatch(/^[0-9]+(?:\.[0-9]+)?$/);
      }),
      { numRuns: 2000 },
    );
    const before = process.cpuUsage();
    for (const long of ['0,'.repeat(50_000), '"'.repeat(100_000), '['.repeat(100_000), `0${','.repeat(100_000)}`]) {
      readNumberFormat(long).show('1234.56');
    }
    // What this process computed, whatever else the machine does.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(READ_CPU_MS_MAX);
  });
});

/** Zeros at the end of a fraction make no difference. */
function withoutZeros(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}

describe('the sign of a currency', () => {
  test.each<[word: string, currency: string]>([
    ['€', 'EUR'],
    ['EUR', 'EUR'],
    ['$', 'USD'],
    ['$', 'CAD'],
    ['$', 'MXN'],
    ['US$', 'USD'],
    ['R$', 'BRL'],
    ['£', 'GBP'],
    ['¥', 'JPY'],
    ['￥', 'CNY'],
    ['Kč', 'CZK'],
    ['zł', 'PLN'],
    ['kr.', 'DKK'],
    ['KR', 'SEK'],
    ['Fr.', 'CHF'],
    ['CHF', 'CHF'],
    ['₹', 'INR'],
    ['BHD', 'BHD'],
    ['د.إ.', 'AED'],
  ])('%s may stand beside an amount in %s', (word, currency) => expect(isSignOf(word, currency)).toBe(true));

  test.each<[word: string, currency: string]>([
    ['€', 'USD'],
    ['EUR', 'USD'],
    ['$', 'EUR'],
    ['$', 'GBP'],
    ['US$', 'CAD'],
    ['C$', 'USD'],
    ['¥', 'USD'],
    ['k', 'USD'],
    ['K', 'ZMW'],
    ['T€', 'EUR'],
    ['Mio.', 'EUR'],
    ['%', 'USD'],
    ['-', 'USD'],
    ['constructor', 'USD'],
    ['€', ''],
    ['$', 'usd'],
  ])('%s may not stand beside an amount in %j', (word, currency) => expect(isSignOf(word, currency)).toBe(false));
});
