import { z } from 'zod';
import { OUTCOMES } from '../payout.ts';
import { REPORT_COLUMNS, type ReportColumn, type ReportRow } from './row.ts';

/** A row of a report's JSON, as far as the CSV has it too. */
export type RowCells = Pick<ReportRow, ReportColumn>;

const cell = z.string().nullable();
const cells: z.ZodType<RowCells> = z.object({
  ...recordOf((_column) => cell),
  line: z.int(),
  attempts: z.int(),
  outcome: z.enum(OUTCOMES),
  // Reports of earlier versions have none.
  beneficiaryName: cell.default(null),
});

function recordOf(make: (column: ReportColumn) => typeof cell): Record<ReportColumn, typeof cell> {
  // Object.fromEntries forgets the keys' type; each of them is set here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every key of the record is in the list
  return Object.fromEntries(REPORT_COLUMNS.map((column) => [column, make(column)])) as Record<
    ReportColumn,
    typeof cell
  >;
}

/** A row as a line of the report's JSON has it (json.ts); undefined for anything else. */
export function readRowLine(text: string): RowCells | undefined {
  try {
    return cells.safeParse(JSON.parse(text.replace(/,$/, ''))).data;
  } catch {
    return undefined;
  }
}

/** The rows of a report's JSON, given its lines. Throws for a line that is no row. */
export async function* rowsIn(lines: AsyncIterable<string>): AsyncGenerator<RowCells, void> {
  let place = 0;
  for await (const line of lines) {
    place++;
    if (line.startsWith(']')) return;
    const row = place === 1 ? undefined : readRowLine(line);
    if (row !== undefined) yield row;
    else if (place > 1) throw new Error(`line ${place} of the report's JSON is no row`);
  }
}
