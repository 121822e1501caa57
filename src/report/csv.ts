import { textCell } from '../intake/spreadsheet-cell.ts';
import { outcomeOf, type Payout, type RefusedRow } from '../payout.ts';
import { REPORT_COLUMN_FACTS } from './columns.ts';
import type { RowCells } from './read-rows.ts';
import { REPORT_COLUMNS, reportRow } from './row.ts';
import type { ReportSource } from './source.ts';

/** Columns of a payout that carry somebody else's words. */
const IS_PAYOUT_TEXT = REPORT_COLUMNS.map((column) => REPORT_COLUMN_FACTS[column].kind === 'words');

/** The header line of the report's CSV. */
export function csvHeader(): string {
  return `${REPORT_COLUMNS.join(',')}\r\n`;
}

/** The CSV lines of a batch of rows. Every cell of a refused row is text; amounts, rates and times of payouts are exact. */
export function csvLines(batch: readonly (Payout | RefusedRow)[]): string {
  let text = '';
  for (const row of batch) text += csvLine(reportRow(row));
  return text;
}

/** RFC 4180 ends lines with CRLF; cells hold no line end, so a line of the report is a row of the file. */
function csvLine(row: RowCells): string {
  return `${csvCells(row).map(csvText).join(',')}\r\n`;
}

/** What has a comma, a quote or a line end in it is quoted (RFC 4180). */
function csvText(cell: string | number | null): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  return NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

const NEEDS_QUOTES = /[",\r\n]/;

/** A row of the JSON as one line of the CSV: its cells as they stand there, without commas, in the order of the columns. */
export function csvCellTexts(row: RowCells): string[] {
  return csvCells(row).map(csvText);
}

function csvCells(cells: RowCells): (string | number | null)[] {
  const refused = cells.outcome === outcomeOf('refused');
  return REPORT_COLUMNS.map((column, index) => {
    const cell = cells[column];
    return typeof cell === 'string' && (refused || IS_PAYOUT_TEXT[index] === true) ? textCell(cell) : cell;
  });
}

/** The byte order mark by which Excel knows that a CSV file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** The text, with a byte order mark before it where one is wanted. */
export async function* marked(text: AsyncIterable<string>, { bom }: { bom: boolean }): AsyncGenerator<string, void> {
  if (bom) yield BYTE_ORDER_MARK;
  yield* text;
}

/** The report as CSV, streamed: header, then one line a row in file order (RFC 4180, UTF-8, CRLF). */
export async function* reportCsv(source: ReportSource): AsyncGenerator<string, void> {
  yield csvHeader();
  for await (const batch of source.rows) {
    if (batch.length > 0) yield csvLines(batch);
  }
}
