import { csvLine } from '../intake/csv/csv-line.ts';
import type { Problem } from '../intake/problems/problems.ts';
import { textCell } from '../intake/spreadsheet-cell.ts';

export const PROBLEM_COLUMNS = ['code', 'line', 'column', 'value', 'message', 'remedy'] as const;

/** What was found in a payout file. */
export interface FoundProblems {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Problems, then warnings, as CSV; no cell is run as a formula (docs/security.md). */
export function problemsCsv({ problems, warnings }: FoundProblems): string {
  const lines = [...problems, ...warnings].map((one) =>
    PROBLEM_COLUMNS.map((column) => {
      const cell = one[column];
      return typeof cell === 'string' ? textCell(cell) : String(cell ?? '');
    }),
  );
  return [[...PROBLEM_COLUMNS], ...lines].map((cells) => csvLine(cells, ',')).join('');
}
