import type { CheckedFile } from '../../intake/check-file.ts';
import { formatAmount } from '../../money.ts';
import { columns } from '../columns.ts';

/** The sums of a file by currency, of all its rows and of the valid ones; empty when no amount could be read. */
export function fileTotals({ totals, validTotals }: CheckedFile): string {
  if (totals.length === 0) return '';
  const valid = new Map(validTotals.map((total) => [total.currency, total]));
  return columns(
    [
      ['', 'in the file', 'valid rows'],
      ...totals.map((total) => [
        total.currency,
        formatAmount(total),
        formatAmount(valid.get(total.currency) ?? { minor: 0n, currency: total.currency }),
      ]),
    ],
    { rightFrom: 1 },
  );
}
