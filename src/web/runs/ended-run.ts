import type { Ledger } from '../../ledger/ledger.ts';
import { addMoney, type Money } from '../../money.ts';
import { outcomeOf, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { type BookingEntry, openBooking } from '../../report/booking.ts';
import { isRefused, reportRow } from '../../report/row.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { openRecent } from '../../runs/recent.ts';
import { openOverTime, type PaidBy } from './over-time.ts';

/** A run with more rows tells this in its report alone: a page has 50 ms of the processor. */
const ROWS_MAX = 2000;
const RUNS_KEPT_MAX = 20;

/** Why rows were not paid, or wait for a person. */
export interface ReasonCount {
  readonly code: string;
  readonly words: string;
  readonly isHeld: boolean;
  readonly rows: number;
}

/** What is added up from the rows of a run that is over. */
export interface EndedRun {
  /** What left the payer's accounts, with its fees, per source currency. */
  readonly left: readonly BookingEntry[];
  /** What arrives of it, per destination currency, in alphabetic order. */
  readonly arrives: readonly Money[];
  /** The most frequent first. */
  readonly reasons: readonly ReasonCount[];
  /** By and by; empty where nothing was paid. */
  readonly paidBy: readonly PaidBy[];
}

/** Adds a run up once it is over, and once for all who look at it while nothing of it changes; null where it is not told. */
export function openEndedRuns(ledger: Pick<Ledger, 'runs'>): (run: Run) => Promise<EndedRun | null> {
  const recent = openRecent<EndedRun>(RUNS_KEPT_MAX);
  return async (run) => {
    if (!hasEnded(run) || run.rows > ROWS_MAX || run.purgedAt !== null) return null;
    return await recent(`${run.id} ${run.changes}`, () => addUp(ledger, run.id));
  };
}

async function addUp(ledger: Pick<Ledger, 'runs'>, runId: string): Promise<EndedRun> {
  const booking = openBooking();
  const arrives = new Map<string, Money>();
  const reasons = new Map<string, ReasonCount>();
  const overTime = openOverTime();
  for await (const batch of ledger.runs.rows(runId)) {
    for (const row of batch) {
      addReason(reasons, row);
      if (isRefused(row)) continue;
      booking.add(row);
      overTime.add(row);
      addArrival(arrives, row);
    }
  }
  return {
    left: booking.result().entries,
    arrives: [...arrives.values()].toSorted((one, other) => one.currency.localeCompare(other.currency)),
    reasons: [...reasons.values()].toSorted((one, other) => other.rows - one.rows),
    paidBy: overTime.result(),
  };
}

function addArrival(arrives: Map<string, Money>, { state, destinationAmount }: Payout): void {
  const outcome = outcomeOf(state);
  if (destinationAmount === null || (outcome !== 'paid' && outcome !== 'pending')) return;
  const before = arrives.get(destinationAmount.currency);
  arrives.set(
    destinationAmount.currency,
    before === undefined ? destinationAmount : addMoney(before, destinationAmount),
  );
}

function addReason(reasons: Map<string, ReasonCount>, row: Payout | RefusedRow): void {
  const { outcome, reasonCode, reason } = reportRow(row);
  if (outcome === 'paid' || outcome === 'pending' || outcome === 'waiting') return;
  const code = reasonCode ?? outcome;
  const key = `${outcome} ${code}`;
  const rows = (reasons.get(key)?.rows ?? 0) + 1;
  reasons.set(key, { code, words: reasons.get(key)?.words ?? reason ?? code, isHeld: outcome === 'held', rows });
}
