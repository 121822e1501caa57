import { escapeUnseen } from '../intake/problems/shown-value.ts';

const GAP = '  ';

/** Rows of cells as aligned lines; columns from `rightFrom` on stand to the right. Nothing in a cell steers a terminal. */
export function columns(rows: readonly (readonly string[])[], options: { rightFrom?: number } = {}): string {
  const { rightFrom = Number.POSITIVE_INFINITY } = options;
  const safe = rows.map((row) => row.map(escapeUnseen));
  const widths: number[] = [];
  for (const row of safe) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return safe.map((row) => line(row, { widths, rightFrom })).join('\n');
}

/** One such line for columns whose widths are known before; a longer cell moves what follows. */
export function columnsLine(row: readonly string[], layout: { widths: readonly number[]; rightFrom?: number }): string {
  return line(row.map(escapeUnseen), { rightFrom: Number.POSITIVE_INFINITY, ...layout });
}

function line(row: readonly string[], { widths, rightFrom }: { widths: readonly number[]; rightFrom: number }): string {
  return row
    .map((cell, index) => (index < rightFrom ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join(GAP)
    .trimEnd();
}
