import { addMoney, type Money } from '../money.ts';
import { outcomeOf, type Payout } from '../payout.ts';

/** What to book in one currency; a bigint is minor units. */
export interface BookingEntry {
  readonly currency: string;
  /** Source amounts of the payments that are pending or paid. */
  readonly debited: bigint;
  readonly debitedPayments: number;
  /** Fees and taxes of those payments, exactly as the service named them: perhaps finer than minor units. */
  readonly fees: Money;
  /** Source amounts of the payments that were debited and came back. */
  readonly returned: bigint;
  readonly returnedPayments: number;
  /** Fees and taxes of those; nothing tells whether they came back too. */
  readonly returnedFees: Money;
}

export interface Booking {
  /** In alphabetic order of currencies; a currency in which only fees were taken has an entry too. */
  readonly entries: readonly BookingEntry[];
  /** Pending, paid and returned payments whose source amount the service did not name: they are in no entry's amounts. */
  readonly withoutAmount: number;
}

type Entry = { -readonly [Key in keyof BookingEntry]: BookingEntry[Key] };

/**
 * Adds up what was debited per source currency, for booking. The service debits while a payment is under
 * way, releases the funds when it fails and credits them back when it is returned: pending and
 * paid payments count as debited, returned ones are shown apart, failed ones have cost nothing.
 */
export function openBooking(): { add(payout: Payout): void; result(): Booking } {
  const entries = new Map<string, Entry>();
  let withoutAmount = 0;

  function entryOf(currency: string): Entry {
    const entry = entries.get(currency) ?? emptyEntry(currency);
    entries.set(currency, entry);
    return entry;
  }

  function addAmount(amount: Money, returned: boolean): void {
    const entry = entryOf(amount.currency);
    entry[returned ? 'returned' : 'debited'] += amount.minor;
    entry[returned ? 'returnedPayments' : 'debitedPayments'] += 1;
  }

  function addFee(fee: Money, to: 'fees' | 'returnedFees'): void {
    const entry = entryOf(fee.currency);
    entry[to] = addMoney(entry[to], fee);
  }

  return {
    add(payout) {
      const outcome = outcomeOf(payout.state);
      if (outcome !== 'pending' && outcome !== 'paid' && outcome !== 'returned') return;
      const returned = outcome === 'returned';
      if (payout.sourceAmount === null) withoutAmount += 1;
      else addAmount(payout.sourceAmount, returned);
      for (const fee of payout.fees) addFee(fee, returned ? 'returnedFees' : 'fees');
    },
    result: () => ({
      entries: [...entries.keys()].toSorted().map((currency) => ({ ...entryOf(currency) })),
      withoutAmount,
    }),
  };
}

function emptyEntry(currency: string): Entry {
  const nothing = { minor: 0n, currency };
  const counts = { debited: 0n, debitedPayments: 0, returned: 0n, returnedPayments: 0 };
  return { currency, ...counts, fees: nothing, returnedFees: nothing };
}
