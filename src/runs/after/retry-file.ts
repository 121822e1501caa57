import { rfc3339 } from '../../clock.ts';
import { csvLine } from '../../intake/csv/csv-line.ts';
import { type Layout, layoutOf } from '../../intake/csv/layout.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import { COLUMNS, type Column, REQUIRED_COLUMNS } from '../../intake/template/columns.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { formatAmount } from '../../money.ts';
import { FREE_STATES, type Payout, type PayoutRow, payoutId, type RefusedRow, type Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import type { Cell } from '../../report/xlsx/cell.ts';
import { workbookBytes } from '../../report/xlsx/workbook.ts';
import { readRun } from '../read-run.ts';

const RETRY_COLUMN_WIDTH = 24;

export interface RetryDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'references'>;
}

/** The rows of a run that may be sent again, and what became of its others. */
export interface RetryFile {
  readonly rows: number;
  /** Rows of which something may still become, pending and held ones too. */
  readonly open: number;
  /** Rows whose reference another payout has. */
  readonly duplicates: number;
  /** Rows that intake refused. */
  readonly refused: number;
  /** Whether every row of the run's file is in it. */
  readonly isWhole: boolean;
  /** The template that reads it, which is that of the run's file; null: it is a plain payout file. */
  readonly template: string | null;
  /** The payout file, a batch of rows at a time (RFC 4180, UTF-8, a line end after the last row). */
  text(): AsyncGenerator<string, void>;
  /** The same as a workbook. */
  workbook(): AsyncGenerator<Buffer, void>;
}

/**
 * Finds the rows whose references are free again: rejected and confirmed, failed, returned, cancelled. They stand
 * in the columns of the run's own file, with its names, its delimiter and its decimal mark, whatever its format was, and after
 * them in those that its rows need besides. What becomes free while the file is written stands in it too. Throws a Refusal for a run that is not there or whose rows were removed.
 */
export async function findRetryRows(deps: RetryDeps, runId: string): Promise<RetryFile> {
  const run = await readRun(deps, runId);
  if (run.purgedAt !== null) throw refusePurged(run.id, run.purgedAt);
  const counts = { free: 0, paid: 0, duplicate: 0, open: 0 };
  const needed = new Set<Column>(REQUIRED_COLUMNS);
  for await (const batch of payouts(deps, run)) {
    for (const { payout, holders } of batch) {
      counts[fateOf(payout, holders)]++;
      for (const column of columnsNeededBy(payout.row)) needed.add(column);
    }
  }
  const unrecorded = run.rows - Object.values(counts).reduce((sum, count) => sum + count, run.counts.refused);
  const layout = withColumns(layoutOf(run.columns), needed);
  return {
    rows: counts.free,
    open: counts.open + unrecorded,
    duplicates: counts.duplicate,
    refused: run.counts.refused,
    isWhole: counts.free === run.rows,
    template: layout.template,
    text: () => retryText(deps, run, layout),
    workbook: () => retryWorkbook(deps, run, layout),
  };
}

/** The layout with the columns that rows need besides, under our own names. */
function withColumns(layout: Layout, needed: Iterable<Column>): Layout {
  const known = new Set([...layout.columns.map(({ column }) => column), ...layout.given]);
  const others = [...needed].filter((column) => !known.has(column)).map((column) => ({ column, name: column }));
  return { ...layout, columns: [...layout.columns, ...others] };
}

function refusePurged(runId: string, purgedAt: number): Refusal {
  return new Refusal(
    `The rows of run ${runId} were removed on ${rfc3339(purgedAt)}, because they are kept for a limited time.`,
    'Copies of its reports, if there are any, show which rows were not paid.',
  );
}

interface Held {
  readonly payout: Payout;
  /** The payouts that its reference stands for now. */
  readonly holders: readonly string[];
}

async function* payouts({ ledger }: RetryDeps, { id }: Run): AsyncGenerator<Held[], void> {
  for await (const batch of ledger.runs.rows(id)) {
    const own = batch.filter((row) => 'row' in row);
    const holders = await ledger.references.holders(own.map(({ row }) => hashReference(row.reference)));
    yield own.map((payout, index) => ({ payout, holders: holders[index] ?? [] }));
  }
}

/** How many of these rows the retry file has. */
export async function retryRowsIn(
  { ledger }: { readonly ledger: Pick<Ledger, 'references'> },
  rows: readonly (Payout | RefusedRow)[],
): Promise<number> {
  const own = rows.filter((row): row is Payout => 'row' in row && fateOf(row, []) === 'free');
  if (own.length === 0) return 0;
  const holders = await ledger.references.holders(own.map(({ row }) => hashReference(row.reference)));
  return own.filter((payout, index) => fateOf(payout, holders[index] ?? []) === 'free').length;
}

/** Whether the payout's reference may be used again, by the rule with which the ledger judges a new row. */
function fateOf(payout: Payout, holders: readonly string[]): 'free' | 'paid' | 'duplicate' | 'open' {
  const { state, quoteId, rejectionConfirmed } = payout;
  if (state === 'completed') return 'paid';
  if (!FREE_STATES.includes(state)) return 'open';
  if (state === 'rejected' && quoteId !== null && !rejectionConfirmed) return 'open';
  return holders.every((id) => id === payoutId(payout)) ? 'free' : 'duplicate';
}

async function* retryText(deps: RetryDeps, run: Run, layout: Layout): AsyncGenerator<string, void> {
  const { columns, delimiter } = layout;
  yield csvLine(
    columns.map(({ name }) => name),
    delimiter,
  );
  for await (const rows of freeRows(deps, run)) {
    if (rows.length > 0) yield rows.map((row) => lineOf(row, layout)).join('');
  }
}

function retryWorkbook(deps: RetryDeps, run: Run, { columns }: Layout): AsyncGenerator<Buffer, void> {
  async function* cells(): AsyncGenerator<readonly (readonly Cell[])[], void> {
    for await (const rows of freeRows(deps, run)) {
      yield rows.map((row) =>
        columns.map(({ column }) =>
          column === 'amount' ? { decimal: formatAmount(row.amount) } : cellOf(row, column),
        ),
      );
    }
  }
  const head = columns.map(({ name }) => name);
  const sheet = { name: 'Payouts', head, widths: head.map(() => RETRY_COLUMN_WIDTH), rows: cells() };
  return workbookBytes([sheet], { createdAt: run.createdAt });
}

async function* freeRows(deps: RetryDeps, run: Run): AsyncGenerator<readonly PayoutRow[], void> {
  for await (const batch of payouts(deps, run)) {
    yield batch.filter(({ payout, holders }) => fateOf(payout, holders) === 'free').map(({ payout }) => payout.row);
  }
}

function lineOf(row: PayoutRow, { columns, delimiter, decimalMark }: Layout): string {
  const cells = columns.map(({ column }) =>
    column === 'amount' ? formatAmount(row.amount).replace('.', decimalMark) : cellOf(row, column),
  );
  return csvLine(cells, delimiter);
}

function cellOf(row: PayoutRow, column: Column): string {
  return column === 'amount' ? formatAmount(row.amount) : (row[column] ?? '');
}

function columnsNeededBy(row: PayoutRow): Column[] {
  return COLUMNS.filter((column) => cellOf(row, column) !== DEFAULT_CELLS[column]);
}

/** What a row has in a column that it does not need. */
const DEFAULT_CELLS: Partial<Record<Column, string>> = {
  amountType: 'SOURCE_AMOUNT',
  originatorIdentityId: '',
  sourceCountry: '',
  destinationCountry: '',
  payoutCategory: '',
  payinCategory: '',
  purposeCode: '',
  sourceOfCash: '',
};
