import { rfc3339 } from '../clock.ts';
import { escapeControls } from '../intake/spreadsheet-cell.ts';
import { formatAmount } from '../money.ts';
import { OUTCOMES } from '../payout.ts';
import type { Booking, BookingEntry } from './booking.ts';
import { rowsOfPart } from './reconciliation.ts';
import type { FileHashes } from './signing/file-hashes.ts';
import type { ReportFacts } from './source.ts';
import type { ReportSummary } from './summary.ts';
import { type FileTotal, sumOutcomes } from './totals.ts';

const FAULTS_SHOWN_MAX = 10;

/**
 * The summary for a terminal: what is wrong first, then the run, rows and money per outcome beside the file's own, what to
 * book, and under what assumptions it was paid. Lines end with LF; nothing in it can steer a terminal.
 */
export function summaryText(summary: ReportSummary): string {
  const parts = [
    alarmLines(summary),
    runLines(summary.facts),
    outcomeTable(summary),
    bookingLines(summary.booking),
    trustLines(summary),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.map((line) => escapeControls(line).trimEnd()).join('\n')}\n`)
    .join('\n');
}

function alarmLines({ ties, conservation, facts }: ReportSummary): string[] {
  const { deadQuotes, deadQuotesFound } = facts.run;
  const lines: string[] = [];
  if (!ties) {
    lines.push('!!! THIS REPORT DOES NOT TIE: do not book from it');
    lines.push(...conservation.faults.slice(0, FAULTS_SHOWN_MAX).map((fault) => `!!! ${fault}`));
    const unseen = conservation.faults.length - FAULTS_SHOWN_MAX;
    if (unseen > 0) lines.push(`!!! and ${unseen} more`);
  }
  if (deadQuotesFound !== null && deadQuotesFound > 0) {
    lines.push(
      `!!! PAYMENTS FOUND FOR ${deadQuotesFound} OF ${deadQuotes} QUOTES PROVEN DEAD: look for double payments`,
    );
  }
  if (facts.sandbox) lines.push('sandbox: no money moved');
  return lines;
}

function runLines({ run, ...facts }: ReportFacts): string[] {
  const reason = run.pauseReason === null ? '' : `: ${run.pauseReason}`;
  return table(
    [
      ['run', `${run.id}, ${run.state}${reason}`],
      ['file', `${run.fileName}, ${run.rows} rows${partText(run)}`],
      ['sha256', run.fileSha256],
      ['service', `${facts.service}, ${facts.environment}`],
      ['made', `${rfc3339(facts.createdAt)} by payrun ${facts.version}`],
    ],
    { rightFrom: 2 },
  );
}

/** Nothing of the other rows was ever in the ledger, so nothing of them was paid. */
function partText(run: ReportFacts['run']): string {
  const rows = rowsOfPart(run);
  return rows === undefined
    ? ''
    : `, of which ${rows} were recorded before it was cancelled; this report is about those`;
}

/** One line for the rows, then one a currency: what came of the money, and whether it is the file's. */
function outcomeTable({ facts, outcomes, totals }: ReportSummary): string[] {
  const shown = OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  const rowsTotal = OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0);
  return table(
    [
      ['', ...shown, 'total', 'in the file'],
      ['rows', ...shown.map((outcome) => String(outcomes[outcome])), String(rowsTotal), String(facts.run.rows)],
      ...totals.map((total) => [
        total.currency,
        ...shown.map((outcome) => amountText(total.outcomes[outcome], total)),
        amountText(sumOutcomes(total.outcomes), total),
        amountText(total.file, total),
      ]),
    ],
    { rightFrom: 1 },
  );
}

function bookingLines({ entries, withoutAmount }: Booking): string[] {
  if (entries.length === 0 && withoutAmount === 0) return ['debited: nothing'];
  const lines = table(
    [
      ['for booking', 'payments', 'debited', 'fees', 'returned', 'amount', 'fees'],
      ...entries.map((entry) => bookingCells(entry)),
    ],
    { rightFrom: 1 },
  );
  if (withoutAmount > 0) lines.push(`payments not counted because their source amount is not known: ${withoutAmount}`);
  return lines;
}

function bookingCells(entry: BookingEntry): string[] {
  return [
    entry.currency,
    String(entry.debitedPayments),
    amountText(entry.debited, entry),
    formatAmount(entry.fees),
    String(entry.returnedPayments),
    amountText(entry.returned, entry),
    formatAmount(entry.returnedFees),
  ];
}

function trustLines({ facts, hashes }: ReportSummary): string[] {
  const { deadQuotes, deadQuotesFound } = facts.run;
  const found = deadQuotesFound === null ? 'not looked up once more yet' : `${deadQuotesFound} of ${deadQuotes} found`;
  const capabilities = Object.entries(facts.capabilities).map(
    ([name, holds]) => `${name} ${holds ? 'yes' : 'not known'}`,
  );
  return table(
    [
      ['quotes proven dead', `${deadQuotes}, ${found}`],
      ['capabilities', capabilities.join(', ') || 'none known'],
      ['overrides', facts.overrides.join(', ') || 'none'],
      ...hashLines(hashes),
      ['audit log', facts.auditHead ?? 'empty'],
    ],
    { rightFrom: 2 },
  );
}

/** Whether the rows in the ledger are those that were handed in, in words. */
export const ROW_WORDS: Readonly<Record<FileHashes['rows'], string>> = {
  same: 'those that were handed in, by their hash',
  other: 'NOT those that were handed in',
  'not compared': 'not compared: the audit log has no hash of them',
};

function hashLines({ file, approved, rows }: FileHashes): string[][] {
  return [
    ['rows in the ledger', ROW_WORDS[rows]],
    ...(approved.length === 0
      ? []
      : [['approved', approved.every((one) => one === file) ? 'this file, by its hash' : 'ANOTHER FILE']]),
  ];
}

function amountText(minor: bigint, { currency }: Pick<FileTotal, 'currency'>): string {
  return formatAmount({ minor, currency });
}

/** Lines with columns two blanks apart; those from `rightFrom` on are aligned on the right. */
function table(rows: readonly (readonly string[])[], { rightFrom }: { rightFrom: number }): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index < rightFrom ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  '),
  );
}
