import { digitsOf, type Money } from '../../money.ts';
import type { Payout, RefusedRow } from '../../payout.ts';
import { withoutTrailing } from '../../trailing.ts';
import { isRefused } from '../row.ts';
import { TRANSACTION_STATUSES, type TransactionStatus, transactionStatus } from './status.ts';

type Rows = AsyncIterable<readonly (Payout | RefusedRow)[]>;

/** What each row of a run was when its rows were read first: one byte a row. */
export interface NotedStatuses {
  /** The rows as they come, each of them noted. */
  noting(rows: Rows): Rows;
  /** How many rows there are with a status, and their control sum. */
  rowsOf(status: TransactionStatus): number;
  sumOf(status: TransactionStatus): string;
  /** How many rows there are. */
  rows(): number;
  /** The status of the row at this place, from 0. */
  at(index: number): TransactionStatus | undefined;
}

/**
 * A message tells its counts before its rows, and a run may move while they are read: who reads the rows twice notes what
 * they were the first time, so that counts and rows are of one moment.
 */
export function openNotedStatuses(): NotedStatuses {
  const totals = new Map(TRANSACTION_STATUSES.map((status) => [status, { rows: 0, sum: 0n }]));
  let notes = new Uint8Array(4096);
  let rows = 0;

  function note(row: Payout | RefusedRow): void {
    const status = transactionStatus(row);
    if (rows === notes.length) notes = doubled(notes);
    notes[rows++] = TRANSACTION_STATUSES.indexOf(status);
    const total = totals.get(status);
    if (total === undefined) return;
    total.rows++;
    const amount = isRefused(row) ? row.amount : row.row.amount;
    if (amount !== null) total.sum += scaled(amount);
  }

  return {
    async *noting(source) {
      for await (const batch of source) {
        for (const row of batch) note(row);
        yield batch;
      }
    },
    rowsOf: (status) => totals.get(status)?.rows ?? 0,
    sumOf: (status) => decimalOf(totals.get(status)?.sum ?? 0n),
    rows: () => rows,
    at: (index) => (index < rows ? TRANSACTION_STATUSES[notes[index] ?? 0] : undefined),
  };
}

function doubled(notes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(notes.length * 2);
  larger.set(notes);
  return larger;
}

/** No currency has more. */
const SUM_DIGITS = 4;

/** ISO's control sum: amounts added up whatever their currencies, so that it is no money. */
export function controlSum(amounts: readonly Money[]): string {
  return decimalOf(amounts.reduce((sum, amount) => sum + scaled(amount), 0n));
}

function scaled({ minor, currency }: Money): bigint {
  return minor * 10n ** BigInt(SUM_DIGITS - (digitsOf(currency) ?? 0));
}

function decimalOf(sum: bigint): string {
  const digits = sum.toString().padStart(SUM_DIGITS + 1, '0');
  const fraction = withoutTrailing(digits.slice(-SUM_DIGITS), '0');
  return `${digits.slice(0, -SUM_DIGITS)}${fraction === '' ? '' : `.${fraction}`}`;
}
