import type { Delimiter } from '../template/template.ts';

const NEEDS_QUOTES = /["\r\n]/;

/** One line of a CSV file (RFC 4180 with any delimiter), its line end included. */
export function csvLine(cells: readonly string[], delimiter: Delimiter): string {
  return `${cells.map((cell) => quoted(cell, delimiter)).join(delimiter)}\r\n`;
}

function quoted(cell: string, delimiter: Delimiter): string {
  return NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
