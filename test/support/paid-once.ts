import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { formatAmount, type Money } from '../../src/money.ts';

/*
 * What was paid, counted without the code that paid: the payout file's own lines against the book that the sandbox keeps
 * on disk.
 */

type Cells = Readonly<Record<string, string>>;

interface BookAmount {
  readonly minor: string;
  readonly currency: string;
}

/** A line of the sandbox's journal of payments, as far as it is compared. */
export interface BookEntry {
  readonly paymentId: string;
  readonly beneficiaryIdentityId: string;
  readonly originatorIdentityId?: string;
  readonly internalId?: string;
  readonly purposeCode?: string;
  readonly sourceOfCash?: string;
  readonly source: BookAmount;
  readonly destination: BookAmount;
  /** By the service's clock, in milliseconds. */
  readonly initiatedAt: number;
}

/** The payments of a sandbox's folder in the order in which they were made. A line that is still being written is left out. */
export function readBook(folder: string): BookEntry[] {
  return textOf(join(folder, 'test/payments.jsonl'))
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as BookEntry);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** References that the book has more than once, and payments without one. */
export function paidTwice(book: readonly BookEntry[]): string[] {
  return [...timesOf(book)]
    .filter(([reference, times]) => reference === '' || times > 1)
    .map(([reference]) => reference);
}

function timesOf(book: readonly BookEntry[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { internalId = '' } of book) times.set(internalId, (times.get(internalId) ?? 0) + 1);
  return times;
}

/** All in which the book is not the file, row by row paid exactly once; empty when it is. */
export function bookFaults(fileText: string, book: readonly BookEntry[]): string[] {
  const rows = rowsOf(fileText);
  const times = timesOf(book);
  const entries = new Map(book.map((entry) => [entry.internalId ?? '', entry]));
  const known = new Set(rows.map((row) => row['reference'] ?? ''));
  return [
    ...[...times.keys()].filter((reference) => !known.has(reference)).map((reference) => `${reference}: in no row`),
    ...rows.flatMap((row) => {
      const reference = row['reference'] ?? '';
      const count = times.get(reference) ?? 0;
      const entry = entries.get(reference);
      if (count !== 1 || entry === undefined) return [`${reference}: paid ${count} times`];
      return differences(wantedOf(row), paidOf(row, entry)).map((fault) => `${reference}: ${fault}`);
    }),
  ];
}

function wantedOf(row: Cells): Cells {
  return {
    beneficiary: row['beneficiaryIdentityId'] ?? '',
    originator: row['originatorIdentityId'] ?? '',
    amount: row['amount'] ?? '',
    sourceCurrency: row['sourceCurrency'] ?? '',
    destinationCurrency: row['destinationCurrency'] ?? '',
    purposeCode: row['purposeCode'] ?? '',
    sourceOfCash: row['sourceOfCash'] ?? '',
  };
}

function paidOf(row: Cells, entry: BookEntry): Cells {
  const { source, destination } = entry;
  return {
    beneficiary: entry.beneficiaryIdentityId,
    originator: entry.originatorIdentityId ?? '',
    amount: formatAmount(moneyOf(row['amountType'] === 'DESTINATION_AMOUNT' ? destination : source)),
    sourceCurrency: source.currency,
    destinationCurrency: destination.currency,
    purposeCode: entry.purposeCode ?? '',
    sourceOfCash: entry.sourceOfCash ?? '',
  };
}

function moneyOf({ minor, currency }: BookAmount): Money {
  return { minor: BigInt(minor), currency };
}

/** Each of the wanted values that is another one. */
export function differences(wanted: Cells, found: Cells): string[] {
  return Object.entries(wanted)
    .filter(([name, value]) => found[name] !== value)
    .map(([name, value]) => `${name} is "${found[name]}", not "${value}"`);
}

/** All in which a CSV report does not tell of each row of the file, in its order, that it was paid as the book has it. */
export function reportFaults(fileText: string, book: readonly BookEntry[], reportText: string): string[] {
  const entries = new Map(book.map((entry) => [entry.internalId ?? '', entry]));
  const told = rowsOf(reportText);
  const rows = rowsOf(fileText);
  if (told.length !== rows.length) return [`${told.length} lines for ${rows.length} rows`];
  return rows.flatMap((row, index) => {
    const reference = row['reference'] ?? '';
    const wanted = {
      line: String(index + 2),
      reference,
      beneficiaryIdentityId: row['beneficiaryIdentityId'] ?? '',
      amount: row['amount'] ?? '',
      outcome: 'paid',
      paymentId: entries.get(reference)?.paymentId ?? 'none',
    };
    return differences(wanted, told[index] ?? {}).map((fault) => `${reference}: ${fault}`);
  });
}

/** The data lines of a CSV text by the names of its header. */
export function rowsOf(text: string): Cells[] {
  return parse<Record<string, string>>(text, { columns: true });
}

/** The header and the first rows of a payout file's text. */
export function firstRows(text: string, count: number): string {
  return `${text
    .split('\n')
    .slice(0, count + 1)
    .join('\n')}\n`;
}

const WITH_PAYMENT = ['pending', 'paid', 'failed', 'returned'];
const MAYBE_WITH_PAYMENT = ['unknown', 'held'];
const WITHOUT_PAYMENT = ['waiting', 'rejected', 'cancelled', 'refused'];

/** What became of a payout file, judged from its lines, the book and the CSV report. */
export interface Verdict {
  /** References that were paid more than once (O1). */
  readonly twice: readonly string[];
  /** References of rows that the report does not have, each under its line and with an outcome that there is (O2, O3). */
  readonly lost: readonly string[];
  /** Everything in which file, book and report contradict each other (O4). */
  readonly faults: readonly string[];
  readonly outcomes: Readonly<Record<string, number>>;
}

/** Judges a run whose rows are in whatever state: what the report says of each must be what the book has of it. */
export function judgeRun(fileText: string, book: readonly BookEntry[], reportText: string): Verdict {
  const rows = rowsOf(fileText);
  const told = rowsOf(reportText);
  const known = new Set(rows.map((row) => row['reference'] ?? ''));
  const ours = book.filter(({ internalId = '' }) => known.has(internalId));
  const lines = new Map(told.map((line) => [line['line'] ?? '', line]));
  const outcomes: Record<string, number> = {};
  for (const { outcome = '' } of told) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const lost: string[] = [];
  const faults = rows.flatMap((row, index) => {
    const line = lines.get(String(index + 2)) ?? {};
    const reference = row['reference'] ?? '';
    const payments = ours.filter(({ internalId }) => internalId === reference);
    if (!isTold(line, reference)) lost.push(reference);
    return rowFaults(row, line, payments).map((fault) => `${reference}: ${fault}`);
  });
  if (told.length !== rows.length || lines.size !== rows.length)
    faults.push(`${told.length} lines for ${rows.length} rows`);
  return { twice: paidTwice(ours), lost, faults, outcomes };
}

function isTold(line: Cells, reference: string): boolean {
  const outcome = line['outcome'] ?? '';
  const ends = [...WITH_PAYMENT, ...MAYBE_WITH_PAYMENT, ...WITHOUT_PAYMENT];
  return line['reference'] === reference && ends.includes(outcome);
}

function rowFaults(row: Cells, line: Cells, payments: readonly BookEntry[]): string[] {
  const { outcome = '', paymentId = '', reason = '' } = line;
  const found = payments.flatMap((payment) => differences(wantedOf(row), paidOf(row, payment)));
  if (WITH_PAYMENT.includes(outcome)) {
    const isThere = payments.some((payment) => payment.paymentId === paymentId);
    return isThere ? found : [...found, `${outcome} as ${paymentId}, which the book does not have`];
  }
  if (MAYBE_WITH_PAYMENT.includes(outcome)) return found;
  if (payments.length > 0) found.push(`${outcome}, but the book has ${payments.length} payments`);
  if (['rejected', 'refused'].includes(outcome) && reason === '') found.push(`${outcome} without a reason`);
  return found;
}
