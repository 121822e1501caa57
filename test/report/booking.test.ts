import { describe, expect, test } from 'vitest';
import { PAYOUT_STATES, type Payout } from '../../src/payout.ts';
import { type Booking, openBooking } from '../../src/report/booking.ts';
import { payment, usd } from './rows.ts';

function bookingOf(payouts: readonly Payout[]): Booking {
  const booking = openBooking();
  for (const payout of payouts) booking.add(payout);
  return booking.result();
}

const NOTHING = {
  debited: 0n,
  debitedPayments: 0,
  fees: usd(0n),
  returned: 0n,
  returnedPayments: 0,
  returnedFees: usd(0n),
};

describe('booking', () => {
  test.each(['accepted', 'completed'] as const)('counts a payment that is %s as debited, with its fees', (state) => {
    expect(bookingOf([payment(2, state)]).entries).toEqual([
      { ...NOTHING, currency: 'USD', debited: 10_050n, debitedPayments: 1, fees: usd(125n) },
    ]);
  });

  test('adds up fees exactly, finer than their currency as they are', () => {
    const fees = [{ ...usd(37n), digits: 4 }];
    const payouts = [payment(2, 'completed', { fees }), payment(3, 'completed', { fees: [usd(100n)] })];
    expect(bookingOf(payouts).entries[0]?.fees).toEqual({ ...usd(10_037n), digits: 4 });
  });

  test('shows what came back apart from what was debited', () => {
    expect(bookingOf([payment(2, 'completed'), payment(3, 'returned')]).entries).toEqual([
      {
        currency: 'USD',
        debited: 10_050n,
        debitedPayments: 1,
        fees: usd(125n),
        returned: 10_050n,
        returnedPayments: 1,
        returnedFees: usd(125n),
      },
    ]);
  });

  test.each(PAYOUT_STATES.filter((state) => !['accepted', 'completed', 'returned'].includes(state)))(
    'counts nothing for a payout that is %s',
    (state) => {
      expect(bookingOf([payment(2, state)])).toEqual({ entries: [], withoutAmount: 0 });
    },
  );

  test('gives fees in a currency of their own an entry of their own', () => {
    const payouts = [payment(2, 'completed', { fees: [usd(100n), { minor: 30n, currency: 'EUR' }] })];
    expect(bookingOf(payouts).entries).toEqual([
      {
        ...NOTHING,
        currency: 'EUR',
        fees: { minor: 30n, currency: 'EUR' },
        returnedFees: { minor: 0n, currency: 'EUR' },
      },
      { ...NOTHING, currency: 'USD', debited: 10_050n, debitedPayments: 1, fees: usd(100n) },
    ]);
  });

  test('says how many payments have no known source amount', () => {
    expect(bookingOf([payment(2, 'accepted', { sourceAmount: null, fees: [] })])).toEqual({
      entries: [],
      withoutAmount: 1,
    });
  });
});
