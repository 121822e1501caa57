import type { Clock } from '../../clock.ts';
import { openTally, type Tally } from '../../intake/tally.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Log } from '../../log.ts';
import type { Money } from '../../money.ts';
import { outcomeOf, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { type BookingEntry, openBooking } from '../../report/booking.ts';
import { isRefused, reportRow } from '../../report/row.ts';
import { retryRowsIn } from '../../runs/after/retry-file.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { openOverTime, type PaidBy } from './over-time.ts';
import { restingRows } from './resting-rows.ts';

/** As much is added up while somebody waits for the page: a page has 50 ms of the processor. */
const ROWS_AT_ONCE_MAX = 500;
const RUNS_KEPT_MAX = 50;
/** Sums of a run that goes on are made anew after this long, and after so many times as long as making them took. */
const AGE_MS_MIN = 10_000;
const REST_FACTOR = 5;

/** Why rows were not paid, or wait for a person. */
export interface ReasonCount {
  readonly code: string;
  readonly words: string;
  readonly isHeld: boolean;
  readonly rows: number;
}

/** What is added up from the rows of a run. */
export interface RunSums {
  /** `changes` of the run when it was added up. */
  readonly changes: number;
  /** When that was, in milliseconds since 1970. */
  readonly at: number;
  /** What left the payer's accounts, with its fees, per source currency. */
  readonly left: readonly BookingEntry[];
  /** What arrives of it, per destination currency, in alphabetic order. */
  readonly arrives: readonly Money[];
  /** The most frequent first. */
  readonly reasons: readonly ReasonCount[];
  /** By and by; empty where nothing was paid. */
  readonly paidBy: readonly PaidBy[];
  /** Rows of the retry file. */
  readonly retryRows: number;
}

interface SumsDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'references'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly log: Log;
}

interface Kept {
  sums: RunSums | null;
  making: Promise<void> | undefined;
  /** By the monotonic clock. */
  restsUntil: number;
}

/**
 * The sums of runs for all who look at them. Those of a small run that is over are made at once, and any others beside the
 * pages: until they are there nothing is told, or what was added up last. Adding up rests between batches and after its end, so that it takes a small part of the time.
 */
export function openRunSums(deps: SumsDeps): (run: Run) => Promise<RunSums | null> {
  const runs = new Map<string, Kept>();

  async function make(run: Run, kept: Kept, isAtOnce: boolean): Promise<void> {
    const begun = deps.clock.monotonic();
    try {
      kept.sums = await addUp(deps, run, isAtOnce);
    } catch (error) {
      deps.log.warn('a run cannot be added up', { run: run.id, error });
    } finally {
      const now = deps.clock.monotonic();
      kept.restsUntil = now + Math.max(AGE_MS_MIN, (now - begun) * REST_FACTOR);
      kept.making = undefined;
    }
  }

  function keptOf({ id }: Run): Kept {
    const kept = runs.get(id) ?? { sums: null, making: undefined, restsUntil: 0 };
    runs.delete(id);
    runs.set(id, kept);
    const [oldest] = runs.keys();
    if (runs.size > RUNS_KEPT_MAX && oldest !== undefined) runs.delete(oldest);
    return kept;
  }

  return async (run) => {
    if (!hasSums(run)) return null;
    const kept = keptOf(run);
    if (kept.sums?.changes === run.changes) return kept.sums;
    const isAtOnce = hasEnded(run) && run.rows <= ROWS_AT_ONCE_MAX;
    const mayMake = isAtOnce || deps.clock.monotonic() >= kept.restsUntil;
    if (kept.making === undefined && mayMake) kept.making = make(run, kept, isAtOnce);
    if (isAtOnce) await kept.making;
    return kept.sums;
  };
}

/** Whether anything of it is added up: it has rows, and somebody has let it be paid. */
export function hasSums({ state, purgedAt }: Run): boolean {
  return state !== 'recording' && state !== 'awaiting-approval' && purgedAt === null;
}

async function addUp({ ledger, clock }: SumsDeps, { id, changes }: Run, isAtOnce: boolean): Promise<RunSums> {
  const booking = openBooking();
  const arrives = openTally();
  const reasons = new Map<string, ReasonCount>();
  const overTime = openOverTime();
  let retryRows = 0;
  for await (const batch of isAtOnce ? ledger.runs.rows(id) : restingRows({ ledger, clock }, id)) {
    retryRows += await retryRowsIn({ ledger }, batch);
    for (const row of batch) {
      addReason(reasons, row);
      if (isRefused(row)) continue;
      booking.add(row);
      overTime.add(row);
      addArrival(arrives, row);
    }
  }
  return {
    changes,
    at: clock.now(),
    left: booking.result().entries,
    arrives: arrives.totals(),
    reasons: [...reasons.values()].toSorted((one, other) => other.rows - one.rows),
    paidBy: overTime.result(),
    retryRows,
  };
}

function addArrival(arrives: Tally, { state, destinationAmount }: Payout): void {
  const outcome = outcomeOf(state);
  if (destinationAmount !== null && (outcome === 'paid' || outcome === 'pending')) arrives.add(destinationAmount);
}

function addReason(reasons: Map<string, ReasonCount>, row: Payout | RefusedRow): void {
  const outcome = outcomeOf(isRefused(row) ? 'refused' : row.state);
  if (outcome === 'paid' || outcome === 'pending' || outcome === 'waiting' || outcome === 'unknown') return;
  const { reasonCode, reason } = reportRow(row);
  const code = reasonCode ?? outcome;
  const key = `${outcome} ${code}`;
  const rows = (reasons.get(key)?.rows ?? 0) + 1;
  reasons.set(key, { code, words: reasons.get(key)?.words ?? reason ?? code, isHeld: outcome === 'held', rows });
}
