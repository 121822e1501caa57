import { describe, expect, test } from 'vitest';
import { paymentBody, quoteBody } from '../../src/service/bodies.ts';
import { ROW } from '../support/payout-row.ts';

const DEFAULTS = { payoutCategory: 'BANK', payinCategory: 'PRE_FUNDING' };

describe('quoteBody', () => {
  test('carries exactly the documented fields', () => {
    expect(quoteBody(ROW, DEFAULTS)).toBe(
      '{"quoteAmount":123.45,"quoteAmountType":"SOURCE_AMOUNT","sourceCurrency":"USD","destinationCurrency":"MXN",' +
        '"payoutCategory":"BANK","payinCategory":"PRE_FUNDING"}',
    );
  });

  test("takes the row's own categories and countries", () => {
    const row = {
      ...ROW,
      payoutCategory: 'CRYPTO',
      payinCategory: 'JIT_FUNDING',
      sourceCountry: 'US',
      destinationCountry: 'MX',
    };
    expect(JSON.parse(quoteBody(row, DEFAULTS))).toEqual({
      quoteAmount: 123.45,
      quoteAmountType: 'SOURCE_AMOUNT',
      sourceCurrency: 'USD',
      destinationCurrency: 'MXN',
      payoutCategory: 'CRYPTO',
      payinCategory: 'JIT_FUNDING',
      sourceCountry: 'US',
      destinationCountry: 'MX',
    });
  });

  test.each([
    [1n, 'JPY', '1'],
    [100n, 'USD', '1.00'],
    [2000n, 'USD', '20.00'],
    [1_001n, 'BHD', '1.001'],
    [10_000_000_000n, 'USD', '100000000.00'],
    // As a floating-point number this one would lose its last digits.
    [90_071_992_547_409_931n, 'USD', '900719925474099.31'],
  ])('writes %s minor units of %s as the number %s', (minor, currency, text) => {
    const body = quoteBody({ ...ROW, amount: { minor, currency } }, DEFAULTS);
    expect(body.startsWith(`{"quoteAmount":${text},"`)).toBe(true);
    expect(() => JSON.parse(body) as unknown).not.toThrow();
  });
});

describe('paymentBody', () => {
  const QUOTE_ID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';

  test('carries exactly quote, beneficiary and reference when the row gives no more', () => {
    expect(paymentBody(ROW, QUOTE_ID)).toBe(
      `{"quoteId":"${QUOTE_ID}","beneficiaryIdentityId":"${ROW.beneficiaryIdentityId}","internalId":"INV-1"}`,
    );
  });

  test('carries originator, purpose and source of cash where given', () => {
    const row = {
      ...ROW,
      originatorIdentityId: '99999999-2222-4333-8444-555555555555',
      purposeCode: 'OTHR',
      sourceOfCash: 'COMP' as const,
    };
    expect(paymentBody(row, QUOTE_ID)).toBe(
      `{"quoteId":"${QUOTE_ID}","beneficiaryIdentityId":"${ROW.beneficiaryIdentityId}",` +
        '"originatorIdentityId":"99999999-2222-4333-8444-555555555555","internalId":"INV-1","purposeCode":"OTHR",' +
        '"sourceOfCash":"COMP"}',
    );
  });
});
