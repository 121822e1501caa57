import { formatAmount } from '../money.ts';
import { OUTCOMES, type Run } from '../payout.ts';
import type { Tally } from './tally.ts';
import { fileTotals, perOutcome, ROW_STATES, sumOutcomes } from './totals.ts';

const REPEATED_PAYMENTS_SHOWN_MAX = 10;

/** Whether rows, money and payments tie (architecture.md, rule 10), and what does not, a sentence each. */
export interface Conservation {
  readonly rows: boolean;
  readonly money: boolean;
  readonly payments: boolean;
  readonly faults: readonly string[];
}

/**
 * Holds the rows of a run, as they were counted, against the run. `rows`: rows in the file = rows read = the run's
 * counters, state by state, each line stands once, and all seals are true (`sealFaults`). `money`: for each currency the file's total = the sum over
 * outcomes of the rows read = the run's counters. `payments`: each row that has a payment has an id of its own.
 * `moved` tells that the run changed while its rows were read: then of its counters only the sums are compared.
 */
export function reconcile(
  run: Run,
  tally: Tally,
  { moved, sealFaults = [] }: { moved: boolean; sealFaults?: readonly string[] },
): Conservation {
  const rows = [...rowFaults(run, tally), ...(moved ? [] : stateFaults(run, tally)), ...sealFaults];
  const money = [...moneyFaults(run, tally), ...(moved ? [] : outcomeFaults(run, tally))];
  const payments = paymentFaults(tally);
  return {
    rows: rows.length === 0,
    money: money.length === 0,
    payments: payments.length === 0,
    faults: [...rows, ...money, ...payments],
  };
}

/** Rows of a run that was cancelled before all of its file was recorded; undefined for any other one. */
export function rowsOfPart(run: Run): number | undefined {
  const counted = countRows(run);
  return run.state === 'cancelled' && counted < run.rows ? counted : undefined;
}

function countRows({ counts }: Run): number {
  return ROW_STATES.reduce((sum, state) => sum + counts[state], 0);
}

function rowFaults(run: Run, tally: Tally): string[] {
  const faults: string[] = [];
  const counted = countRows(run);
  const part = rowsOfPart(run);
  const rows = part ?? run.rows;
  if (tally.rows !== rows)
    faults.push(
      `rows: ${part === undefined ? 'the file has' : 'recorded were'} ${rows}, the ledger gave ${tally.rows}`,
    );
  if (counted !== rows) faults.push(`rows: the file has ${run.rows}, the run's counters have ${counted}`);
  if (tally.lineOutOfOrder !== null) faults.push(`rows: line ${tally.lineOutOfOrder} is given twice or out of order`);
  return faults;
}

function stateFaults(run: Run, tally: Tally): string[] {
  return ROW_STATES.flatMap((state) => {
    const read = tally.states.get(state) ?? 0;
    return read === run.counts[state] ? [] : [`rows ${state}: ${read}, the run's counter says ${run.counts[state]}`];
  });
}

function moneyFaults(run: Run, tally: Tally): string[] {
  // Of a part only the sums of its own rows are known; its counters are compared outcome by outcome.
  if (rowsOfPart(run) !== undefined) return [];
  const counters = fileTotals(run.fileTotals, run.amounts).map((total) => ({
    ...total,
    of: "the run's counters have",
  }));
  const rows = fileTotals(run.fileTotals, tally.amounts).map((total) => ({ ...total, of: 'its rows have' }));
  return [...rows, ...counters].flatMap(({ currency, file, outcomes, of }) => {
    const minor = sumOutcomes(outcomes);
    if (minor === file) return [];
    return [`money: the file has ${amountText(file, currency)}, ${of} ${amountText(minor, currency)}`];
  });
}

function outcomeFaults(run: Run, tally: Tally): string[] {
  return fileTotals(run.fileTotals, tally.amounts).flatMap(({ currency, outcomes }) => {
    const counters = run.amounts.get(currency) ?? perOutcome(() => 0n);
    return OUTCOMES.filter((outcome) => outcomes[outcome] !== counters[outcome]).map(
      (outcome) =>
        `money ${outcome}: ${amountText(outcomes[outcome], currency)}, the run's counter says ${amountText(counters[outcome], currency)}`,
    );
  });
}

function paymentFaults({ withoutPaymentId, repeatedPayments }: Tally): string[] {
  const faults = repeatedPayments
    .slice(0, REPEATED_PAYMENTS_SHOWN_MAX)
    .map(
      (lines) => `payments: lines ${lines.slice(0, REPEATED_PAYMENTS_SHOWN_MAX).join(', ')} have the same payment id`,
    );
  const unseen = repeatedPayments.length - REPEATED_PAYMENTS_SHOWN_MAX;
  if (unseen > 0) faults.push(`payments: at least ${unseen} more ids stand on more than one line`);
  if (withoutPaymentId.rows > 0) {
    faults.push(`payments: ${withoutPaymentId.rows} without an id, the first on line ${withoutPaymentId.firstLine}`);
  }
  return faults;
}

function amountText(minor: bigint, currency: string): string {
  return `${formatAmount({ minor, currency })} ${currency}`;
}
