import { hashReference } from '../intake/row/reference-hash.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  FREE_STATES,
  type Outcome,
  outcomeOf,
  PAYOUT_STATES,
  type Payout,
  payoutId,
  type RefusedRow,
  type Run,
} from '../payout.ts';
import { isRefused } from '../report/row.ts';

/** Rows that one search reads at most. */
export const SEARCHED_ROWS_MAX = 20_000;
const FOUND_ROWS_MAX = 100;

/** Rows whose reference may stand for another payout by now, so that only looking at each of them finds them. */
const NOT_HOLDING = ['held', 'refused', ...FREE_STATES] as const;

export interface RowSearch {
  readonly reference: string;
  /** Any, unless told. */
  readonly outcome?: Outcome | undefined;
}

export interface FoundRows {
  readonly rows: readonly (Payout | RefusedRow)[];
  /** False when there are rows with which the search stopped before it had seen all that may have the reference. */
  readonly isWhole: boolean;
}

/**
 * The rows of a run that have this very reference. The ledger knows the payout for which a reference stands; of the others
 * a limited number is looked at.
 */
export async function findRows(
  { runs, references }: Pick<Ledger, 'runs' | 'references'>,
  run: Pick<Run, 'id' | 'rows'>,
  { reference, outcome }: RowSearch,
): Promise<FoundRows> {
  const isWanted = (row: Payout | RefusedRow): boolean => referenceOf(row) === reference && hasOutcome(row, outcome);
  const [holder] = await references.holders([hashReference(reference)]);
  const line = lineIn(run.id, holder ?? null);
  const held = line === undefined ? undefined : await runs.row(run.id, line);
  const found = new Map<number, Payout | RefusedRow>();
  if (held !== undefined && isWanted(held)) found.set(held.line, held);
  let seen = 0;
  for await (const batch of run.rows <= SEARCHED_ROWS_MAX ? runs.rows(run.id) : runs.rows(run.id, NOT_HOLDING)) {
    for (const row of batch.filter(isWanted)) found.set(row.line, row);
    seen += batch.length;
    if (seen >= SEARCHED_ROWS_MAX && run.rows > SEARCHED_ROWS_MAX) return { rows: shownOf(found), isWhole: false };
  }
  return { rows: shownOf(found), isWhole: true };
}

function shownOf(found: ReadonlyMap<number, Payout | RefusedRow>): (Payout | RefusedRow)[] {
  return [...found.values()].toSorted((one, other) => one.line - other.line).slice(0, FOUND_ROWS_MAX);
}

/** The line of a payout's id, if it is one of the run. */
function lineIn(runId: string, id: string | null): number | undefined {
  const line = id === null ? Number.NaN : Number.parseInt(id.slice(runId.length + 1), 10);
  return Number.isSafeInteger(line) && payoutId({ runId, line }) === id ? line : undefined;
}

/** The reference of a row, as it stands in its file. */
export function referenceOf(row: Payout | RefusedRow): string | undefined {
  return isRefused(row) ? row.cells['reference'] : row.row.reference;
}

/** The states of rows that are reported with an outcome; all of them without one. */
export function statesWith(outcome: Outcome | undefined): (keyof Run['counts'])[] {
  const all = [...PAYOUT_STATES, 'refused'] as const;
  return all.filter((state) => outcome === undefined || outcomeOf(state) === outcome);
}

/** Whether a row is reported with an outcome, or there is none to ask for. */
export function hasOutcome(row: Payout | RefusedRow, outcome: Outcome | undefined): boolean {
  return outcome === undefined || outcomeOf(isRefused(row) ? 'refused' : row.state) === outcome;
}
