import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { formatAmount } from '../../src/money.ts';
import { sheetsOf } from '../report/workbook.ts';
import type { BookEntry } from '../support/paid-once.ts';
import type { Office } from './acts.ts';
import type { Company } from './company.ts';

/*
 * Every format of a report against the book that the sandbox keeps on disk: the amounts of each payment, and what they add
 * up to, to the cent.
 */

/** Outcomes of rows that have a payment, and of those whose payment was debited. */
const WITH_PAYMENT = ['pending', 'paid', 'failed', 'returned'];
const DEBITED = ['pending', 'paid'];
/** The service ends a payment in a second or two. */
const TIMES_MAX = 20;
const ALWAYS = ['--from', '2020-01-01', '--to', '2099-12-31'];

type Cells = Readonly<Record<string, string>>;

/** A cell of a row as the CSV has it; the JSON's list of fees is another thing. */
const shownCell = z.union([
  z.string(),
  z.number().transform(String),
  z.null().transform(() => ''),
  z.array(z.unknown()).transform(() => ''),
]);
const money = z.object({ amount: z.string(), currency: z.string() });
const jsonReport = z.object({
  rows: z.array(z.record(z.string(), shownCell)),
  booking: z.array(z.object({ currency: z.string(), debited: z.string(), debitedPayments: z.int() })),
});
const periodReport = z.object({
  ties: z.boolean(),
  runs: z.array(z.string()),
  lines: z.array(z.object({ by: z.string(), name: z.string(), debited: z.array(money), arrived: z.array(money) })),
});

/** All in which the reports of a company's runs, in any format, differ from the service's book. */
export async function reportFaultsOf(office: Office): Promise<string[]> {
  for (let times = 0; times < TIMES_MAX; times++) {
    const before = await tablesOf(office);
    const faults = await formatFaults(office, before);
    // A payment that comes to its end meanwhile is told otherwise in the next report.
    if (isDeepStrictEqual(await tablesOf(office), before)) return faults;
  }
  return [`the reports were another one each of ${TIMES_MAX} times`];
}

type Tables = ReadonlyMap<string, readonly Cells[]>;

/** The CSV of each run that has rows. */
async function tablesOf({ company }: Office): Promise<Tables> {
  const runs = (await company.listed()).filter(({ outcomes }) => Object.values(outcomes).some((rows) => rows > 0));
  const tables = new Map<string, readonly Cells[]>();
  for (const { runId } of runs) {
    const csv = await company.reported([runId]);
    if (csv !== undefined) tables.set(runId, parse(csv, { columns: true }));
  }
  return tables;
}

async function formatFaults(office: Office, tables: Tables): Promise<string[]> {
  const { company, references } = office;
  const book = new Map(company.booked(references).map((entry) => [entry.paymentId, entry]));
  const faults: string[] = [];
  const debited: BookEntry[] = [];
  for (const [runId, csv] of tables) {
    const own = csv.filter(({ outcome = '' }) => DEBITED.includes(outcome)).flatMap((row) => entryOf(book, row) ?? []);
    debited.push(...own);
    const others = [
      await jsonFaults(office, { runId, csv, own }),
      await workbookFaults(office, runId, csv),
      await statusFaults(office, runId, csv),
      await summaryFaults(office, runId, csv),
    ];
    faults.push(...[...csv.flatMap((row) => rowFaults(book, row)), ...others.flat()].map((one) => `${runId}: ${one}`));
  }
  return [...faults, ...(await periodFaults(office, debited))];
}

async function reportOf(company: Company, words: readonly string[]): Promise<Buffer> {
  const bytes = await company.reported(words);
  if (bytes === undefined) throw new Error(`there is no report ${words.join(' ')}`);
  return bytes;
}

function entryOf(book: ReadonlyMap<string, BookEntry>, { paymentId = '' }: Cells): BookEntry | undefined {
  return book.get(paymentId);
}

/** A row of the CSV against its payment in the book. */
function rowFaults(book: ReadonlyMap<string, BookEntry>, row: Cells): string[] {
  if (!WITH_PAYMENT.includes(row['outcome'] ?? '')) return [];
  const entry = entryOf(book, row);
  if (entry === undefined) return [`CSV line ${row['line']}: the book has no payment ${row['paymentId']}`];
  const wanted: Cells = {
    reference: entry.internalId ?? '',
    beneficiaryIdentityId: entry.beneficiaryIdentityId,
    sourceAmount: textOf(entry.source),
    sourceCurrency: entry.source.currency,
    destinationAmount: textOf(entry.destination),
    destinationCurrency: entry.destination.currency,
  };
  return different(wanted, row).map((fault) => `CSV line ${row['line']}: ${fault}`);
}

function textOf({ minor, currency }: BookEntry['source']): string {
  return formatAmount({ minor: BigInt(minor), currency });
}

function different(wanted: Cells, found: Cells): string[] {
  return Object.entries(wanted)
    .filter(([name, value]) => found[name] !== value)
    .map(([name, value]) => `${name} is "${found[name]}", not "${value}"`);
}

/** What entries of the book come to in each currency. */
function sumsOf(entries: readonly BookEntry[], side: 'source' | 'destination'): Cells {
  const sums = new Map<string, bigint>();
  for (const { [side]: one } of entries) sums.set(one.currency, (sums.get(one.currency) ?? 0n) + BigInt(one.minor));
  return Object.fromEntries([...sums].map(([currency, minor]) => [currency, formatAmount({ minor, currency })]));
}

/** A run, its CSV, and the payments of its rows that were debited. */
interface RunTold {
  readonly runId: string;
  readonly csv: readonly Cells[];
  readonly own: readonly BookEntry[];
}

async function jsonFaults({ company }: Office, { runId, csv, own }: RunTold): Promise<string[]> {
  const bytes = await reportOf(company, [runId, '--format', 'json']);
  const { rows, booking } = jsonReport.parse(JSON.parse(bytes.toString()));
  const shown = Object.fromEntries(booking.map(({ currency, debited }) => [currency, debited]));
  return [
    ...(rows.length === csv.length ? [] : [`JSON: ${rows.length} rows, the CSV has ${csv.length}`]),
    ...csv.flatMap((row, at) => different(row, rows[at] ?? {}).map((fault) => `JSON line ${row['line']}: ${fault}`)),
    ...different(sumsOf(own, 'source'), shown).map((fault) => `JSON, booking: ${fault}`),
  ];
}

/** Numbers of the workbook are compared as numbers: another program made them of what stands in it. */
async function workbookFaults({ company }: Office, runId: string, csv: readonly Cells[]): Promise<string[]> {
  const bytes = await reportOf(company, [runId, '--format', 'xlsx']);
  const [head = [], ...lines] = (await sheetsOf(bytes)).get('Rows') ?? [];
  const columns = ['line', 'reference', 'amount', 'sourceAmount', 'destinationAmount', 'outcome', 'paymentId'];
  if (lines.length !== csv.length) return [`XLSX: ${lines.length} rows, the CSV has ${csv.length}`];
  return csv.flatMap((row, at) =>
    columns
      .filter((column) => !isSame(row[column] ?? '', lines[at]?.[head.indexOf(column)]))
      .map((column) => `XLSX line ${row['line']}: ${column} is not ${row[column]}`),
  );
}

function isSame(text: string, cell: unknown): boolean {
  return typeof cell === 'number' ? cell === Number(text) : (cell ?? '') === text;
}

/** How many rows of each outcome the summary has. */
async function summaryFaults({ company }: Office, runId: string, csv: readonly Cells[]): Promise<string[]> {
  const bytes = await reportOf(company, [runId, '--format', 'summary', '--json']);
  const { outcomes } = z.object({ outcomes: z.record(z.string(), z.int()) }).parse(JSON.parse(bytes.toString()));
  const counted = (name: string): number => csv.filter(({ outcome }) => outcome === name).length;
  return Object.entries(outcomes)
    .filter(([name, rows]) => rows !== counted(name))
    .map(([name, rows]) => `summary: ${rows} ${name}, the CSV has ${counted(name)}`);
}

/** Of each row its outcome, its payment and the amount of the file. */
async function statusFaults({ company }: Office, runId: string, csv: readonly Cells[]): Promise<string[]> {
  const bytes = await reportOf(company, [runId, '--format', 'pain.002']);
  const told = [...bytes.toString().matchAll(/<TxInfAndSts>.*?<\/TxInfAndSts>/gs)].map(([text]) => text);
  if (told.length !== csv.length) return [`pain.002: ${told.length} rows, the CSV has ${csv.length}`];
  return csv.flatMap((row, at) => {
    const wanted = [
      `<StsId>${runId}-${row['line']}</StsId>`,
      `outcome ${row['outcome']}<`,
      `<InstdAmt Ccy="${row['sourceCurrency']}">${row['amount']}</InstdAmt>`,
      ...(row['paymentId'] === '' ? [] : [`payment ${row['paymentId']}<`]),
    ];
    return wanted.filter((part) => !told[at]?.includes(part)).map((part) => `pain.002 line ${row['line']}: no ${part}`);
  });
}

/** The period with all runs: what was debited and what arrived, in each way of adding it up. */
async function periodFaults({ company }: Office, debited: readonly BookEntry[]): Promise<string[]> {
  const bytes = await reportOf(company, [...ALWAYS, '--format', 'json']);
  const { lines } = periodReport.parse(JSON.parse(bytes.toString()));
  const others = await periodTableFaults(company, lines);
  const sums = ['currency', 'corridor', 'beneficiary', 'run'].flatMap((by) => {
    const own = lines.filter((line) => line.by === by);
    return (['debited', 'arrived'] as const).flatMap((kind) => {
      const wanted = sumsOf(debited, kind === 'debited' ? 'source' : 'destination');
      const minor = own.flatMap((line) => line[kind]).map(({ amount }) => BigInt(amount.replace('.', '')));
      const [currency = kind === 'debited' ? 'USD' : 'MXN'] = Object.keys(wanted);
      const found = formatAmount({ minor: minor.reduce((sum, one) => sum + one, 0n), currency });
      const expected = wanted[currency] ?? '0.00';
      return found === expected ? [] : [`period, ${kind} by ${by}: ${found}, the book has ${expected}`];
    });
  });
  return [...sums, ...others];
}

type PeriodLines = z.infer<typeof periodReport>['lines'];

/** The period's CSV, workbook and summary against its JSON: the same lines with the same money. */
async function periodTableFaults(company: Company, lines: PeriodLines): Promise<string[]> {
  const csv: Record<string, string>[] = parse(await reportOf(company, [...ALWAYS, '--format', 'csv']), {
    columns: true,
  });
  const sheets = [...(await sheetsOf(await reportOf(company, [...ALWAYS, '--format', 'xlsx']))).values()].slice(1);
  const workbook = sheets.flatMap(([head = [], ...rows]) =>
    rows.map((cells) => Object.fromEntries(head.map((name, at) => [String(name), cells[at]]))),
  );
  const summary = (await reportOf(company, [...ALWAYS, '--format', 'summary'])).toString();
  if (csv.length !== lines.length || workbook.length !== lines.length)
    return [`period: ${lines.length} lines in the JSON, ${csv.length} in the CSV, ${workbook.length} in the workbook`];
  const faults = lines.flatMap(({ by, name, debited, arrived }, at) =>
    (['debited', 'arrived'] as const).flatMap((kind) => {
      const [one, ...more] = kind === 'debited' ? debited : arrived;
      const wanted = more.length > 0 ? '' : (one?.amount ?? '');
      return [csv[at]?.[kind], workbook[at]?.[kind]].flatMap((found) =>
        isSame(wanted, found === '' ? undefined : found)
          ? []
          : [`period, ${kind} of ${by} ${name}: ${String(found)}, not ${wanted}`],
      );
    }),
  );
  return summary.includes('does it tie?') ? faults : [...faults, 'period: its summary does not say whether it ties'];
}
