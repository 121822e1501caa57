import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AMOUNT_MAX_UNITS,
  AMOUNT_MIN_UNITS,
  type AmountFault,
  CURRENCY_TABLE_DATE,
  currencies,
  decimalOfNumber,
  digitsOf,
  formatAmount,
  moneyOfDecimal,
  parseAmount,
} from '../src/money.ts';

const anyCurrency = fc.constantFrom(...currencies());

function unitOf(currency: string): bigint {
  return 10n ** BigInt(digitsOf(currency) ?? 0);
}

/** An amount that a payout may have, with its currency. */
const anyAmount = anyCurrency.chain((currency) =>
  fc
    .bigInt({ min: AMOUNT_MIN_UNITS * unitOf(currency), max: AMOUNT_MAX_UNITS * unitOf(currency) })
    .map((minor) => ({ minor, currency })),
);

describe('the table of currencies follows ISO 4217', () => {
  test.each([
    [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'],
    [3, 'BHD IQD JOD KWD LYD OMR TND'],
  ])('%i digits are those of %s, and of no other', (digits, codes) => {
    expect(currencies().filter((code) => digitsOf(code) === digits)).toEqual(codes.split(' '));
  });

  test.each('USD EUR GBP CHF MXN INR HUF IDR COP LBP CZK MGA MRU STN SLE VED VES XCD XCG ZWG'.split(' '))(
    '%s has two digits, whatever people use in daily life',
    (code) => {
      expect(digitsOf(code)).toBe(2);
    },
  );

  test('every code is three capital letters with 0, 2 or 3 digits, in alphabetic order and once', () => {
    const codes = currencies();
    expect(codes).toEqual([...new Set(codes)].toSorted());
    expect(codes.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
    expect(codes.filter((code) => ![0, 2, 3].includes(digitsOf(code) ?? -1))).toEqual([]);
  });

  test('says of which day it is', () => {
    expect(CURRENCY_TABLE_DATE).toMatch(/^20[0-9]{2}-[01][0-9]-[0-3][0-9]$/);
  });

  describe.each([
    ['no currency and testing', 'XXX XTS'],
    ['metals', 'XAU XAG XPD XPT'],
    ['funds and units of account', 'BOV CHE CHW CLF COU MXV USN UYI UYW XDR XSU XUA XBA XBB XBC XBD'],
    ['withdrawn', 'ANG BGN BYR CUC DEM EEK FRF GHC HRK LTL LVL MRO SLL STD TRL VEF ZMK ZWD ZWL'],
    ['never in it', 'BTC CNH GBX USDT US USDD usd Usd'],
    ['names that every object has', 'constructor __proto__ toString'],
  ])('%s', (_kind, codes) => {
    test.each(['', ' USD', 'USD ', ...codes.split(' ')])('"%s" is no currency', (code) => {
      expect(digitsOf(code)).toBeUndefined();
      expect(parseAmount('100', code)).toBe('syntax');
      expect(moneyOfDecimal('100', code)).toBeUndefined();
    });
  });
});

describe('an amount of a payout file', () => {
  test.each<[case_: number, text: string, currency: string, minor: bigint]>([
    [62, '1.000', 'BHD', 1000n],
    [62, '1.234', 'BHD', 1234n],
    [68, '100000000', 'USD', 10_000_000_000n],
    [68, '100000000.00', 'USD', 10_000_000_000n],
    [68, '100000000', 'JPY', 100_000_000n],
    [68, '100000000.000', 'KWD', 100_000_000_000n],
    [68, '99999999.99', 'USD', 9_999_999_999n],
    [67, '1', 'USD', 100n],
    [67, '1', 'JPY', 1n],
    [67, '1.00', 'USD', 100n],
    [58, '1234.56', 'USD', 123_456n],
    [61, '10', 'JPY', 10n],
    [61, '100.5', 'USD', 10_050n],
  ])('case %i: %s %s is taken exactly', (...[, text, currency, minor]) => {
    expect(parseAmount(text, currency)).toEqual({ minor, currency });
  });

  test.each<[case_: number, text: string, currency: string, fault: AmountFault]>([
    [58, '1,234.56', 'USD', 'syntax'],
    [59, '1.234,56', 'EUR', 'syntax'],
    [59, '1234,56', 'EUR', 'syntax'],
    [59, '1 234.56', 'EUR', 'syntax'],
    [59, '1\u00a0234.56', 'EUR', 'syntax'],
    [59, '1\u202f234.56', 'EUR', 'syntax'],
    [59, "1'234.56", 'CHF', 'syntax'],
    [60, '1.234', 'USD', 'scale'],
    [60, '1.230', 'USD', 'scale'],
    [60, '100.000', 'USD', 'scale'],
    [61, '100.005', 'USD', 'scale'],
    [61, '10.5', 'JPY', 'scale'],
    [61, '10.0', 'JPY', 'scale'],
    [62, '1.0000', 'BHD', 'scale'],
    [63, '100.', 'USD', 'syntax'],
    [63, '100.', 'JPY', 'syntax'],
    [63, '.5', 'USD', 'syntax'],
    [63, '00100', 'USD', 'syntax'],
    [63, '01', 'USD', 'syntax'],
    [63, '00.50', 'USD', 'syntax'],
    [63, '+100', 'USD', 'syntax'],
    [63, '-100', 'USD', 'syntax'],
    [63, '(100)', 'USD', 'syntax'],
    [63, '100-', 'USD', 'syntax'],
    [64, '1e3', 'USD', 'syntax'],
    [64, '1E+3', 'USD', 'syntax'],
    [64, '0x1F', 'USD', 'syntax'],
    [64, 'Infinity', 'USD', 'syntax'],
    [64, 'NaN', 'USD', 'syntax'],
    [64, '1_000', 'USD', 'syntax'],
    [65, '\uff11\uff10\uff10', 'USD', 'syntax'],
    [65, '\u0661\u0660\u0660', 'USD', 'syntax'],
    [66, '$100', 'USD', 'syntax'],
    [66, '100 USD', 'USD', 'syntax'],
    [66, '100\u20ac', 'EUR', 'syntax'],
    [67, '', 'USD', 'syntax'],
    [67, ' ', 'USD', 'syntax'],
    [67, '0', 'USD', 'range'],
    [67, '0.00', 'USD', 'range'],
    [67, '0.99', 'USD', 'range'],
    [67, '0.999', 'KWD', 'range'],
    [67, '0', 'JPY', 'range'],
    [68, '100000000.01', 'USD', 'range'],
    [68, '100000001', 'JPY', 'range'],
    [68, '100000000.001', 'BHD', 'range'],
    [68, '99999999999999999999', 'USD', 'range'],
    [96, ' 100', 'USD', 'syntax'],
    [96, '100 ', 'USD', 'syntax'],
    [96, '100\n', 'USD', 'syntax'],
    [97, '-', 'USD', 'syntax'],
    [97, 'null', 'USD', 'syntax'],
  ])('case %i: %j %s is refused: %s', (...[, text, currency, fault]) => {
    expect(parseAmount(text, currency)).toBe(fault);
  });

  test('of any length is answered, never thrown at', () => {
    expect(parseAmount('9'.repeat(100_000), 'USD')).toBeTypeOf('string');
    expect(parseAmount(`1.${'0'.repeat(100_000)}`, 'USD')).toBeTypeOf('string');
  });

  test('comes back from its own text, in every currency', () => {
    fc.assert(
      fc.property(anyAmount, (money) => {
        expect(parseAmount(formatAmount(money), money.currency)).toEqual(money);
      }),
    );
  });

  test('is taken only in the one form that the grammar allows', () => {
    const mostlyAmounts = fc.string({ unit: fc.constantFrom(...'0123456789.,+-eE _'.split('')), maxLength: 12 });
    fc.assert(
      fc.property(fc.oneof(mostlyAmounts, fc.string({ unit: 'grapheme' })), anyCurrency, (text, currency) => {
        const digits = digitsOf(currency) ?? 0;
        const fraction = digits === 0 ? '' : `(?:\\.[0-9]{1,${digits}})?`;
        const inGrammar = new RegExp(`^(?:0|[1-9][0-9]{0,8})${fraction}$`).test(text);
        const money = parseAmount(text, currency);
        // What is in the grammar can only be too small or too large.
        expect(inGrammar ? ['object', 'range'] : ['syntax', 'scale', 'range']).toContain(
          typeof money === 'string' ? money : 'object',
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe('an amount as text', () => {
  test.each([
    [{ minor: 123_450n, currency: 'USD' }, '1234.50'],
    [{ minor: 1000n, currency: 'JPY' }, '1000'],
    [{ minor: 1000n, currency: 'BHD' }, '1.000'],
    [{ minor: 0n, currency: 'USD' }, '0.00'],
    [{ minor: 5n, currency: 'USD' }, '0.05'],
    [{ minor: 5n, currency: 'KWD' }, '0.005'],
    [{ minor: -5n, currency: 'USD' }, '-0.05'],
    [{ minor: -12_345n, currency: 'USD' }, '-123.45'],
    [{ minor: -7n, currency: 'JPY' }, '-7'],
    [{ minor: 123_456_789_012_345_678_901n, currency: 'USD' }, '1234567890123456789.01'],
  ])('%o is %s', (money, text) => {
    expect(formatAmount(money)).toBe(text);
  });

  test('has exactly the digits of its currency', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), anyCurrency, (minor, currency) => {
        const digits = digitsOf(currency) ?? 0;
        const text = formatAmount({ minor, currency });
        expect(text).toMatch(digits === 0 ? /^-?[0-9]+$/ : new RegExp(`^-?[0-9]+\\.[0-9]{${digits}}$`));
        expect(BigInt(text.replace('.', ''))).toBe(minor);
      }),
    );
  });
});

describe('a decimal of a reply', () => {
  test.each([
    ['2438.19', 'MXN', 243_819n],
    ['2438.190000', 'MXN', 243_819n],
    ['2438', 'MXN', 243_800n],
    ['1000.00', 'JPY', 1000n],
    ['0', 'USD', 0n],
    ['0.00', 'USD', 0n],
    ['0.01', 'USD', 1n],
    ['1.2340', 'BHD', 1234n],
    ['250000000.5', 'USD', 25_000_000_050n],
    ['123456789012345678901.23', 'USD', 12_345_678_901_234_567_890_123n],
  ])('%s %s is exact, also outside the limits of a payout', (text, currency, minor) => {
    expect(moneyOfDecimal(text, currency)).toEqual({ minor, currency });
  });

  test.each([
    ['2438.191', 'MXN'],
    ['1000.5', 'JPY'],
    ['1.2345', 'BHD'],
    ['0.001', 'USD'],
    ['-1.00', 'USD'],
    ['+1', 'USD'],
    ['1e3', 'USD'],
    ['1.', 'USD'],
    ['.5', 'USD'],
    ['01', 'USD'],
    ['1,000', 'USD'],
    ['', 'USD'],
    [' 1', 'USD'],
    ['NaN', 'USD'],
    ['1', 'XAU'],
  ])('%j %s is no amount: nothing is rounded or guessed', (text, currency) => {
    expect(moneyOfDecimal(text, currency)).toBeUndefined();
  });

  test('gives back every amount that we write, with any zeros behind it', () => {
    fc.assert(
      fc.property(anyAmount, fc.nat(6), (money, zeros) => {
        const text = formatAmount(money);
        const padded = text.includes('.') || zeros === 0 ? text + '0'.repeat(zeros) : `${text}.${'0'.repeat(zeros)}`;
        expect(moneyOfDecimal(padded, money.currency)).toEqual(money);
      }),
    );
  });

  test('gives back every amount that went through a JSON number', () => {
    fc.assert(
      fc.property(anyAmount, (money) => {
        const value: unknown = JSON.parse(formatAmount(money));
        const text = typeof value === 'number' ? decimalOfNumber(value) : undefined;
        expect(moneyOfDecimal(text ?? '', money.currency)).toEqual(money);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a JSON number as a decimal', () => {
  test.each([
    [2438.19, '2438.19'],
    [99_999_999.99, '99999999.99'],
    [0.1 + 0.2, '0.30000000000000004'],
    [1e-7, '0.0000001'],
    [1.5e-7, '0.00000015'],
    [1.234e-10, '0.0000000001234'],
    [1e21, '1000000000000000000000'],
    [1.5e21, '1500000000000000000000'],
    [1.234_567_890_123_4e25, '12345678901234000000000000'],
    [0, '0'],
    [-0, '0'],
    [-1e-7, '-0.0000001'],
    [-1.5e30, `-15${'0'.repeat(29)}`],
    [5e-324, `0.${'0'.repeat(323)}5`],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('%d is %s', (value, text) => {
    expect(decimalOfNumber(value)).toBe(text);
  });

  test.each([Number.NaN, Infinity, -Infinity])('%d is none', (value) => {
    expect(decimalOfNumber(value)).toBeUndefined();
  });

  test('has no exponent, is the same number again, and has no digit more than that takes', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = decimalOfNumber(value) ?? '';
        expect(text).toMatch(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/);
        expect(Object.is(Number.parseFloat(text), value === 0 ? 0 : value)).toBe(true);
        expect(significant(text)).toBe(significant(shortest(value)));
      }),
      { numRuns: 5000 },
    );
  });
});

/** The fewest digits that tell a double from all others: at most 17 do. */
function shortest(value: number): string {
  for (let digits = 1; digits < 17; digits++) {
    const text = value.toExponential(digits - 1);
    if (Number.parseFloat(text) === value) return text;
  }
  return value.toExponential(16);
}

/** How many digits of a decimal carry meaning. */
function significant(text: string): number {
  const [mantissa = ''] = text.split('e');
  return mantissa.replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length;
}
