import { stringify } from 'csv-stringify/sync';
import { textCell } from '../intake/spreadsheet-cell.ts';

const FORMAT = { record_delimiter: '\r\n' };

/** A cell that is free text, which no spreadsheet may run as a formula, or one that payrun made and that stays exact. */
export type TableCell = string | number | null | { readonly exact: string };

/** Lines of a table as CSV in the format of the report (RFC 4180, UTF-8, CRLF), formula cells neutralised (docs/security.md). */
export function tableCsv(rows: readonly (readonly TableCell[])[]): string {
  return stringify(
    rows.map((row) => row.map(cellText)),
    FORMAT,
  );
}

function cellText(cell: TableCell): string | number | null {
  if (typeof cell === 'string') return textCell(cell);
  return typeof cell === 'number' || cell === null ? cell : cell.exact;
}
