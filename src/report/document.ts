import { rfc3339 } from '../clock.ts';
import { type FundsNeeded, formatAmount, type RunFunds } from '../money.ts';
import type { Outcome, Run, RunState } from '../payout.ts';
import type { Reconciled } from '../reconciled.ts';
import type { BookingEntry } from './booking.ts';
import type { FileHashes } from './signing/file-hashes.ts';
import type { ReportFacts } from './source.ts';
import type { ReportSummary } from './summary.ts';
import { type FileTotal, fileTotals, outcomeCounts, perOutcome } from './totals.ts';

/** A currency's total in the file and per outcome, as decimals with the currency's digits. */
export type TotalDocument = { currency: string; file: string } & Record<Outcome, string>;

/** What `run`, `submit`, `status`, `watch` and `list` print with `--json`. */
export interface RunDocument {
  runId: string;
  state: RunState;
  sandbox: boolean;
  file: { name: string; sha256: string; rows: number };
  outcomes: Record<Outcome, number>;
  totals: TotalDocument[];
  reports: string[];
  /** By name, whether the service is known to keep it. */
  capabilities: Record<string, boolean>;
  /** With the last statement of the bank; null before the first. */
  reconciled: ReconciledDocument | null;
  /** What the payouts that wait need, by quotes; null where nobody asked. */
  funds: RunFundsDocument | null;
}

/** What a run needs before it is paid; amounts are decimals with the currency's digits. */
export interface RunFundsDocument {
  /** When the service was asked. */
  at: string;
  payouts: number;
  unpriced: number;
  needed: NeededDocument[];
}

/** What is needed in one currency, and what can be paid from where the service was asked. */
export interface NeededDocument {
  currency: string;
  amount: string;
  fees: string;
  needed: string;
  estimate: boolean;
  balance: BalanceDocument | null;
}

interface BalanceDocument {
  /** Null where the service did not tell. */
  available: string | null;
  /** What is missing of what is needed; null for nothing, or where that is not known. */
  short: string | null;
}

/** How far a run's payments were found on a statement. */
export interface ReconciledDocument extends Omit<Reconciled, 'at'> {
  at: string;
}

/** What a report says of its run before anything is counted. */
export interface FactsDocument
  extends Pick<RunDocument, 'runId' | 'state' | 'sandbox' | 'file' | 'capabilities' | 'reports'> {
  service: string;
  environment: string;
  overrides: string[];
  /** Quotes proven dead, and how many of them a last look-up found after all; null before that look-up. */
  deadQuotes: { proven: number; found: number | null };
  /** The audit log's last entry when the report was made, `NUMBER:HASH`: a later look at the log can be held against it. */
  auditHead: string | null;
  version: string;
  createdAt: string;
}

/** One currency of the booking, as decimals with the currency's digits. */
export interface BookingDocument {
  currency: string;
  debited: string;
  debitedPayments: number;
  fees: string;
  returned: string;
  returnedPayments: number;
  returnedFees: string;
}

/** What a report counted from the rows. `rows` is false too when hashes differ, `money` when payments do not tie. */
export interface CountsDocument extends Pick<RunDocument, 'outcomes' | 'totals'> {
  booking: BookingDocument[];
  paymentsWithoutAmount: number;
  conservation: { rows: boolean; money: boolean };
  /** File hash = approved hash; rows that were accepted = rows in the ledger; null where that cannot be told. */
  hashes: Omit<FileHashes, 'approved'> & { approved: string[] };
  faults: string[];
}

/** A run as JSON, from its counters: exact between moves, and read without its rows. */
export function runDocument(
  run: Run,
  about: { sandbox: boolean; capabilities: Readonly<Record<string, boolean>>; reports: readonly string[] },
): RunDocument {
  return {
    runId: run.id,
    state: run.state,
    sandbox: about.sandbox,
    file: { name: run.fileName, sha256: run.fileSha256, rows: run.rows },
    outcomes: outcomeCounts((state) => run.counts[state]),
    totals: fileTotals(run.fileTotals, run.amounts).map(totalDocument),
    reports: [...about.reports],
    capabilities: { ...about.capabilities },
    reconciled: run.reconciled === null ? null : { ...run.reconciled, at: rfc3339(run.reconciled.at) },
    funds: run.funds === null ? null : fundsDocument(run.funds),
  };
}

/** A report's `--format summary` as JSON: the run's document, counted from the rows, and the report's own facts. */
export function summaryJson(
  summary: ReportSummary,
): Omit<RunDocument, 'reconciled' | 'funds'> & FactsDocument & CountsDocument {
  const { runId, state, sandbox, file, ...facts } = factsDocument(summary.facts);
  const { outcomes, totals, ...counts } = countsDocument(summary);
  return { runId, state, sandbox, file, outcomes, totals, ...facts, ...counts };
}

function fundsDocument({ at, payouts, unpriced, needed }: RunFunds): RunFundsDocument {
  return {
    at: rfc3339(at),
    payouts,
    unpriced,
    needed: needed.map(neededDocument),
  };
}

/** Money as decimals with the currency's digits. */
export function neededDocument({ currency, amount, fees, isEstimate, balance }: FundsNeeded): NeededDocument {
  const text = (minor: bigint): string => formatAmount({ minor, currency });
  const needed = amount + fees;
  const isShort = typeof balance === 'bigint' && balance < needed;
  return {
    currency,
    amount: text(amount),
    fees: text(fees),
    needed: text(needed),
    estimate: isEstimate,
    balance:
      balance === undefined
        ? null
        : { available: balance === null ? null : text(balance), short: isShort ? text(needed - balance) : null },
  };
}

/**
 * For people, such as `needs EUR 1,200.00; balance EUR 900.00: short by 300.00`, a line for each currency of which the service was asked
 * for the balance.
 */
export function balanceLines(
  needed: readonly NeededDocument[],
  shown = (decimal: string): string => decimal,
): string[] {
  return needed.flatMap(({ currency, needed: all, estimate, balance }) => {
    if (balance === null) return [];
    const needs = `needs ${estimate ? 'about ' : ''}${currency} ${shown(all)}`;
    if (balance.available === null) return [`${needs}; the service does not tell the balance`];
    const short = balance.short === null ? '' : `: short by ${shown(balance.short)}`;
    return [`${needs}; balance ${currency} ${shown(balance.available)}${short}`];
  });
}

export function factsDocument(facts: ReportFacts): FactsDocument {
  const { run } = facts;
  return {
    runId: run.id,
    state: run.state,
    sandbox: facts.sandbox,
    file: { name: run.fileName, sha256: run.fileSha256, rows: run.rows },
    reports: [...(facts.reports ?? [])],
    service: facts.service,
    environment: facts.environment,
    capabilities: { ...facts.capabilities },
    overrides: [...facts.overrides],
    deadQuotes: { proven: run.deadQuotes, found: run.deadQuotesFound },
    auditHead: facts.auditHead,
    version: facts.version,
    createdAt: rfc3339(facts.createdAt),
  };
}

export function countsDocument({ outcomes, totals, booking, conservation, hashes }: ReportSummary): CountsDocument {
  return {
    outcomes: { ...outcomes },
    totals: totals.map(totalDocument),
    booking: booking.entries.map(bookingDocument),
    paymentsWithoutAmount: booking.withoutAmount,
    conservation: { rows: conservation.rows, money: conservation.money && conservation.payments },
    hashes: { ...hashes, approved: [...hashes.approved] },
    faults: [...conservation.faults],
  };
}

function totalDocument({ currency, file, outcomes }: FileTotal): TotalDocument {
  return {
    currency,
    file: formatAmount({ minor: file, currency }),
    ...perOutcome((outcome) => formatAmount({ minor: outcomes[outcome], currency })),
  };
}

function bookingDocument({ currency, ...entry }: BookingEntry): BookingDocument {
  return {
    currency,
    debited: formatAmount({ minor: entry.debited, currency }),
    debitedPayments: entry.debitedPayments,
    fees: formatAmount(entry.fees),
    returned: formatAmount({ minor: entry.returned, currency }),
    returnedPayments: entry.returnedPayments,
    returnedFees: formatAmount(entry.returnedFees),
  };
}
