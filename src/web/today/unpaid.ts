import type { Ledger } from '../../ledger/ledger.ts';
import type { PayoutState, Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { rowsBecame } from '../run/run-status.ts';

const STATES: readonly PayoutState[] = ['failed', 'returned', 'rejected', 'cancelled'];
/** Payouts that are read at one look: a page has 50 ms of the processor. */
const READ_PER_LOOK = 1000;

/** A run with the number of its rows that came to be not paid. */
export interface Unpaid {
  readonly run: Run;
  readonly rows: number;
}

/**
 * Counts the rows that came to be not paid since a moment (milliseconds since 1970), also those of runs that were handed in
 * before. Of an older run its payouts are read, once while nothing of it changes; what one look has no room for counts from
 * the next one on.
 */
export function openUnpaid(
  runs: Pick<Ledger['runs'], 'page'>,
): (all: readonly Run[], since: number) => Promise<Unpaid[]> {
  let known = new Map<string, number>();

  async function countOf(run: Run, since: number): Promise<number> {
    const payouts = await runs.page(run.id, { states: STATES, most: READ_PER_LOOK });
    return payouts.filter((row) => !isRefused(row) && (row.history.at(-1)?.at ?? 0) >= since).length;
  }

  return async (all, since) => {
    const found: Unpaid[] = [];
    const kept = new Map<string, number>();
    let left = READ_PER_LOOK;
    for (const run of all) {
      const { failed, returned, rejected, cancelled } = run.counts;
      const payouts = failed + returned + rejected + cancelled;
      if (run.createdAt >= since) found.push({ run, rows: rowsBecame(run).notPaid });
      else if (payouts > 0) {
        const key = `${run.id} ${run.changes} ${since}`;
        const isRead = !known.has(key) && left > 0;
        if (isRead) left -= payouts;
        const rows = isRead ? await countOf(run, since) : known.get(key);
        if (rows !== undefined) kept.set(key, rows);
        found.push({ run, rows: rows ?? 0 });
      }
    }
    known = kept;
    return found.filter(({ rows }) => rows > 0);
  };
}
