import type { Money } from '../../money.ts';
import { shownAmount } from './figures.ts';

/** An amount with its currency's digits, and the currency. */
export function Amount({ money }: { money: Money }) {
  return (
    <span class="money">
      {shownAmount(money)} <abbr>{money.currency}</abbr>
    </span>
  );
}
