import { jsonText } from './json-text.ts';
import { type RowCells, rowsIn } from './read-rows.ts';
import { REPORT_COLUMNS, type ReportColumn } from './row.ts';
import { tableCsv } from './table-csv.ts';

/** One cell in which a row differs between two versions of a report. */
export interface Change {
  /** Of the payout file. */
  readonly line: number;
  readonly reference: string | null;
  readonly column: ReportColumn;
  /** Null for an absent value; a row that only one version has is absent in the other, its `line` included. */
  readonly from: string | null;
  readonly to: string | null;
}

/** What turns one version of a report into another, in file order; both are given as the lines of their JSON. */
export async function* changesBetween(
  from: AsyncIterable<string>,
  to: AsyncIterable<string>,
): AsyncGenerator<Change, void> {
  const [older, newer] = [rowsIn(from), rowsIn(to)];
  let before = await nextRow(older);
  let after = await nextRow(newer);
  while (before !== undefined || after !== undefined) {
    const line = Math.min(lineOf(before), lineOf(after));
    const isInOlder = before?.line === line;
    const isInNewer = after?.line === line;
    yield* changesOf(line, isInOlder ? before : undefined, isInNewer ? after : undefined);
    if (isInOlder) before = await nextRow(older);
    if (isInNewer) after = await nextRow(newer);
  }
}

/** A list of changes as CSV. */
export async function* changesCsv(changes: AsyncIterable<Change>): AsyncGenerator<string, void> {
  yield tableCsv([['line', 'reference', 'column', 'from', 'to']]);
  for await (const { line, reference, column, from, to } of changes) {
    yield tableCsv([[line, reference, column, from, to]]);
  }
}

/** A list of changes as JSON, a line each, with the versions that it leads from and to. */
export async function* changesJson(
  changes: AsyncIterable<Change>,
  versions: { readonly since: number; readonly version: number },
): AsyncGenerator<string, void> {
  yield `${jsonText(versions).slice(0, -1)},"changes":[`;
  let before = '\n';
  for await (const change of changes) {
    yield `${before}${jsonText(change)}`;
    before = ',\n';
  }
  yield '\n]}\n';
}

function lineOf(row: RowCells | undefined): number {
  return row?.line ?? Number.POSITIVE_INFINITY;
}

async function nextRow(rows: AsyncGenerator<RowCells, void>): Promise<RowCells | undefined> {
  const { done, value } = await rows.next();
  return done === true ? undefined : value;
}

function* changesOf(line: number, before: RowCells | undefined, after: RowCells | undefined): Generator<Change, void> {
  const reference = after?.reference ?? before?.reference ?? null;
  for (const column of REPORT_COLUMNS) {
    const [from, to] = [textOf(before?.[column]), textOf(after?.[column])];
    if (from !== to) yield { line, reference, column, from, to };
  }
}

function textOf(cell: string | number | null | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
