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

interface ContentHash {
  add(checked: CheckedRow): void;
  /** Adds a row that is paid. */
  addRow(row: PayoutRow): void;
  digest(): string;
}

/** Adds up rows to a hash that tells the same rows in any order: the sum of their digests modulo 2^256. */
export function openContentHash(): ContentHash {
  let rows = 0;
  let sum = 0n;
  function addDigest(digest: string): void {
    sum = BigInt.asUintN(CONTENT_SUM_BITS, sum + BigInt(`0x${digest}`));
    rows++;
  }
  return {
    add: (checked) => addDigest(checked.row === null ? digestCells(checked) : digestRow(checked.row)),
    addRow: (row) => addDigest(digestRow(row)),
    digest: () => hash('sha256', `${rows} ${sum.toString(16)}`, 'hex'),
  };
}
