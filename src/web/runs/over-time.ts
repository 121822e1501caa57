import { addMoney, type Money } from '../../money.ts';
import type { Payout } from '../../payout.ts';

/** Moments of a chart, from the first payment to the last one. */
const STEPS = 24;

/** What had been paid of a run by a moment. */
export interface PaidBy {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rows: number;
  /** What left the payer's accounts, one entry for each currency. */
  readonly money: readonly Money[];
}

/** Adds up what was paid by and by; what came back stays counted, for it was paid. */
export function openOverTime(): { add(payout: Payout): void; result(): PaidBy[] } {
  const paid: { at: number; money: Money }[] = [];
  return {
    add({ history, sourceAmount, row }) {
      const at = history.find(({ to }) => to === 'completed')?.at;
      if (at !== undefined) paid.push({ at, money: sourceAmount ?? row.amount });
    },
    result() {
      const sorted = paid.toSorted((one, other) => one.at - other.at);
      const [first, last] = [sorted[0]?.at, sorted.at(-1)?.at];
      if (first === undefined || last === undefined) return [];
      const sums = new Map<string, Money>();
      let rows = 0;
      return Array.from({ length: STEPS + 1 }, (_, step) => {
        const at = Math.ceil(first + ((last - first) * step) / STEPS);
        for (let next = sorted[rows]; next !== undefined && next.at <= at; next = sorted[rows]) {
          const before = sums.get(next.money.currency);
          sums.set(next.money.currency, before === undefined ? next.money : addMoney(before, next.money));
          rows++;
        }
        return { at, rows, money: [...sums.values()] };
      });
    },
  };
}
