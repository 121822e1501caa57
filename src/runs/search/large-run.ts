import { hashReference } from '../../intake/row/reference-hash.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { FREE_STATES, placeOfId } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { compareRows, listedRow } from './row-list.ts';
import {
  type FoundRows,
  filterOf,
  hasOutcome,
  orderOf,
  type Row,
  type RowSearch,
  type SearchedRun,
} from './row-search.ts';

/** The rows of larger runs are found by outcome and by their whole reference alone. */
export const LISTED_ROWS_MAX = 50_000;
/** Rows of a larger run that a search by reference reads at most. */
export const SEARCHED_ROWS_MAX = 20_000;
const FOUND_ROWS_MAX = 100;

/** Rows whose reference may stand for another payout by now, so that only looking at each of them finds them. */
const NOT_HOLDING = ['held', 'refused', ...FREE_STATES] as const;

/**
 * The ledger knows the payout for which a reference stands; of the other rows of a large run a limited number is looked at.
 */
export async function inLargeRun(
  { runs, references }: { runs: Ledger['runs']; references: Ledger['references'] },
  run: SearchedRun,
  search: RowSearch,
): Promise<FoundRows> {
  const reference = search.reference === '' ? search.text : search.reference;
  if (reference === '') {
    const rows = LISTED_ROWS_MAX.toLocaleString('en');
    throw new Refusal(
      `A run of more than ${rows} rows is neither sorted nor filtered by amount or currency.`,
      'Name an outcome or a whole reference, or take its report.',
    );
  }
  const isInSearch = filterOf({ ...search, reference, text: '' });
  const isWanted = (row: Row): boolean => isInSearch(listedRow(row)) && hasOutcome(row, search.outcome);
  const [holders = []] = await references.holders([hashReference(reference)]);
  const line = holders.map((id) => lineIn(run.id, id)).find((one) => one !== undefined);
  const held = line === undefined ? undefined : await runs.row(run.id, line);
  const found = new Map<number, Row>();
  if (held !== undefined && isWanted(held)) found.set(held.line, held);
  let seen = 0;
  for await (const batch of runs.rows(run.id, NOT_HOLDING)) {
    for (const row of batch.filter(isWanted)) found.set(row.line, row);
    seen += batch.length;
    if (seen >= SEARCHED_ROWS_MAX) break;
  }
  const { column, direction } = orderOf(search.sort);
  const order = { column: column === 'outcome' ? 'line' : column, direction } as const;
  const rows = [...found.values()]
    .toSorted((one, other) => compareRows(listedRow(one), listedRow(other), order))
    .slice(0, FOUND_ROWS_MAX);
  return {
    count: rows.length,
    isWhole: seen < SEARCHED_ROWS_MAX,
    page: async (skip, most) => rows.slice(skip, skip + most),
    async *all() {
      yield rows;
    },
  };
}

/** The line of a payout's id, if it is one of the run. */
function lineIn(runId: string, id: string): number | undefined {
  const place = placeOfId(id);
  return place.runId === runId ? place.line : undefined;
}
