import type { Payout, RefusedRow } from '../../payout.ts';
import { isRefused } from '../row.ts';
import type { RowState } from '../totals.ts';

/** The words of ISO 20022's ExternalPaymentTransactionStatus1Code that a report needs, as docs/templates.md says when. */
export const TRANSACTION_STATUSES = ['ACSC', 'ACSP', 'PDNG', 'RJCT'] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

/** Those of ExternalPaymentGroupStatus1Code. */
export type GroupStatus = TransactionStatus | 'PART';

const STATUS_OF: Readonly<Record<RowState, TransactionStatus>> = {
  completed: 'ACSC',
  accepted: 'ACSP',
  ready: 'PDNG',
  armed: 'PDNG',
  quoted: 'PDNG',
  unknown: 'PDNG',
  held: 'PDNG',
  rejected: 'RJCT',
  failed: 'RJCT',
  returned: 'RJCT',
  cancelled: 'RJCT',
  refused: 'RJCT',
};

/**
 * What a status report says of a row. RJCT makes its reader pay again, so that it is said only when nothing can become of
 * the payout any more: one that was sent and rejected is pending until a last look-up has confirmed it (architecture.md).
 */
export function transactionStatus(row: Payout | RefusedRow): TransactionStatus {
  if (isRefused(row)) return STATUS_OF.refused;
  const mayStillBePaid = row.state === 'rejected' && row.quoteId !== null && !row.rejectionConfirmed;
  return mayStillBePaid ? 'PDNG' : STATUS_OF[row.state];
}

/**
 * The status of a file by how many of its rows have each. PART is ISO's word for "a number of transactions have been
 * accepted", and others not or not yet; a file of which none was accepted is pending while something may become of a row.
 */
export function groupStatus(rowsOf: (status: TransactionStatus) => number): GroupStatus {
  const pending = rowsOf('PDNG');
  const isAllAccepted = pending + rowsOf('RJCT') === 0;
  const isAnyAccepted = rowsOf('ACSC') + rowsOf('ACSP') > 0;
  if (isAnyAccepted && !isAllAccepted) return 'PART';
  if (isAnyAccepted) return rowsOf('ACSP') > 0 ? 'ACSP' : 'ACSC';
  return pending > 0 ? 'PDNG' : 'RJCT';
}
