import { expect, test } from 'vitest';
import { shownAmount, shownAmountsIn, shownCount, shownDecimal } from '../../src/web/parts/figures.ts';

test.each([
  ['0.00', '0.00'],
  ['999.99', '999.99'],
  ['1000', '1,000'],
  ['-1234567.5', '-1,234,567.5'],
  ['123456.789', '123,456.789'],
  ['100000000000000000000.01', '100,000,000,000,000,000,000.01'],
])('the decimal %s is shown as %s', (decimal, shown) => {
  expect(shownDecimal(decimal)).toBe(shown);
});

test('a text that is no decimal is shown as it is', () => {
  for (const text of ['', '–', '1e9', '1,000', '1234.', '.5', ' 1000', '0x1000']) expect(shownDecimal(text)).toBe(text);
});

test('an amount has its digits by its currency, however large it is', () => {
  expect(shownAmount({ minor: 123456789012345678901n, currency: 'USD' })).toBe('1,234,567,890,123,456,789.01');
  expect(shownAmount({ minor: 1234567n, currency: 'JPY' })).toBe('1,234,567');
  expect(shownCount(1234567)).toBe('1,234,567');
});

test('of a sentence only what stands before a currency is an amount', () => {
  expect(shownAmountsIn('from 10000.00 EUR: 2 people; payment 1234567, port 8420')).toBe(
    'from 10,000.00 EUR: 2 people; payment 1234567, port 8420',
  );
  expect(shownAmountsIn('INV-1000 USD')).toBe('INV-1000 USD');
});
