import { digitsOf, formatAmount, type Money, parseAmount } from '../../money.ts';
import { AMOUNT_TYPES, type PayoutRow, SOURCES_OF_CASH } from '../../payout.ts';
import { type Header, type HeaderColumn, textIn } from '../csv/header.ts';
import { type Problem, problemOf } from '../problems/problems.ts';
import { showValue } from '../problems/shown-value.ts';
import type { FileRecord } from '../record.ts';
import type { Column } from '../template/columns.ts';
import type { Template } from '../template/template.ts';
import { amountFault, type CellFault, cellFault, cellWarning, codeOfColumn } from './cells.ts';
import { isSignOf } from './currency-signs.ts';

/** A data row as intake judges it, without regard to other rows. */
export interface CheckedRow {
  readonly line: number;
  /** All cells of the record, those that are not read included. */
  readonly record: FileRecord;
  readonly columns: readonly Column[];
  /** As they stand in the file, in the order of `columns`; none when the row has not as many as the header. */
  readonly cells: readonly string[];
  /** The payout; null when there are problems. */
  readonly row: PayoutRow | null;
  /** What the row adds to the file's totals, where amount and currency could be read. */
  readonly amount: Money | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** What the columns of one row say, and what is wrong with them. */
interface Judged {
  readonly values: Map<Column, string>;
  readonly problems: Problem[];
  readonly warnings: Problem[];
  /** The amount as a plain decimal; undefined when it is none. */
  amountText: string | undefined;
}

const PLAIN_DECIMAL = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** Checks each cell of a row against its column's rule and gives the payout, or everything that is wrong with it. */
export function checkRow(asRead: FileRecord, header: Header): CheckedRow {
  const record = judgeAmountWords(asRead, header);
  const { line, cells } = record;
  if (cells.length !== header.width) {
    return refusedRow(record, header, [
      problemOf('E_COLUMNS', { line, facts: { found: cells.length, expected: header.width } }),
    ]);
  }
  const judged = judgeCells(record, header);
  const { values, problems, warnings } = judged;
  for (const { code, ...place } of record.faults ?? []) problems.push(problemOf(code, { ...place, line }));
  const amount = readAmount(judged, line, header);
  const row = amount === null || problems.length > 0 ? null : payoutRow(line, amount, values);
  return {
    line,
    record,
    columns: header.columnNames,
    cells: readCells(cells, header),
    row,
    amount,
    problems,
    warnings,
  };
}

/** A row that is refused as a whole. */
export function refusedRow(record: FileRecord, header: Header, problems: Problem[]): CheckedRow {
  const { line, cells } = record;
  const read = cells.length === header.width ? readCells(cells, header) : [];
  return { line, record, columns: header.columnNames, cells: read, row: null, amount: null, problems, warnings: [] };
}

/** The cells of the columns that are read; most files have no others. */
function readCells(cells: readonly string[], { columns, width, template }: Header): readonly string[] {
  if (columns.length === width && template.fixed.size === 0) return cells;
  return columns.map((column) => textIn(column, cells));
}

/** The reference as it stands in the file; empty when there is none or the row's cells cannot be told apart. */
export function referenceOf({ columns, cells }: CheckedRow): string {
  return cells[columns.indexOf('reference')] ?? '';
}

/** The problem of a row whose reference another line has too. */
export function duplicateProblem(checked: CheckedRow, other: number): Problem {
  return problemOf('E_DUP_REF', {
    line: checked.line,
    column: 'reference',
    value: referenceOf(checked),
    facts: { other },
  });
}

function judgeCells({ line, cells, cellFaults }: FileRecord, header: Header): Judged {
  const judged: Judged = { values: new Map(), problems: [], warnings: [], amountText: undefined };
  for (const place of header.columns) {
    const { column, name, at } = place;
    const value = textIn(place, cells);
    judged.values.set(column, value);
    const fault = cellFaults?.get(at) ?? faultOf(place, value, header);
    if (fault !== undefined) {
      judged.problems.push(problemOf(fault.code, { ...fault, line, column, name, value }));
      continue;
    }
    if (column === 'amount') judged.amountText = header.readAmount(value);
    const warning = cellWarning(column, value);
    if (warning !== undefined) judged.warnings.push(problemOf(warning, { line, column, name, value }));
  }
  return judged;
}

function faultOf(
  place: HeaderColumn,
  value: string,
  { template, readAmount: plainDecimalOf }: Header,
): CellFault | undefined {
  const { column, fixed } = place;
  const { decimalMark } = template;
  if (value === '') {
    if (!place.isDemanded) return undefined;
    return { code: codeOfColumn(column), facts: { found: 'is missing', example: `1234${decimalMark}56` } };
  }
  if (fixed !== undefined && fixed !== value) return { code: 'E_FIXED' };
  if (column === 'amount') {
    return PLAIN_DECIMAL.test(plainDecimalOf(value) ?? '') ? undefined : amountFault(value, decimalMark);
  }
  return cellFault(column, value) ?? templateFault(place, value, template);
}

/** What the template has against a value that is sound in itself. */
function templateFault({ column, allowed }: HeaderColumn, value: string, template: Template): CellFault | undefined {
  if (allowed?.has(value) === false) return { code: 'E_NOT_ALLOWED' };
  const { referenceCharacters } = template;
  if (column !== 'reference' || referenceCharacters === null || value.length === referenceCharacters) return undefined;
  const found = `has ${value.length} characters, not ${referenceCharacters}; a spreadsheet may have taken zeros off its head`;
  const remedy = `Enter it with all its ${referenceCharacters} characters from its source, in a column with the format of text, or correct referenceCharacters in the template.`;
  return { code: 'E_REFERENCE', facts: { found }, remedy };
}

/** The amount in the currency that the amount type names; null, perhaps with a problem, when either is not sound. */
function readAmount({ values, problems, amountText }: Judged, line: number, header: Header): Money | null {
  const type = amountTypeOf(values.get('amountType'));
  if (type === undefined || amountText === undefined) return null;
  const currency = values.get(type === 'SOURCE_AMOUNT' ? 'sourceCurrency' : 'destinationCurrency') ?? '';
  const digits = digitsOf(currency);
  if (digits === undefined) return null;
  const place = { line, column: 'amount', name: nameIn(header), value: values.get('amount') ?? '' };
  const amount = parseAmount(amountText, currency);
  if (typeof amount !== 'string') {
    const found = overLimit(amount, header.template.payoutMax);
    if (found !== undefined) problems.push(problemOf('E_LIMIT', { ...place, facts: { found } }));
    return amount;
  }
  const decimals = amountText.split('.')[1] ?? '';
  const code = decimals.length > digits ? 'E_AMOUNT_SCALE' : 'E_AMOUNT_RANGE';
  problems.push(problemOf(code, { ...place, facts: { currency, digits } }));
  return null;
}

function nameIn({ columns }: Header): string {
  return columns.find(({ column }) => column === 'amount')?.name ?? 'amount';
}

/** What is wrong with the amount by the template's limits: a currency that they do not name must not occur at all. */
function overLimit(amount: Money, payoutMax: ReadonlyMap<string, Money> | null): string | undefined {
  if (payoutMax === null) return undefined;
  const limit = payoutMax.get(amount.currency);
  if (limit === undefined) return `the template has no limit for ${amount.currency}`;
  if (amount.minor <= limit.minor) return undefined;
  return `the limit of the template for one payout is ${formatAmount(limit)} ${limit.currency}`;
}

function amountTypeOf(value: string | undefined): PayoutRow['amountType'] | undefined {
  if (value === undefined || value === '') return 'SOURCE_AMOUNT';
  return AMOUNT_TYPES.find((type) => type === value);
}

function payoutRow(line: number, amount: Money, values: ReadonlyMap<Column, string>): PayoutRow {
  const optional = (column: Column): string | null => values.get(column) || null;
  const required = (column: Column): string => values.get(column) ?? '';
  return {
    line,
    reference: required('reference'),
    beneficiaryIdentityId: required('beneficiaryIdentityId').toLowerCase(),
    originatorIdentityId: optional('originatorIdentityId')?.toLowerCase() ?? null,
    amount,
    amountType: amountTypeOf(values.get('amountType')) ?? 'SOURCE_AMOUNT',
    sourceCurrency: required('sourceCurrency'),
    destinationCurrency: required('destinationCurrency'),
    sourceCountry: optional('sourceCountry'),
    destinationCountry: optional('destinationCountry'),
    payoutCategory: optional('payoutCategory'),
    payinCategory: optional('payinCategory'),
    purposeCode: optional('purposeCode'),
    sourceOfCash: SOURCES_OF_CASH.find((source) => source === values.get('sourceOfCash')) ?? null,
  };
}

/**
 * The record with a fault in the cell of its amount where a word stands beside it that is no sign of its currency: €100 is
 * not what a row in USD pays, and 5k not what one pays that holds 5.
 */
function judgeAmountWords(record: FileRecord, { columns }: Header): FileRecord {
  if (record.cellWords === undefined) return record;
  const placeOf = (column: Column) => columns.find((one) => one.column === column);
  const at = placeOf('amount')?.at ?? -1;
  const words = record.cellWords.get(at) ?? [];
  if (words.length === 0 || record.cellFaults?.has(at) === true) return record;
  const textOf = (column: Column): string => {
    const place = placeOf(column);
    return place === undefined ? '' : textIn(place, record.cells);
  };
  const currency = textOf(textOf('amountType') === 'DESTINATION_AMOUNT' ? 'destinationCurrency' : 'sourceCurrency');
  const word = words.find((one) => !isSignOf(one, currency));
  if (word === undefined) return record;
  return { ...record, cellFaults: new Map([...(record.cellFaults ?? []), [at, amountWordFault(word)]]) };
}

function amountWordFault(word: string): CellFault {
  const found = `"${showValue(null, word)}" stands beside the amount, which is no sign of its currency`;
  return { code: 'E_NUMBER_FORMAT', facts: { found } };
}
