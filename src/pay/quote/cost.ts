import { minorRoundedUp } from '../../money.ts';
import type { CostLimit, PayoutRow } from '../../payout.ts';
import type { UsableQuote } from './quote-answer.ts';

/** What a quote costs: minor units that leave in the source currency for minor units that arrive in the destination currency. */
export interface Cost {
  readonly debited: bigint;
  readonly arrives: bigint;
}

const BASIS_POINTS = 10_000n;

/**
 * The cost of a quote. Fees and taxes in the source currency count as debited on top of the source amount, those in the
 * destination currency (where it is another one) as taken from what arrives; what is finer than a minor unit
 * counts as one. Null when the quote does not show both amounts,
 * or has fees in a third currency.
 */
export function costOf(
  quote: Pick<UsableQuote, 'sourceAmount' | 'destinationAmount' | 'fees'>,
  { sourceCurrency, destinationCurrency }: Pick<PayoutRow, 'sourceCurrency' | 'destinationCurrency'>,
): Cost | null {
  if (quote.sourceAmount === null || quote.destinationAmount === null) return null;
  let debited = quote.sourceAmount.minor;
  let arrives = quote.destinationAmount.minor;
  for (const fee of quote.fees) {
    if (fee.currency === sourceCurrency) debited += minorRoundedUp(fee);
    else if (fee.currency === destinationCurrency) arrives -= minorRoundedUp(fee);
    else return null;
  }
  return arrives > 0n ? { debited, arrives } : null;
}

/** Whether a cost is above a limit: more is debited for each unit that arrives than when it was handed in, and the drift on top. */
export function isAbove({ debited, arrives }: Cost, limit: CostLimit): boolean {
  return debited * limit.arrives * BASIS_POINTS > limit.debited * arrives * (BASIS_POINTS + limit.driftBp);
}

/** Why a quote must not be armed under the payout's limit, in words for people; undefined when it may. */
export function tooDear(cost: Cost | null, limit: CostLimit | null): string | undefined {
  if (limit === null) return undefined;
  if (limit.debited === 0n)
    return 'what it costs could not be found out when it was handed in, so it cannot be compared';
  if (cost === null)
    return 'its cost cannot be compared with what it was when it was handed in: the quote does not show all amounts';
  if (!isAbove(cost, limit)) return undefined;
  return `it costs over ${limit.driftBp} basis points more than when it was handed in: ${cost.debited} for ${cost.arrives} minor units, not ${limit.debited} for ${limit.arrives}`;
}
