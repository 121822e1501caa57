import { OUTCOMES } from '../../payout.ts';
import type { RunDocument } from '../../report/document.ts';
import { shownCount, shownDecimal } from './figures.ts';
import { OUTCOME_WORDS } from './outcome-words.ts';
import { Table } from './table.tsx';

/** Money per currency: what the file says against what the ledger holds, outcome by outcome. */
export function TotalsTable({ outcomes, totals, file }: Pick<RunDocument, 'outcomes' | 'totals' | 'file'>) {
  const shown = OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  return (
    <Table
      class="totals"
      hasNoLinks
      caption="Money by currency"
      columns={['Currency', 'In the file', ...shown.map((outcome) => OUTCOME_WORDS[outcome])]}
    >
      <tr>
        <th scope="row">Rows</th>
        <td>{shownCount(file.rows)}</td>
        {shown.map((outcome) => (
          <td key={outcome}>{shownCount(outcomes[outcome])}</td>
        ))}
      </tr>
      {totals.map((total) => (
        <tr key={total.currency}>
          <th scope="row">{total.currency}</th>
          <td>{shownDecimal(total.file)}</td>
          {shown.map((outcome) => (
            <td key={outcome}>{shownDecimal(total[outcome])}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}
