import { rfc3339 } from '../../clock.ts';
import { formatAmount } from '../../money.ts';
import { OUTCOMES, type Outcome, type Payout, type RefusedRow } from '../../payout.ts';
import { REPORT_COLUMN_FACTS } from '../columns.ts';
import { isRefused, REPORT_COLUMNS, type ReportColumn, type ReportRow, reportRow } from '../row.ts';
import type { ReportFacts, ReportSource } from '../source.ts';
import { concludeSummary, type ReportSummary } from '../summary.ts';
import { openTally } from '../tally/tally.ts';
import { sumOutcomes } from '../totals.ts';
import type { Cell } from './cell.ts';
import { type Sheet, workbookBytes } from './workbook.ts';

const WIDTHS: Readonly<Record<string, number>> = { count: 8, decimal: 16, time: 26, code: 20, words: 24 };
/** Rows that need somebody are shown once more, so many of them: they are kept until all rows are written. */
const PROBLEMS_SHOWN_MAX = 10_000;
const NO_PROBLEM: readonly Outcome[] = ['waiting', 'pending', 'paid'];
const PROBLEM_COLUMNS = [
  'line',
  'reference',
  'beneficiaryIdentityId',
  'amount',
  'sourceCurrency',
  'destinationCurrency',
  'outcome',
  'reasonCode',
  'reason',
  'paymentId',
] as const satisfies readonly ReportColumn[];

/**
 * The report as a workbook, streamed: a summary, every row in the columns of the CSV, and the rows that were not paid with
 * their reasons. Amounts, rates and counts are numbers, times are times, all else is text; nothing is a formula.
 */
export function reportXlsx(source: ReportSource): AsyncGenerator<Buffer, void> {
  const tally = openTally();
  const problems: (readonly Cell[])[] = [];
  let unseen = 0;

  async function* allRows(): AsyncGenerator<readonly (readonly Cell[])[], void> {
    for await (const batch of source.rows) {
      tally.add(batch);
      yield batch.map((row) => cellsOf(row, REPORT_COLUMNS));
      for (const row of batch) noteProblem(row);
    }
  }

  function noteProblem(row: Payout | RefusedRow): void {
    const cells = reportRow(row);
    if (NO_PROBLEM.includes(cells.outcome)) return;
    if (problems.length < PROBLEMS_SHOWN_MAX) problems.push(cellsOf(row, PROBLEM_COLUMNS));
    else unseen += 1;
  }

  async function* problemRows(): AsyncGenerator<readonly (readonly Cell[])[], void> {
    yield problems;
    if (unseen > 0) yield [[null, `and ${unseen} more: filter the rows by their outcome`]];
  }

  async function* summaryRows(): AsyncGenerator<readonly (readonly Cell[])[], void> {
    yield summaryCells(await concludeSummary(source, tally.result()));
  }

  const sheets: Sheet[] = [
    tableSheet('Rows', REPORT_COLUMNS, allRows()),
    tableSheet('Problems', PROBLEM_COLUMNS, problemRows()),
    { name: 'Summary', widths: [22, 30, 20, 20, 20, 20, 20], rows: summaryRows(), isShownFirst: true },
  ];
  return workbookBytes(sheets, { createdAt: source.createdAt });
}

function tableSheet(name: string, columns: readonly ReportColumn[], rows: Sheet['rows']): Sheet {
  return { name, head: columns, widths: columns.map((column) => WIDTHS[REPORT_COLUMN_FACTS[column].kind] ?? 16), rows };
}

function cellsOf(row: Payout | RefusedRow, columns: readonly ReportColumn[]): Cell[] {
  const shown = reportRow(row);
  const refused = isRefused(row);
  return columns.map((column) => (refused ? shown[column] : cellOf(shown, column)));
}

/** What a refused row says is text, whatever it looks like; a payout's cells are what their columns are. */
function cellOf(row: ReportRow, column: ReportColumn): Cell {
  const value = row[column];
  if (typeof value !== 'string') return value;
  const { kind } = REPORT_COLUMN_FACTS[column];
  if (kind === 'time') return { time: Date.parse(value) };
  return kind === 'decimal' ? { decimal: value } : value;
}

function summaryCells(summary: ReportSummary): (readonly Cell[])[] {
  const { ties, conservation } = summary;
  return [
    [{ head: 'does it tie?' }, ties ? 'yes' : 'NO: do not book from it'],
    ...conservation.faults.map((fault) => [null, fault]),
    ...factCells(summary.facts),
    [],
    ...outcomeCells(summary),
    [],
    ...bookingCells(summary),
  ];
}

function factCells({ run, ...facts }: ReportFacts): (readonly Cell[])[] {
  return [
    [{ head: 'run' }, run.id],
    [{ head: 'state' }, run.state],
    [{ head: 'file' }, run.fileName],
    [{ head: 'rows' }, run.rows],
    [{ head: 'SHA-256' }, run.fileSha256],
    [{ head: 'service' }, facts.sandbox ? 'sandbox: no money moved' : facts.service],
    [{ head: 'environment' }, facts.environment],
    [{ head: 'overrides' }, facts.overrides.join(', ') || 'none'],
    [{ head: 'audit log' }, facts.auditHead ?? 'empty'],
    [{ head: 'made' }, rfc3339(facts.createdAt)],
    [{ head: 'payrun' }, facts.version],
  ];
}

/** A line for each outcome: its rows, and its money in each currency. */
function outcomeCells({ facts, outcomes, totals }: ReportSummary): (readonly Cell[])[] {
  const amounts = (minorOf: (total: (typeof totals)[number]) => bigint): Cell[] =>
    totals.map((total) => ({ decimal: formatAmount({ minor: minorOf(total), currency: total.currency }) }));
  return [
    [{ head: 'outcome' }, { head: 'rows' }, ...totals.map(({ currency }) => ({ head: currency }))],
    ...OUTCOMES.map((outcome) => [outcome, outcomes[outcome], ...amounts((total) => total.outcomes[outcome])]),
    [
      { head: 'sum' },
      OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0),
      ...amounts((total) => sumOutcomes(total.outcomes)),
    ],
    [{ head: 'in the file' }, facts.run.rows, ...amounts((total) => total.file)],
  ];
}

function bookingCells({ booking }: ReportSummary): (readonly Cell[])[] {
  const heads = ['for booking', 'payments', 'debited', 'fees', 'payments returned', 'returned', 'their fees'];
  return [
    heads.map((head) => ({ head })),
    ...booking.entries.map(({ currency, ...entry }) => [
      currency,
      entry.debitedPayments,
      { decimal: formatAmount({ minor: entry.debited, currency }) },
      { decimal: formatAmount(entry.fees) },
      entry.returnedPayments,
      { decimal: formatAmount({ minor: entry.returned, currency }) },
      { decimal: formatAmount(entry.returnedFees) },
    ]),
    ...(booking.withoutAmount === 0
      ? []
      : [['not counted, as their source amount is not known', booking.withoutAmount]]),
  ];
}
