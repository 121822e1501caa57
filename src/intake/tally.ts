import type { Money } from '../money.ts';

/** Adds up money per currency. */
export interface Tally {
  add(money: Money): void;
  /** One entry a currency, in alphabetic order. */
  totals(): Money[];
}

export function openTally(): Tally {
  const sums = new Map<string, bigint>();
  return {
    add({ currency, minor }) {
      sums.set(currency, (sums.get(currency) ?? 0n) + minor);
    },
    totals: () =>
      [...sums]
        .map(([currency, minor]) => ({ currency, minor }))
        .toSorted((a, b) => (a.currency < b.currency ? -1 : 1)),
  };
}
