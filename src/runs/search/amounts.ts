import { compareMoney, exactMoney, type Money } from '../../money.ts';

/** Two decimals, whatever the currency; '' for no limit. */
export interface AmountRange {
  readonly amountFrom: string;
  readonly amountTo: string;
}

/** Whether an amount lies in a range, its ends included. */
export function amountsIn({ amountFrom, amountTo }: AmountRange): (amount: Money) => boolean {
  const ends = new Map<string, { least: Money | undefined; most: Money | undefined }>();
  return (amount) => {
    const { currency } = amount;
    const { least, most } = ends.get(currency) ?? {
      least: exactMoney(amountFrom, currency),
      most: exactMoney(amountTo, currency),
    };
    ends.set(currency, { least, most });
    return (
      (least === undefined || compareMoney(amount, least) >= 0) &&
      (most === undefined || compareMoney(amount, most) <= 0)
    );
  };
}

/**
 * How two amounts stand to each other in a list: currencies in alphabetic order, for amounts of different ones cannot be
 * compared; within one as `direction` says. What has no amount comes last.
 */
export function compareListed(one: Money | undefined, other: Money | undefined, direction: 1 | -1): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return compareText(one.currency, other.currency) || direction * compareMoney(one, other);
}

/** By the code units of the texts. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
