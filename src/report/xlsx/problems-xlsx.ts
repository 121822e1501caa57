import { type FoundProblems, PROBLEM_COLUMNS } from '../problems-csv.ts';
import type { Cell } from './cell.ts';
import { workbookBytes } from './workbook.ts';

const WIDTHS = [22, 8, 24, 24, 60, 60];

/** What was found in a payout file: how much it has, and its problems, then its warnings. */
export function problemsXlsx(
  found: FoundProblems & { readonly rows: number; readonly valid: number; readonly problemsTotal: number },
  { name, createdAt }: { readonly name: string; readonly createdAt: number },
): AsyncGenerator<Buffer, void> {
  const listed = [...found.problems, ...found.warnings];
  const facts: Cell[][] = [
    [{ head: 'file' }, name],
    [{ head: 'rows' }, found.rows],
    [{ head: 'valid' }, found.valid],
    [{ head: 'problems' }, found.problemsTotal],
    [{ head: 'of them listed' }, found.problems.length],
    [{ head: 'warnings listed' }, found.warnings.length],
  ];
  const cells = listed.map((one) => PROBLEM_COLUMNS.map((column): Cell => one[column]));
  return workbookBytes(
    [
      { name: 'Summary', widths: [18, 40], rows: batches(facts) },
      { name: 'Problems', head: PROBLEM_COLUMNS, widths: WIDTHS, rows: batches(cells) },
    ],
    { createdAt },
  );
}

async function* batches(rows: readonly (readonly Cell[])[]): AsyncGenerator<readonly (readonly Cell[])[], void> {
  yield rows;
}
