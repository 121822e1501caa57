import { formatAmount } from '../../money.ts';
import type { Outcome } from '../../payout.ts';
import { type FileTotal, perOutcome } from '../../report/totals.ts';
import { shownAmount } from '../parts/figures.ts';
import { Bar } from '../parts/outcome-bar.tsx';

/** The money of a file as a bar for each currency, with a part for each outcome. */
export function MoneyBars({ totals }: { totals: readonly FileTotal[] }) {
  return (
    <div class="outcomes">
      {totals.map(({ currency, file, outcomes }) => {
        const amountOf = (outcome: Outcome): string =>
          `${shownAmount({ minor: outcomes[outcome], currency })} ${currency}`;
        return (
          <div key={currency}>
            <p class="label">
              {shownAmount({ minor: file, currency })} {currency}
            </p>
            <Bar outcomes={drawn(outcomes, currency)} wordsOf={amountOf} />
          </div>
        );
      })}
    </div>
  );
}

/** How wide each part is drawn: nothing is added up with it. */
function drawn(outcomes: FileTotal['outcomes'], currency: string): Record<Outcome, number> {
  return perOutcome((outcome) => Number(formatAmount({ minor: outcomes[outcome], currency })));
}
