import { OUTCOMES } from '../../payout.ts';
import type { RunDocument } from '../../report/document.ts';

/** Money per currency: what the file says against what the ledger holds, outcome by outcome. */
export function TotalsTable({ outcomes, totals, file }: Pick<RunDocument, 'outcomes' | 'totals' | 'file'>) {
  const shown = OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  return (
    <div class="scroll">
      <table class="totals">
        <caption>Money and rows per outcome</caption>
        <thead>
          <tr>
            <th scope="col">Currency</th>
            <th scope="col">In the file</th>
            {shown.map((outcome) => (
              <th key={outcome} scope="col">
                {outcome}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Rows</th>
            <td>{file.rows}</td>
            {shown.map((outcome) => (
              <td key={outcome}>{outcomes[outcome]}</td>
            ))}
          </tr>
          {totals.map((total) => (
            <tr key={total.currency}>
              <th scope="row">{total.currency}</th>
              <td>{total.file}</td>
              {shown.map((outcome) => (
                <td key={outcome}>{total[outcome]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
