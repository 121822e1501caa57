import type { Money } from '../../money.ts';
import { balanceLines, type NeededDocument } from '../../report/document.ts';
import { shownAmount, shownDecimal } from './figures.ts';

/** An amount with its currency's digits, and the currency. */
export function Amount({ money }: { money: Money }) {
  return (
    <span class="money">
      {shownAmount(money)} <abbr>{money.currency}</abbr>
    </span>
  );
}

/** What is needed with the balance beside it, in each currency of which the service was asked. */
export function Balances({ needed }: { needed: readonly NeededDocument[] }) {
  return balanceLines(needed, shownDecimal).map((line) => (
    <p key={line} class={line.includes(': short by ') ? 'problem' : 'hint'}>
      {line}
    </p>
  ));
}
