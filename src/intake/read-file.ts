import type { PayoutRow, RefusedRow } from '../payout.ts';
import { Refusal } from '../refusal.ts';
import type { CheckedFile } from './check-file.ts';
import { unchangedChunks } from './csv/unchanged.ts';
import { openPayoutSource } from './payout-source.ts';
import { openDuplicateCursor } from './row/references.ts';
import { type CheckedRow, duplicateProblem } from './row/row.ts';
import { readCheckedRows } from './row/rows.ts';

const BATCH_ROWS = 500;
/** Longest piece of a refused row's cell that is kept for the report. */
const KEPT_CELL_CHARACTERS_MAX = 256;

/**
 * The rows of a checked file in file order, 500 at a time: valid ones as payouts, the others as refused rows. Throws a
 * Refusal (file refused) before the last batch when the bytes are not those that were checked, and at once for a file whose
 * structure was refused.
 */
export async function* readPayoutFile(
  path: string,
  checked: CheckedFile,
): AsyncGenerator<readonly (PayoutRow | RefusedRow)[]> {
  if (checked.fileRefused) {
    throw new Refusal(`The payout file ${checked.name} was refused.`, 'Correct the file and hand it in again.', {
      kind: 'fileRefused',
    });
  }
  yield* previewPayoutFile(path, checked);
}

/** The same also of a file that is refused as a whole: to look at, never to pay. */
export async function* previewPayoutFile(
  path: string,
  checked: CheckedFile,
): AsyncGenerator<readonly (PayoutRow | RefusedRow)[]> {
  const source = await openPayoutSource(path);
  const otherLineOf = openDuplicateCursor(checked.duplicates);
  let batch: (PayoutRow | RefusedRow)[] = [];
  for await (const rows of readCheckedRows(unchangedChunks(source, checked), checked.reading)) {
    for (const row of rows) {
      if (batch.length === BATCH_ROWS) {
        yield batch;
        batch = [];
      }
      batch.push(rowOf(row, otherLineOf(row.line)));
    }
  }
  if (batch.length > 0) yield batch;
}

function rowOf(checked: CheckedRow, other: number | undefined): PayoutRow | RefusedRow {
  const problem = checked.problems[0] ?? (other === undefined ? undefined : duplicateProblem(checked, other));
  if (checked.row !== null && problem === undefined) return checked.row;
  if (problem === undefined) throw new Error(`line ${checked.line} is refused without a problem`);
  const cells = checked.columns.map((column, at) => [column, keptCell(checked.cells[at] ?? '')] as const);
  return {
    line: checked.line,
    cells: Object.fromEntries(cells),
    amount: checked.amount,
    code: problem.code,
    message: problem.message,
  };
}

function keptCell(cell: string): string {
  return cell.length <= KEPT_CELL_CHARACTERS_MAX ? cell : `${cell.slice(0, KEPT_CELL_CHARACTERS_MAX - 1)}…`;
}
