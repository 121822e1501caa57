import { formatAmount, type Money } from '../../money.ts';

/** An amount with its currency's digits, and the currency. */
export function Amount({ money }: { money: Money }) {
  return (
    <span class="money">
      {formatAmount(money)} <abbr>{money.currency}</abbr>
    </span>
  );
}
