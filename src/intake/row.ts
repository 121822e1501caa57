import { digitsOf, type Money, parseAmount } from '../money.ts';
import { AMOUNT_TYPES, type PayoutRow, SOURCES_OF_CASH } from '../payout.ts';
import { amountFault, type CellFault, cellFault, cellWarning, codeOfColumn } from './cells.ts';
import { type Column, isRequired } from './columns.ts';
import type { Header } from './header.ts';
import { type Problem, problemOf } from './problems.ts';
import type { FileRecord } from './records.ts';

/** A data row as intake judges it, without regard to other rows. */
export interface CheckedRow {
  readonly line: number;
  readonly columns: readonly Column[];
  /** As they stand in the file, in the order of `columns` unless their number is wrong. */
  readonly cells: readonly string[];
  /** The payout; null when there are problems. */
  readonly row: PayoutRow | null;
  /** What the row adds to the file's totals, where amount and currency could be read. */
  readonly amount: Money | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

const PLAIN_DECIMAL = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** Checks each cell of a row against its column's rule and gives the payout, or everything that is wrong with it. */
export function checkRow(record: FileRecord, header: Header): CheckedRow {
  const { line, cells } = record;
  const { columns } = header;
  if (cells.length !== columns.length) {
    return refusedRow(record, header, [
      problemOf('E_COLUMNS', { line, facts: { found: cells.length, expected: columns.length } }),
    ]);
  }
  const values = new Map<Column, string>();
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  let isAmountSound = true;
  columns.forEach((column, at) => {
    const value = cells[at] ?? '';
    values.set(column, value);
    const fault = faultOf(column, value);
    if (fault !== undefined) {
      problems.push(problemOf(fault.code, { ...fault, line, column, value }));
      if (column === 'amount') isAmountSound = false;
      return;
    }
    const warning = cellWarning(column, value);
    if (warning !== undefined) warnings.push(problemOf(warning, { line, column, value }));
  });
  const amount = isAmountSound ? readAmount(values, line, problems) : null;
  const row = amount === null || problems.length > 0 ? null : payoutRow(line, amount, values);
  return { line, columns, cells, row, amount, problems, warnings };
}

/** A row that is refused as a whole. */
export function refusedRow({ line, cells }: FileRecord, { columns }: Header, problems: Problem[]): CheckedRow {
  return { line, columns, cells, row: null, amount: null, problems, warnings: [] };
}

/** The reference as it stands in the file; empty when there is none or the row's cells cannot be told apart. */
export function referenceOf({ columns, cells }: CheckedRow): string {
  if (cells.length !== columns.length) return '';
  return cells[columns.indexOf('reference')] ?? '';
}

/** The problem of a row whose reference another line has too (bad-input cases 77 and 79). */
export function duplicateProblem(checked: CheckedRow, other: number): Problem {
  return problemOf('E_DUP_REF', {
    line: checked.line,
    column: 'reference',
    value: referenceOf(checked),
    facts: { other },
  });
}

function faultOf(column: Column, value: string): CellFault | undefined {
  if (value === '') {
    return isRequired(column) ? { code: codeOfColumn(column), facts: { found: 'is missing' } } : undefined;
  }
  if (column === 'amount') return PLAIN_DECIMAL.test(value) ? undefined : amountFault(value);
  return cellFault(column, value);
}

/** The amount in the currency that the amount type names; null, perhaps with a problem, when either is not sound. */
function readAmount(values: ReadonlyMap<Column, string>, line: number, problems: Problem[]): Money | null {
  const type = amountTypeOf(values.get('amountType'));
  if (type === undefined) return null;
  const currency = values.get(type === 'SOURCE_AMOUNT' ? 'sourceCurrency' : 'destinationCurrency') ?? '';
  const digits = digitsOf(currency);
  if (digits === undefined) return null;
  const value = values.get('amount') ?? '';
  const amount = parseAmount(value, currency);
  if (typeof amount !== 'string') return amount;
  const decimals = value.split('.')[1] ?? '';
  const code = decimals.length > digits ? 'E_AMOUNT_SCALE' : 'E_AMOUNT_RANGE';
  problems.push(problemOf(code, { line, column: 'amount', value, facts: { currency, digits } }));
  return null;
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
