import { type Outcome, outcomeOf, PAYOUT_STATES, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { type AmountRange, amountsIn } from './amounts.ts';
import { LISTED_COLUMNS, type ListedColumn, type ListedRow } from './row-list.ts';

export type RowColumn = ListedColumn | 'outcome';
/** A column, with a minus before it from the largest down. */
export type RowSort = RowColumn | `-${RowColumn}`;
export const ROW_SORTS: readonly RowSort[] = [...LISTED_COLUMNS, 'outcome' as const].flatMap(
  (column) => [column, `-${column}`] as const,
);

/** Which rows of a run are wanted, and in which order; '' for any. */
export interface RowSearch extends AmountRange {
  readonly outcome: Outcome | '';
  /** The whole reference, as it stands in the file. */
  readonly reference: string;
  /** Any part, in any case, of the reference or of the beneficiary's name or id. */
  readonly text: string;
  readonly currency: string;
  readonly sort: RowSort;
}

export type Row = Payout | RefusedRow;
export type SearchedRun = Pick<Run, 'id' | 'rows' | 'recordedAt' | 'purgedAt' | 'counts'>;

export interface FoundRows {
  readonly count: number;
  /** False when there are rows with which the search stopped before it had seen all that may have the reference. */
  readonly isWhole: boolean;
  readonly page: (skip: number, most: number) => Promise<Row[]>;
  /** All of them as they are now: what has moved to another outcome since is left out. */
  readonly all: () => AsyncGenerator<Row[]>;
}

/** All rows of a run, as they stand in its file. */
export const ANYTHING: RowSearch = {
  outcome: '',
  reference: '',
  text: '',
  currency: '',
  amountFrom: '',
  amountTo: '',
  sort: 'line',
};

/** Whether a row is wanted, its outcome aside. */
export function filterOf(search: RowSearch): (row: ListedRow) => boolean {
  const { reference, currency } = search;
  const text = search.text.toLowerCase();
  const hasAmount = search.amountFrom !== '' || search.amountTo !== '';
  const isInRange = amountsIn(search);
  return (row) =>
    (reference === '' || row.reference === reference) &&
    (text === '' || row.reference.toLowerCase().includes(text) || row.beneficiary.includes(text)) &&
    (currency === '' || row.amount?.currency === currency) &&
    (!hasAmount || (row.amount !== undefined && isInRange(row.amount)));
}

/** A column and its direction. */
export function orderOf(sort: RowSort): { column: RowColumn; direction: 1 | -1 } {
  const column = [...LISTED_COLUMNS, 'outcome' as const].find((one) => sort === one || sort === `-${one}`) ?? 'line';
  return { column, direction: sort === column ? 1 : -1 };
}

/** The states of rows that are reported with an outcome; all of them for ''. */
export function statesWith(outcome: Outcome | ''): (keyof Run['counts'])[] {
  const all = [...PAYOUT_STATES, 'refused'] as const;
  return all.filter((state) => outcome === '' || outcomeOf(state) === outcome);
}

/** Whether a row is reported with an outcome; each for ''. */
export function hasOutcome(row: Row, outcome: Outcome | ''): boolean {
  return outcome === '' || outcomeOf(isRefused(row) ? 'refused' : row.state) === outcome;
}
