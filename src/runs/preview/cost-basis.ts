import { type Cost, costOf } from '../../pay/quote/cost.ts';
import type { UsableQuote } from '../../pay/quote/quote-answer.ts';
import type { PayoutRow } from '../../payout.ts';

/** A row, and a quote that was given for it. */
export interface QuotedRow {
  readonly row: PayoutRow;
  readonly quote: UsableQuote;
}

/** What the quotes of a corridor cost (src/pay/quote/cost.ts tells how fees count), to compare later ones with. */
export interface CostBasis {
  /** All that would be debited for the quoted rows, for all that would arrive: large rows weigh more than small ones. */
  readonly mean: Cost;
  /** The dearest quote. A fixed fee makes small payouts dearer than large ones. */
  readonly worst: Cost;
}

/** The basis that the quotes of one corridor give; null when none of them shows what it costs. */
export function costBasisOf(quoted: readonly QuotedRow[]): CostBasis | null {
  const costs = quoted.flatMap(({ row, quote }) => costOf(quote, row) ?? []);
  const [first] = costs;
  if (first === undefined) return null;
  return {
    mean: {
      debited: costs.reduce((sum, { debited }) => sum + debited, 0n),
      arrives: costs.reduce((sum, { arrives }) => sum + arrives, 0n),
    },
    worst: costs.reduce((worst, cost) => (isDearer(cost, worst) ? cost : worst), first),
  };
}

function isDearer(one: Cost, other: Cost): boolean {
  return one.debited * other.arrives > other.debited * one.arrives;
}

/** A cost as text that is easy to keep: `debited arrives`, in minor units of the source and the destination currency. */
export function costText({ debited, arrives }: Cost): string {
  return `${debited} ${arrives}`;
}
