import type { Clock } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Money } from '../../money.ts';
import type { Payout, RefusedRow, Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { sortedInTurns } from '../../report/turns.ts';
import { openRecent } from '../recent.ts';
import { compareListed, compareText } from './amounts.ts';

const LISTS_KEPT_MAX = 4;
const LINES_PER_CALL = 500;
const NAMES_PER_CALL = 1000;
/** A name that the service lists later is seen after so long. */
const FRESH_MS = 10 * 60_000;

/** What a row of a run is sorted and filtered by. */
export interface ListedRow {
  readonly line: number;
  readonly reference: string;
  /** The name that the service lists, if there is one, and the id; in lower case. */
  readonly beneficiary: string;
  /** Undefined where that of a refused row could not be read. */
  readonly amount: Money | undefined;
}

/** Columns by which rows are sorted; the outcome, which changes, is not among them. */
export const LISTED_COLUMNS = ['line', 'reference', 'beneficiary', 'amount'] as const;
export type ListedColumn = (typeof LISTED_COLUMNS)[number];

export interface RowList {
  /** Up or down; of equal rows the one that stands first in the file comes first. */
  sorted(column: ListedColumn, direction: 1 | -1): Promise<readonly ListedRow[]>;
}

export interface RowListDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'slices' | 'names'>;
  readonly clock: Clock;
}

type ListedRun = Pick<Run, 'id' | 'recordedAt' | 'purgedAt'>;

/** Lists the rows of a run. They are read once for all who ask, as none of this changes, and sorted once by each column. */
export function openRowLists(deps: RowListDeps): (run: ListedRun) => Promise<RowList> {
  const recent = openRecent<RowList>(LISTS_KEPT_MAX);
  return async ({ id, recordedAt, purgedAt }) => {
    const key = [id, recordedAt, purgedAt, Math.floor(deps.clock.now() / FRESH_MS)].join(' ');
    return await recent(key, async () => openList(await readRows(deps, id)));
  };
}

function openList(rows: readonly ListedRow[]): RowList {
  const orders = new Map<string, Promise<readonly ListedRow[]>>();
  return {
    async sorted(column, direction) {
      const key = `${column} ${direction}`;
      const compare = (one: ListedRow, other: ListedRow): number => compareRows(one, other, { column, direction });
      const sorted = orders.get(key) ?? sortedInTurns(rows, compare);
      orders.set(key, sorted);
      return await sorted;
    },
  };
}

/** How two rows stand to each other in a list. */
export function compareRows(
  one: ListedRow,
  other: ListedRow,
  { column, direction }: { readonly column: ListedColumn; readonly direction: 1 | -1 },
): number {
  if (column === 'line') return direction * (one.line - other.line);
  const order =
    column === 'amount'
      ? compareListed(one.amount, other.amount, direction)
      : direction * compareText(one[column], other[column]);
  return order || one.line - other.line;
}

/** The reference of a row, as it stands in its file. */
export function referenceOf(row: Payout | RefusedRow): string | undefined {
  return isRefused(row) ? row.cells['reference'] : row.row.reference;
}

/** A row as lists have it. */
export function listedRow(row: Payout | RefusedRow): ListedRow {
  const { line, beneficiaryName: listed = null } = row;
  const amount = (isRefused(row) ? row.amount : row.row.amount) ?? undefined;
  const id = (
    (isRefused(row) ? row.cells['beneficiaryIdentityId'] : row.row.beneficiaryIdentityId) ?? ''
  ).toLowerCase();
  const reference = referenceOf(row) ?? '';
  return { line, reference, beneficiary: listed === null ? id : `${listed.name.toLowerCase()} ${id}`, amount };
}

async function readRows({ ledger: { runs, slices, names } }: RowListDeps, runId: string): Promise<ListedRow[]> {
  const rows: ListedRow[] = [];
  const { lastLine } = await slices.position(runId);
  for (let from = 1; from <= lastLine; from += LINES_PER_CALL) {
    rows.push(...(await runs.texts(runId, from, Math.min(lastLine, from + LINES_PER_CALL - 1))));
  }
  for await (const batch of runs.rows(runId, ['refused'])) rows.push(...batch.map(listedRow));
  const ids = [...new Set(rows.map(({ beneficiary }) => beneficiary))];
  const known = new Map<string, string>();
  for (let from = 0; from < ids.length; from += NAMES_PER_CALL) {
    const listed = await names.read(ids.slice(from, from + NAMES_PER_CALL));
    for (const [id, { name }] of listed) known.set(id, `${name.toLowerCase()} ${id}`);
  }
  return rows.map((row) => ({ ...row, beneficiary: known.get(row.beneficiary) ?? row.beneficiary }));
}
