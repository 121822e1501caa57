import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';

/** States of payouts that people are asked about. */
const TO_SETTLE = ['unknown', 'held'] as const;
/** Runs whose counters are read at a time, and for one page at most. */
const RUNS_PER_CALL = 100;
const RUNS_PER_PAGE_MAX = 2000;

/** Where a page begins: a run, and a line of it. */
export interface SettlePlace {
  readonly runId: string;
  readonly line: number;
}

export interface SettlePage {
  readonly payouts: readonly Payout[];
  /** Null: there are no more. A page with a next one may be empty, when many runs have nothing to settle. */
  readonly next: SettlePlace | null;
}

/**
 * Payouts of all runs that are unknown or held, those of the newest run first. Runs without any cost two counters each, and
 * of the others only the payouts of the page are read.
 */
export async function readToSettle(
  { runs }: Pick<Ledger, 'runs'>,
  { from, most }: { from: SettlePlace | null; most: number },
): Promise<SettlePage> {
  const ids = await runs.list();
  const first = from === null ? 0 : Math.max(0, ids.indexOf(from.runId));
  const last = Math.min(ids.length, first + RUNS_PER_PAGE_MAX);
  const payouts: Payout[] = [];
  for (let at = first; at < last; at += RUNS_PER_CALL) {
    const some = ids.slice(at, Math.min(last, at + RUNS_PER_CALL));
    const counts = await runs.countIn(some, TO_SETTLE);
    for (const runId of some.filter((_, index) => (counts[index] ?? 0) > 0)) {
      const line = runId === from?.runId ? from.line : 0;
      // One more than there is room for tells whether another page follows, and where it begins.
      const wanted = most + 1 - payouts.length;
      const rows = await runs.page(runId, { states: TO_SETTLE, from: line, most: wanted });
      payouts.push(...rows.flatMap((row) => (isRefused(row) ? [] : [row])));
      if (payouts.length > most) return { payouts: payouts.slice(0, most), next: payouts[most] ?? null };
    }
  }
  const beyond = ids[last];
  return { payouts, next: beyond === undefined ? null : { runId: beyond, line: 0 } };
}
