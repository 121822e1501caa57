import { csvLine } from '../../intake/csv/csv-line.ts';
import { textCell } from '../../intake/spreadsheet-cell.ts';
import type { Review } from './review.ts';

const COLUMNS = ['code', 'line', 'column', 'value', 'message', 'remedy'] as const;

/** Problems, then warnings, as CSV; no cell is run as a formula (docs/security.md). */
export function problemsCsv({ problems, warnings }: Pick<Review, 'problems' | 'warnings'>): string {
  const lines = [...problems, ...warnings].map((one) =>
    COLUMNS.map((column) => {
      const cell = one[column];
      return typeof cell === 'string' ? textCell(cell) : String(cell ?? '');
    }),
  );
  return [[...COLUMNS], ...lines].map((cells) => csvLine(cells, ',')).join('');
}
