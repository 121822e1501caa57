import { timeOrNull } from '../clock.ts';
import { formatAmount, sumMoney } from '../money.ts';
import { type Outcome, outcomeOf, type Payout, type RefusedRow } from '../payout.ts';

/** The columns of the report in their order. */
export const REPORT_COLUMNS = [
  'line',
  'reference',
  'beneficiaryIdentityId',
  'originatorIdentityId',
  'amount',
  'amountType',
  'sourceCurrency',
  'destinationCurrency',
  'sourceAmount',
  'destinationAmount',
  'rate',
  'fee',
  'feeCurrency',
  'quoteId',
  'paymentId',
  'outcome',
  'paymentState',
  'reasonCode',
  'reason',
  'attempts',
  'quotedAt',
  'sentAt',
  'settledAt',
  'beneficiaryName',
] as const;
export type ReportColumn = (typeof REPORT_COLUMNS)[number];

type TextColumn = Exclude<ReportColumn, 'line' | 'attempts' | 'outcome'>;

/** An amount as reports write it: a decimal with the currency's digits. */
export interface AmountText {
  readonly amount: string;
  readonly currency: string;
}

/**
 * One row of the report, exact: money as decimals with the currency's digits, times as RFC 3339 in UTC, null for what is
 * absent. `fees` has one entry a currency; `fee` and `feeCurrency` are given only where it has one.
 */
export interface ReportRow extends Readonly<Record<TextColumn, string | null>> {
  readonly line: number;
  readonly attempts: number;
  readonly outcome: Outcome;
  readonly fees: readonly AmountText[];
}

/** Tells the rows that intake refused from payouts. */
export function isRefused(row: Payout | RefusedRow): row is RefusedRow {
  return 'cells' in row;
}

/** A payout, or a refused row, as the report shows it. A refused row shows its cells as they stood in the file. */
export function reportRow(row: Payout | RefusedRow): ReportRow {
  return isRefused(row) ? refusedRow(row) : payoutRow(row);
}

function payoutRow(payout: Payout): ReportRow {
  const { row } = payout;
  const fees = sumMoney(payout.fees).map((fee) => ({ amount: formatAmount(fee), currency: fee.currency }));
  const [fee] = fees.length === 1 ? fees : [];
  return {
    line: payout.line,
    reference: row.reference,
    beneficiaryIdentityId: row.beneficiaryIdentityId,
    originatorIdentityId: row.originatorIdentityId,
    amount: formatAmount(row.amount),
    amountType: row.amountType,
    sourceCurrency: row.sourceCurrency,
    destinationCurrency: row.destinationCurrency,
    sourceAmount: payout.sourceAmount && formatAmount(payout.sourceAmount),
    destinationAmount: payout.destinationAmount && formatAmount(payout.destinationAmount),
    rate: payout.rate,
    fee: fee?.amount ?? null,
    feeCurrency: fee?.currency ?? null,
    quoteId: payout.quoteId,
    paymentId: payout.paymentId,
    outcome: outcomeOf(payout.state),
    paymentState: payout.paymentState,
    reasonCode: payout.reasonCode,
    reason: payout.reason,
    attempts: payout.attempts,
    quotedAt: timeOrNull(payout.quotedAt),
    sentAt: timeOrNull(payout.sentAt),
    settledAt: timeOrNull(payout.settledAt),
    beneficiaryName: payout.beneficiaryName?.name ?? null,
    fees,
  };
}

function refusedRow(row: RefusedRow): ReportRow {
  return {
    line: row.line,
    reference: cellOf(row, 'reference'),
    beneficiaryIdentityId: cellOf(row, 'beneficiaryIdentityId'),
    originatorIdentityId: cellOf(row, 'originatorIdentityId'),
    amount: cellOf(row, 'amount'),
    amountType: cellOf(row, 'amountType'),
    sourceCurrency: cellOf(row, 'sourceCurrency'),
    destinationCurrency: cellOf(row, 'destinationCurrency'),
    sourceAmount: null,
    destinationAmount: null,
    rate: null,
    fee: null,
    feeCurrency: null,
    quoteId: null,
    paymentId: null,
    outcome: outcomeOf('refused'),
    paymentState: null,
    reasonCode: row.code,
    reason: row.message,
    attempts: 0,
    quotedAt: null,
    sentAt: null,
    settledAt: null,
    beneficiaryName: row.beneficiaryName?.name ?? null,
    fees: [],
  };
}

/** An empty cell is absent, as it is for intake. */
function cellOf(row: RefusedRow, column: TextColumn): string | null {
  return (Object.hasOwn(row.cells, column) && row.cells[column]) || null;
}
