import { formatAmount } from '../../money.ts';
import type { CheckedFile } from '../check-file.ts';

/** What `validate --json`, and a refused `run` or `submit`, print. */
export function problemsDocument(checked: CheckedFile): object {
  return {
    file: checked.name,
    rows: checked.rows,
    valid: checked.valid,
    totals: checked.totals.map((total) => ({ currency: total.currency, file: formatAmount(total) })),
    problems: checked.problems,
    problemsTotal: checked.problemsTotal,
  };
}
