import type { Money } from '../../src/money.ts';
import { outcomeOf, type Payout, type PayoutState, type RefusedRow, type Run } from '../../src/payout.ts';
import { isRefused } from '../../src/report/row.ts';
import type { ReportSource } from '../../src/report/source.ts';
import { perOutcome } from '../../src/report/totals.ts';
import { READY, ROW } from '../support/payout-row.ts';

export type Row = Payout | RefusedRow;

export const RUN_ID = 'r7k2m9';
export const BENEFICIARY = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';

export function usd(minor: bigint): Money {
  return { minor, currency: 'USD' };
}

/** A UUID that ends in the number. */
export function uuid(number: number): string {
  return `0b9a4c1e-77d2-4f35-8e60-${number.toString(16).padStart(12, '0')}`;
}

export function payout(line: number, change: Partial<Payout> = {}, amount: Money = usd(10_050n)): Payout {
  return {
    ...READY,
    runId: RUN_ID,
    line,
    row: {
      ...ROW,
      line,
      reference: `INV-${line}`,
      beneficiaryIdentityId: BENEFICIARY,
      amount,
      sourceCurrency: amount.currency,
    },
    seals: { ...READY.seals, row: '00112233445566778899aabbccddeeff' },
    ...change,
  };
}

/** A payout whose payment the service has made. */
export function payment(line: number, state: PayoutState, change: Partial<Payout> = {}): Payout {
  return payout(line, {
    state,
    quoteId: uuid(line),
    paymentId: uuid(line),
    paymentState: state.toUpperCase(),
    sourceAmount: usd(10_050n),
    destinationAmount: { minor: 172_011n, currency: 'MXN' },
    rate: '17.115522',
    fees: [usd(125n)],
    attempts: 1,
    quotedAt: Date.UTC(2026, 0, 15, 9, 30, 0, 0),
    sentAt: Date.UTC(2026, 0, 15, 9, 30, 1, 250),
    settledAt: state === 'accepted' ? null : Date.UTC(2026, 0, 15, 9, 31, 0, 7),
    ...change,
  });
}

export function refused(line: number, change: Partial<RefusedRow> = {}): RefusedRow {
  return {
    line,
    cells: { reference: `INV-${line}`, amount: '1,5', sourceCurrency: 'USD', destinationCurrency: 'MXN' },
    amount: null,
    code: 'E_AMOUNT',
    message: 'the amount is no plain decimal',
    ...change,
  };
}

/** A run whose file totals and counters are those of the rows. */
export function runOf(rows: readonly Row[], change: Partial<Run> = {}): Run {
  const counts = {
    ready: 0,
    armed: 0,
    quoted: 0,
    unknown: 0,
    held: 0,
    accepted: 0,
    rejected: 0,
    cancelled: 0,
    completed: 0,
    failed: 0,
    returned: 0,
    refused: 0,
  };
  const amounts = new Map<string, Record<ReturnType<typeof outcomeOf>, bigint>>();
  const totals = new Map<string, bigint>();
  for (const row of rows) {
    const state = isRefused(row) ? 'refused' : row.state;
    const amount = isRefused(row) ? row.amount : row.row.amount;
    counts[state] += 1;
    if (amount === null) continue;
    totals.set(amount.currency, (totals.get(amount.currency) ?? 0n) + amount.minor);
    const sums = amounts.get(amount.currency) ?? perOutcome(() => 0n);
    sums[outcomeOf(state)] += amount.minor;
    amounts.set(amount.currency, sums);
  }
  return {
    id: RUN_ID,
    rowsDigest: null,
    seal: null,
    state: 'finished',
    pauseReason: null,
    pauses: 0,
    startAt: null,
    contentHash: '',
    stages: null,
    stagePlan: null,
    maxCostDriftBp: null,
    askedStart: null,
    newBeneficiaryRows: 0,
    approvals: [],
    reportHashes: [],
    purgedAt: null,
    submissionKey: null,
    dropper: null,
    currencies: [],
    columns: [],
    fileName: 'payouts.csv',
    fileSha256: 'ab'.repeat(32),
    rows: rows.length,
    fileTotals: Array.from(totals, ([currency, minor]) => ({ currency, minor })),
    createdAt: Date.UTC(2026, 0, 15, 9, 0),
    recordedAt: 1_800_000_000_000,
    isInDoubt: false,
    isTakenOver: false,
    createdBy: 'cli',
    finishedAt: Date.UTC(2026, 0, 15, 10, 0),
    finishedChanges: 12,
    counts,
    amounts,
    changes: 12,
    reportedChanges: 0,
    reportVersion: 0,
    deadQuotes: 0,
    deadQuotesFound: 0,
    reconciled: null,
    samples: [],
    funds: null,
    ...change,
  };
}

/** A source that gives the rows in batches; the run is theirs unless another one is given. */
export function sourceOf(rows: readonly Row[], change: Partial<ReportSource> = {}): ReportSource {
  return {
    run: runOf(rows),
    rows: inBatches(rows, 3),
    service: 'sandbox',
    sandbox: true,
    environment: 'test',
    capabilities: { 'payment-id-is-quote-id': true, 'expired-quote-refused': false },
    overrides: [],
    auditHead: null,
    version: '0.1.0',
    createdAt: Date.UTC(2026, 0, 15, 11, 0),
    ...change,
  };
}

async function* inBatches(rows: readonly Row[], size: number): AsyncGenerator<readonly Row[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

export async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}
