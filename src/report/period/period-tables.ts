import { rfc3339 } from '../../clock.ts';
import { formatAmount, type Money } from '../../money.ts';
import { OUTCOMES } from '../../payout.ts';
import { marked } from '../csv.ts';
import { jsonText } from '../json-text.ts';
import { type TableCell, tableCsv } from '../table-csv.ts';
import { inTurns } from '../turns.ts';
import type { Cell } from '../xlsx/cell.ts';
import { type Sheet, workbookBytes } from '../xlsx/workbook.ts';
import type { Dimension, PeriodLine, PeriodReport } from './period.ts';

const SECOND_MS = 1000;

/** A line as JSON: amounts are decimals with the currency's digits, counts are numbers, what is absent is null. */
function periodLineDocument({ finalMs, outcomes, amounts, ...line }: PeriodLine) {
  const { by, name, currency, quotedRate, rate, rateWithFees } = line;
  return {
    by,
    name,
    currency,
    rows: OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0),
    outcomes,
    amounts: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, amountText(amounts[outcome], currency)])),
    debited: line.debited.map(moneyText),
    arrived: line.arrived.map(moneyText),
    fees: line.fees.map(moneyText),
    quotedRate,
    rate,
    rateWithFees,
    secondsToFinal: finalMs === null ? null : (finalMs / SECOND_MS).toFixed(1),
  };
}

function amountText(minor: bigint, currency: string): string {
  return formatAmount({ minor, currency });
}

function moneyText(money: Money): { amount: string; currency: string } {
  return { amount: formatAmount(money), currency: money.currency };
}

/** The report as JSON. */
export function periodDocument({ from, end, createdAt, lines, faults, ...report }: PeriodReport) {
  const times = { from: rfc3339(from), end: rfc3339(end), createdAt: rfc3339(createdAt) };
  return { ...times, ...report, lines: lines.map(periodLineDocument), ties: faults.length === 0, faults };
}

/** The report as a file. */
export function periodContent(
  report: PeriodReport,
  { format, bom }: { format: 'csv' | 'xlsx' | 'json'; bom: boolean },
): AsyncIterable<string | Buffer> {
  if (format === 'xlsx') return periodXlsx(report);
  return marked(format === 'csv' ? csvPieces(report.lines) : jsonPieces(report), { bom: bom && format === 'csv' });
}

/** A period may have as many lines as beneficiaries: others have their turn after so many. */
const LINES_A_TURN = 200;

async function* csvPieces(lines: readonly PeriodLine[]): AsyncGenerator<string, void> {
  yield tableCsv([COLUMNS]);
  for await (const piece of inTurns(lines, LINES_A_TURN)) yield tableCsv(piece.map(csvRow));
}

async function* jsonPieces(report: PeriodReport): AsyncGenerator<string, void> {
  const { lines: _none, ...about } = periodDocument({ ...report, lines: [] });
  yield `${jsonText(about).slice(0, -1)},"lines":[`;
  let first = true;
  for await (const piece of inTurns(report.lines, LINES_A_TURN)) {
    yield `${first ? '' : ','}${piece.map((line) => jsonText(periodLineDocument(line))).join(',')}`;
    first = false;
  }
  yield ']}\n';
}

/** What the report is about, a label and its words each. */
export function periodFacts({ from, end, createdAt, runs, leftOut, earlier, faults }: PeriodReport): string[][] {
  return [
    ['does it tie?', faults.length === 0 ? 'yes' : 'NO: do not book from it'],
    ...faults.map((fault) => ['', fault]),
    ['from', rfc3339(from)],
    ['until before', rfc3339(end)],
    ['made', rfc3339(createdAt)],
    ['runs', String(runs.length)],
    ['left out', leftOut.length === 0 ? 'none' : `${leftOut.join(', ')}: rows removed, or still being recorded`],
    ...earlier.map(({ runId, outcomes }) => [
      'open from before',
      `${runId}: ${Object.entries(outcomes)
        .map(([outcome, rows]) => `${rows} ${outcome}`)
        .join(', ')}`,
    ]),
  ];
}

const MONEY = ['debited', 'arrived', 'fees'] as const;

const COLUMNS: readonly string[] = [
  'by',
  'name',
  'currency',
  'rows',
  ...OUTCOMES,
  ...OUTCOMES.map((outcome) => `${outcome}Amount`),
  ...MONEY.flatMap((name) => [name, `${name}Currency`]),
  'quotedRate',
  'rate',
  'rateWithFees',
  'secondsToFinal',
];

/** The cells of a line: a text, a count, or an exact decimal; money in several currencies is left out. */
function cellsOf(line: PeriodLine): (string | number | null | { readonly decimal: string })[] {
  const { by, name, currency, rows, outcomes, amounts, ...document } = periodLineDocument(line);
  return [
    by,
    name,
    currency,
    rows,
    ...OUTCOMES.map((outcome) => outcomes[outcome]),
    ...OUTCOMES.map((outcome) => (currency === '' ? null : decimal(amounts[outcome]))),
    ...MONEY.flatMap((kind) => {
      const [money, ...others] = document[kind];
      return money === undefined || others.length > 0 ? [null, null] : [decimal(money.amount), money.currency];
    }),
    decimal(document.quotedRate),
    decimal(document.rate),
    decimal(document.rateWithFees),
    decimal(document.secondsToFinal),
  ];
}

function decimal(text: string | null | undefined): { readonly decimal: string } | null {
  return text === null || text === undefined ? null : { decimal: text };
}

/** The lines as CSV (RFC 4180, UTF-8, CRLF), the words of others neutralised. */
export function periodCsv(lines: readonly PeriodLine[]): string {
  return tableCsv([COLUMNS, ...lines.map(csvRow)]);
}

function csvRow(line: PeriodLine): TableCell[] {
  return cellsOf(line).map((cell) => (typeof cell === 'object' && cell !== null ? { exact: cell.decimal } : cell));
}

const SHEETS: readonly (readonly [name: string, by: Dimension])[] = [
  ['Currencies', 'currency'],
  ['Corridors', 'corridor'],
  ['Beneficiaries', 'beneficiary'],
  ['Reasons', 'reason'],
  ['Reasons by corridor', 'corridor-reason'],
  ['Reasons by beneficiary', 'beneficiary-reason'],
  ['Runs', 'run'],
];

/** The report as a workbook: a summary, then a sheet for each dimension. */
function periodXlsx(report: PeriodReport): AsyncGenerator<Buffer, void> {
  const { lines, createdAt } = report;
  const head = periodFacts(report).map(([label = '', ...cells]): Cell[] => [{ head: label }, ...cells]);
  const sheets = SHEETS.map(([name, by]): Sheet => {
    const own = lines.filter((line) => line.by === by);
    return { name, head: COLUMNS, widths: COLUMNS.map(() => 16), rows: cellPieces(own) };
  });
  return workbookBytes([{ name: 'Summary', widths: [20, 60], rows: batchOf(head) }, ...sheets], { createdAt });
}

async function* cellPieces(lines: readonly PeriodLine[]): AsyncGenerator<readonly (readonly Cell[])[], void> {
  for await (const piece of inTurns(lines, LINES_A_TURN)) yield piece.map(cellsOf);
}

async function* batchOf(rows: readonly (readonly Cell[])[]): AsyncGenerator<readonly (readonly Cell[])[], void> {
  yield rows;
}
