import { describe, expect, test } from 'vitest';
import { indicationsOf } from '../../src/runs/decide/choices.ts';
import { payoutOf } from '../pay/examples.ts';

describe('against a payment', () => {
  test('speaks no look-up that the service did not answer, however many there were', () => {
    const { notPaid } = indicationsOf(payoutOf({ state: 'unknown', attempts: 1, lookUps: 3, notFoundAt: null }));
    expect(notPaid.filter((sign) => sign.includes('look-up') || sign.includes('knew no'))).toEqual([]);
  });

  test('speaks that the service knew none, with the time', () => {
    const notFoundAt = Date.UTC(2026, 0, 31, 9);
    const { notPaid } = indicationsOf(payoutOf({ state: 'unknown', attempts: 1, lookUps: 3, notFoundAt }));
    expect(notPaid).toContain('the service knew no payment for it at 2026-01-31T09:00:00.000Z');
  });
});
