import { hash } from 'node:crypto';
import type { PayoutRow } from '../../payout.ts';
import type { CheckedRow } from './row.ts';

const CONTENT_SUM_BITS = 256;

/** A JSON array is unambiguous: no two rows have the same text unless they have the same fields. */
function digestRow(row: PayoutRow): string {
  const fields = [
    row.reference,
    row.beneficiaryIdentityId,
    row.originatorIdentityId,
    row.amount.minor.toString(),
    row.amount.currency,
    row.amountType,
    row.sourceCurrency,
    row.destinationCurrency,
    row.sourceCountry,
    row.destinationCountry,
    row.payoutCategory,
    row.payinCategory,
    row.purposeCode,
    row.sourceOfCash,
  ];
  return hash('sha256', JSON.stringify(fields), 'hex');
}

/** A refused row by its cells as they stand, each under its column's name so that the order of columns means nothing. */
function digestCells({ columns, cells }: CheckedRow): string {
  const named = cells.map((cell, at) => [columns[at] ?? '', cell] as const);
  const sorted = named.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)));
  return hash('sha256', JSON.stringify(['refused', ...sorted]), 'hex');
}

/** Rows that are added up in any order. */
export interface ContentHash {
  add(checked: CheckedRow): void;
  /** Adds a row that is paid. */
  addRow(row: PayoutRow): void;
  digest(): string;
  /** The same of the rows alone that are not refused. */
  accepted(): string;
}

/** Adds up rows to a hash that tells the same rows in any order: the sum of their digests modulo 2^256. */
export function openContentHash(): ContentHash {
  const accepted = openSum();
  const refused = openSum();
  return {
    add: (checked) => (checked.row === null ? refused.add(digestCells(checked)) : accepted.add(digestRow(checked.row))),
    addRow: (row) => accepted.add(digestRow(row)),
    digest: () => digestSum(accepted.rows() + refused.rows(), accepted.sum() + refused.sum()),
    accepted: () => digestSum(accepted.rows(), accepted.sum()),
  };
}

function openSum() {
  let rows = 0;
  let sum = 0n;
  return {
    add(digest: string): void {
      sum = BigInt.asUintN(CONTENT_SUM_BITS, sum + BigInt(`0x${digest}`));
      rows++;
    },
    rows: () => rows,
    sum: () => sum,
  };
}

function digestSum(rows: number, sum: bigint): string {
  return hash('sha256', `${rows} ${BigInt.asUintN(CONTENT_SUM_BITS, sum).toString(16)}`, 'hex');
}
