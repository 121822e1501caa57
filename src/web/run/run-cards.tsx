import { formatAmount } from '../../money.ts';
import { isOver, type Run } from '../../payout.ts';
import { fileTotals, sumOutcomes } from '../../report/totals.ts';
import { doCountersTie, rowsCounted } from '../../runs/progress.ts';
import { shownAmount, shownCount, shownDecimal } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Amount } from '../parts/money.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { RunSums } from './run-sums.ts';

/** More stand in the table below. */
const CURRENCIES_MAX = 3;

/** Money that left the account with its fees, and what arrives; before anything did, what the file asks for. */
export function MoneyCard({ run, sums, isAdding }: { run: Run; sums: RunSums | null; isAdding: boolean }) {
  if (sums !== null && sums.left.length > 0) return <LeftCard run={run} sums={sums} />;
  const totals = fileTotals(run.fileTotals, run.amounts);
  return (
    <div class="card card-body">
      <h2 class="label">In the file</h2>
      {totals.slice(0, CURRENCIES_MAX).map(({ currency, file }) => (
        <p key={currency} class="figure">
          <Amount money={{ minor: file, currency }} />
        </p>
      ))}
      <More count={totals.length} />
      {isAdding ? <p class="hint">Its money and rows are being added up.</p> : null}
    </div>
  );
}

function LeftCard({ run, sums: { left, arrives, at, changes } }: { run: Run; sums: RunSums }) {
  return (
    <div class="card card-body">
      <h2 class="label">{isOver(run) ? 'Left the account' : 'Left the account so far'}</h2>
      {left.slice(0, CURRENCIES_MAX).map(({ currency, debited, fees }) => (
        <div key={currency}>
          <p class="figure">
            <Amount money={{ minor: debited, currency }} />
          </p>
          <p class="hint">
            and fees of {shownDecimal(formatAmount(fees))} {fees.currency}
          </p>
        </div>
      ))}
      <More count={left.length} />
      {arrives.length === 0 ? null : (
        <p class="hint">
          Arrives:{' '}
          {arrives.slice(0, CURRENCIES_MAX).map((money, index) => (
            <span key={money.currency}>
              {index === 0 ? null : ', '}
              <Amount money={money} />
            </span>
          ))}
          {arrives.length > CURRENCIES_MAX ? ` and ${arrives.length - CURRENCIES_MAX} more currencies` : null}
        </p>
      )}
      {changes === run.changes ? null : (
        <p class="hint">
          Added up <Time at={at} />.
        </p>
      )}
    </div>
  );
}

function More({ count }: { count: number }) {
  const others = count - CURRENCIES_MAX;
  if (others <= 0) return null;
  return <p class="hint">{`and ${others} more ${others === 1 ? 'currency' : 'currencies'}, which stand below`}</p>;
}

/** Whether the file and the ledger say the same, in one line; the figures are in a fold. */
export function TieCard({ run }: { run: Run }) {
  const ties = doCountersTie(run);
  return (
    <div class="card card-body">
      <h2 class="label">The file against the ledger</h2>
      <TieWords ties={ties} isRecording={run.state === 'recording'} />
      <details>
        <summary>How this was checked</summary>
        <TieTable run={run} />
      </details>
    </div>
  );
}

function TieWords({ ties, isRecording }: { ties: boolean; isRecording: boolean }) {
  if (ties) {
    return (
      <p class="tie tone-good">
        <Icon name="circle-check" /> It ties: every row and all money is accounted for.
      </p>
    );
  }
  if (isRecording) return <p>Its rows are still being recorded.</p>;
  return (
    <p class="tie tone-bad">
      <Icon name="alert-triangle" /> IT DOES NOT TIE. Book nothing from this run, and tell whoever runs payrun.
    </p>
  );
}

/** Each currency's total in the file against what the outcomes of its rows add up to (architecture.md, rule 10). */
function TieTable({ run }: { run: Run }) {
  const counted = rowsCounted(run);
  const rows = [
    { what: 'Rows', file: shownCount(run.rows), computed: shownCount(counted), ties: counted === run.rows },
    ...fileTotals(run.fileTotals, run.amounts).map(({ currency, file, outcomes }) => {
      const minor = sumOutcomes(outcomes);
      const texts = {
        file: shownAmount({ minor: file, currency }),
        computed: shownAmount({ minor, currency }),
      };
      return { what: currency, ...texts, ties: minor === file };
    }),
  ];
  return (
    <Table
      caption="In the file, and computed from the ledger"
      columns={['Currency', { number: 'In the file' }, { number: 'Computed' }, 'Ties']}
      class="ties"
    >
      {rows.map(({ what, file, computed, ties }) => (
        <tr key={what}>
          <th scope="row">{what}</th>
          <td class="number">{file}</td>
          <td class="number">{computed}</td>
          <td>{ties ? 'yes' : 'no'}</td>
        </tr>
      ))}
    </Table>
  );
}
