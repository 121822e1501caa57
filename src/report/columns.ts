import type { ReportColumn } from './row.ts';

/**
 * What stands in a column: a whole number, an exact decimal, a time, one of payrun's own codes, or the words of somebody
 * else (the payer, the service, a person), which no spreadsheet may run.
 */
export type ColumnKind = 'count' | 'decimal' | 'time' | 'code' | 'words';

interface ColumnFacts {
  readonly kind: ColumnKind;
  /** What it says, for docs/report.md and the JSON Schema. */
  readonly about: string;
}

/** The columns of the report, each described once: CSV, workbook, JSON Schema and documentation follow this table. */
export const REPORT_COLUMN_FACTS: Readonly<Record<ReportColumn, ColumnFacts>> = {
  line: { kind: 'count', about: 'The physical line of the payout file on which the row begins; the header is line 1.' },
  reference: { kind: 'words', about: "The payer's own key for the payout, as it stood in the file." },
  beneficiaryIdentityId: { kind: 'code', about: 'Who is paid: the id of an identity of the service.' },
  originatorIdentityId: { kind: 'code', about: 'On whose behalf it is paid; empty for the payer itself.' },
  amount: {
    kind: 'decimal',
    about:
      'The amount of the file, in the currency that amountType names; of a refused row its cell as it stood there.',
  },
  amountType: {
    kind: 'code',
    about: 'SOURCE_AMOUNT: amount is in sourceCurrency. DESTINATION_AMOUNT: in destinationCurrency.',
  },
  sourceCurrency: { kind: 'code', about: 'The currency that is debited (ISO 4217).' },
  destinationCurrency: { kind: 'code', about: 'The currency that arrives (ISO 4217).' },
  sourceAmount: { kind: 'decimal', about: 'What the service debits for the payment, in sourceCurrency, without fees.' },
  destinationAmount: { kind: 'decimal', about: 'What arrives, in destinationCurrency.' },
  rate: { kind: 'decimal', about: 'The exchange rate that the service quoted.' },
  fee: {
    kind: 'decimal',
    about: 'The sum of fees and taxes where they are in one currency; else empty, and the JSON lists them in fees.',
  },
  feeCurrency: { kind: 'code', about: 'The currency of fee.' },
  quoteId: { kind: 'words', about: 'The last quote, as the service names it.' },
  paymentId: { kind: 'words', about: 'The payment, as the service names it. No other row has it.' },
  outcome: {
    kind: 'code',
    about:
      'What became of the row: waiting, unknown, pending, paid, failed, returned, rejected, held, cancelled or refused.',
  },
  paymentState: { kind: 'words', about: "The payment's state in the service's own word." },
  reasonCode: { kind: 'words', about: 'Why it stands there, as a code: of the service, or of payrun (E_…).' },
  reason: { kind: 'words', about: 'The same in words, at most 300 characters.' },
  attempts: { kind: 'count', about: 'How many payment requests were armed for the row.' },
  quotedAt: { kind: 'time', about: 'When the last quote was taken.' },
  sentAt: { kind: 'time', about: 'When the last payment request was sent.' },
  settledAt: { kind: 'time', about: 'When the payment reached its present final state.' },
  beneficiaryName: {
    kind: 'words',
    about: 'What the payer calls the beneficiary, as the service listed it last; empty where it listed no name.',
  },
};
