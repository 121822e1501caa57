import { assert, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { currencies, decimalOfNumber, digitsOf, type Money, moneyOfDecimal } from '../../src/money.ts';
import { termsOf, totalOf, wireNumber } from '../../src/sandbox/quotes/rates.ts';
import { openDesk } from './desk.ts';

const currency = constantFrom(...currencies());
const corridor = record({
  sourceCurrency: currency,
  destinationCurrency: currency,
  amountType: constantFrom('SOURCE_AMOUNT' as const, 'DESTINATION_AMOUNT' as const),
  amount: integer({ min: 1_000, max: 100_000_000_000 }).map((thousandths) => thousandths / 1000),
});

/** A decimal text as a fraction, in the plainest way there is. */
function fractionOf(text: string): { numerator: bigint; denominator: bigint } {
  const [whole = '', decimals = ''] = text.split('.');
  return { numerator: BigInt(whole + decimals), denominator: 10n ** BigInt(decimals.length) };
}

/** Whether `minor` is the integer nearest to a fraction, the upper one of two that are as near. */
function isHalfUp(minor: bigint, numerator: bigint, denominator: bigint): boolean {
  return (
    2n * minor * denominator <= 2n * numerator + denominator &&
    2n * numerator + denominator < 2n * (minor + 1n) * denominator
  );
}

/** A number of an answer as a client reads it. */
function wireMoney(value: number, code: string): Money | undefined {
  return moneyOfDecimal(decimalOfNumber(value) ?? '', code);
}

function unitOf(code: string): bigint {
  return 10n ** BigInt(digitsOf(code) ?? 0);
}

test('the amount that was asked for is kept, rounded HALF_UP to its currency', () => {
  assert(
    property(corridor, (request) => {
      const terms = termsOf(request);
      const asked = request.amountType === 'SOURCE_AMOUNT' ? terms.source : terms.destination;
      const { numerator, denominator } = fractionOf(decimalOfNumber(request.amount) ?? '');
      expect(isHalfUp(asked.minor, numerator * unitOf(asked.currency), denominator)).toBe(true);
    }),
  );
});

test('the amounts tie: the other amount follows from the one asked for and the rate, rounded HALF_UP', () => {
  assert(
    property(corridor, (request) => {
      const { source, destination, rate } = termsOf(request);
      const { numerator, denominator } = fractionOf(rate);
      const [from, to] = [unitOf(source.currency), unitOf(destination.currency)];
      const ties =
        request.amountType === 'SOURCE_AMOUNT'
          ? isHalfUp(destination.minor, source.minor * numerator * to, from * denominator)
          : isHalfUp(source.minor, destination.minor * denominator * from, to * numerator);
      expect(ties).toBe(true);
    }),
  );
});

test('a rate has eight significant digits and stands in JSON as it is', () => {
  assert(
    property(corridor, (request) => {
      const { rate } = termsOf(request);
      expect(rate.replace('.', '').replace(/^0+/, '').length).toBeLessThanOrEqual(8);
      expect(decimalOfNumber(JSON.parse(JSON.stringify(Number.parseFloat(rate))))).toBe(rate);
    }),
  );
});

test('there and back again costs the spread of both corridors, and within one currency nothing', () => {
  assert(
    property(corridor, ({ sourceCurrency, destinationCurrency }) => {
      const ask = { amount: 100, amountType: 'SOURCE_AMOUNT' as const };
      const there = termsOf({ ...ask, sourceCurrency, destinationCurrency });
      const back = termsOf({ ...ask, sourceCurrency: destinationCurrency, destinationCurrency: sourceCurrency });
      const kept = Number.parseFloat(there.rate) * Number.parseFloat(back.rate);
      expect(sourceCurrency === destinationCurrency ? there.rate === '1' : kept > 0.983 && kept < 0.997).toBe(true);
    }),
  );
});

test('fees are in the source currency, add up, and read back from JSON as the same money', () => {
  assert(
    property(corridor, (request) => {
      const { fees } = termsOf(request);
      const total = totalOf(fees, request.sourceCurrency);
      expect(total.minor).toBe(fees.map((fee) => fee.amount.minor).reduce((sum, minor) => sum + minor));
      expect(wireMoney(wireNumber(total), request.sourceCurrency)).toEqual(total);
      expect(fees.every((fee) => fee.amount.currency === request.sourceCurrency && fee.amount.minor >= 0n)).toBe(true);
    }),
  );
});

test.each([
  { sourceCurrency: 'USD', destinationCurrency: 'JPY', quoteAmount: 20.005, sourceAmount: 20.01 },
  { sourceCurrency: 'JPY', destinationCurrency: 'USD', quoteAmount: 1000.5, sourceAmount: 1001 },
  { sourceCurrency: 'BHD', destinationCurrency: 'USD', quoteAmount: 1.0005, sourceAmount: 1.001 },
  { sourceCurrency: 'USD', destinationCurrency: 'USD', quoteAmount: 100_000_000, sourceAmount: 100_000_000 },
])('on the wire $quoteAmount $sourceCurrency is $sourceAmount', async ({ sourceAmount, ...request }) => {
  const desk = await openDesk();
  const [quote] = (await desk.quote(request)).json.quotes;
  expect(quote.sourceAmount).toBe(sourceAmount);
  expect(wireMoney(quote.destinationAmount, request.destinationCurrency)).toBeDefined();
  const [fees] = quote.fees;
  const parts = fees.feeBreakdown.map((part) => wireMoney(part.calculatedFee, fees.feeCurrency)?.minor ?? 0n);
  const sum = parts.reduce((total, minor) => total + minor);
  expect(wireMoney(fees.totalFee, fees.feeCurrency)?.minor).toBe(sum);
});

test('DESTINATION_AMOUNT: the destination is what was asked for', async () => {
  const desk = await openDesk();
  const [quote] = (await desk.quote({ quoteAmountType: 'DESTINATION_AMOUNT', quoteAmount: 2438.19 })).json.quotes;
  expect(quote).toMatchObject({ destinationAmount: 2438.19, destinationCurrency: 'MXN', sourceCurrency: 'USD' });
  expect(quote.sourceAmount).toBeGreaterThan(100);
});
