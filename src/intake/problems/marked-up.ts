import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { codeOf, IS_READ_ONLY, Refusal } from '../../refusal.ts';
import type { CheckedFile } from '../check-file.ts';
import { csvLine } from '../csv/csv-line.ts';
import type { Header } from '../csv/header.ts';
import type { RowListener } from '../csv/table.ts';
import { unchangedChunks } from '../csv/unchanged.ts';
import { openPayoutSource, type PayoutSource } from '../payout-source.ts';
import type { FileRecord } from '../record.ts';
import { openDuplicateCursor } from '../row/references.ts';
import { type CheckedRow, duplicateProblem } from '../row/row.ts';
import { tellRows } from '../row/rows.ts';
import { neutralised } from '../spreadsheet-cell.ts';
import { isMark, MARK_COLUMNS } from '../template/columns.ts';
import type { Problem } from './problems.ts';

/** It holds what the payout file holds, so nobody else may read it. */
const OWNER_ONLY = 0o600;
/** Spreadsheets take a CSV file for UTF-8 by this mark alone. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Writes a checked file again with two more columns: the codes of each row's problems, and how to fix them. Corrected, it
 * is a payout file like the first; it is CSV with the template's delimiter whatever the first was, and it is read by the
 * same template. Cells that a spreadsheet would run as formulas are neutralised.
 *
 * Gives false, and writes nothing, for what no row can show: damaged structure, totals that do not fit, a last line that
 * may be cut off. In a copy such a file would look sound. Throws a Refusal for a target that is there already or cannot be
 * written, and for a file that changed since it was checked (file refused).
 */
export async function writeMarkedUpCopy(path: string, checked: CheckedFile, target: string): Promise<boolean> {
  if (!checked.isMarkable) return false;
  const source = await openPayoutSource(path);
  const file = createWriteStream(target, { flags: 'wx', mode: OWNER_ONLY });
  try {
    await pipeline(markedUpText(source, checked), file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') await rm(target, { force: true });
    throw error instanceof Refusal || codeOf(error) === undefined ? error : refuseTarget(target, error);
  }
  return true;
}

async function* markedUpText(source: PayoutSource, checked: CheckedFile): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK;
  yield* tellRows(unchangedChunks(source, checked), checked.reading, openCopy(checked));
}

function openCopy(checked: CheckedFile): { listener: RowListener; take(): string } {
  const otherLineOf = openDuplicateCursor(checked.duplicates);
  const { delimiter } = checked.reading.template;
  let shown: readonly number[] = [];
  let width = 0;
  let lines: string[] = [];

  const put = (cells: readonly string[]): unknown => lines.push(csvLine(cells.map(neutralised), delimiter));
  const putRow = (cells: readonly string[], problems: readonly Problem[]): unknown =>
    put([...shown.map((at) => cells[at] ?? ''), ...cells.slice(width), ...marksOf(problems)]);

  return {
    listener: {
      header({ names }: Header) {
        width = names.length;
        shown = names.flatMap((name, at) => (isMark(name) ? [] : [at]));
        put([...shown.map((at) => names[at] ?? ''), ...MARK_COLUMNS]);
      },
      row(row: CheckedRow) {
        const other = otherLineOf(row.line);
        putRow(textsOf(row.record), [...row.problems, ...(other === undefined ? [] : [duplicateProblem(row, other)])]);
      },
      damage: (problem) => putRow([], [problem]),
      warning() {},
      cutShort() {},
    },
    take() {
      const text = lines.join('');
      lines = [];
      return text;
    },
  };
}

/**
 * The cells as texts. What a workbook shows to be wrong without its text, such as a formula with a sound result, stands as
 * an error of a spreadsheet, which is refused until it is replaced; behind it the account of a creditor that nobody knows.
 */
function textsOf({ cells, cellFaults }: FileRecord): readonly string[] {
  if (cellFaults === undefined || cellFaults.size === 0) return cells;
  return cells.map((cell, at) => {
    const fault = cellFaults.get(at);
    return fault === undefined ? cell : `#${fault.code}!${fault.copyText === undefined ? '' : ` ${fault.copyText}`}`;
  });
}

function marksOf(problems: readonly Problem[]): [codes: string, remedies: string] {
  const remedies = problems.map(
    ({ column, message, remedy }) => `${column === null ? '' : `${column}: `}${message} ${remedy}`,
  );
  return [problems.map(({ code }) => code).join(' '), remedies.join(' / ')];
}

const TARGET_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'is there already'],
  ['EROFS', IS_READ_ONLY],
]);

function refuseTarget(target: string, cause: unknown): Refusal {
  const code = codeOf(cause) ?? 'reason unknown';
  const reason = TARGET_FAULTS.get(code) ?? `cannot be written (${code})`;
  return new Refusal(
    `The marked-up copy ${target} ${reason}.`,
    'Name a file that does not exist yet, in a folder that this user may write to.',
    { cause },
  );
}
