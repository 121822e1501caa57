import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';

/** States of payouts that people are asked about. */
export const TO_SETTLE = ['unknown', 'held'] as const;
export type SettleState = (typeof TO_SETTLE)[number];
/** Runs whose counters are read at a time, and for one page at most. */
const RUNS_PER_CALL = 100;
const RUNS_PER_PAGE_MAX = 2000;
/** Payouts that are read at a time, and for one page at most, however few of them are wanted. */
const READ_PER_CALL = 100;
const READ_PER_PAGE_MAX = 2000;

/** Where a page begins: a run, and a line of it. */
export interface SettlePlace {
  readonly runId: string;
  readonly line: number;
}

/** Which of them are wanted; what is left out filters nothing. */
export interface SettleFilter {
  readonly run?: string | undefined;
  readonly state?: SettleState | undefined;
  /** As `settleReason` tells it. */
  readonly reason?: string | undefined;
  /** Those that have waited since before then, in milliseconds since 1970. */
  readonly before?: number | undefined;
}

export interface SettlePage {
  readonly payouts: readonly Payout[];
  /** Null: there are no more. A page with a next one may be empty, when many runs have nothing to settle. */
  readonly next: SettlePlace | null;
}

/** Why a payout waits: the code it is held with, or what was last said of it; '' for nothing. */
export function settleReason({ reasonCode, history }: Pick<Payout, 'reasonCode' | 'history'>): string {
  return reasonCode ?? history.at(-1)?.reason ?? '';
}

/**
 * Payouts of all runs that are unknown or held, those of the newest run first. Runs without any cost two counters each, and
 * of the others only the payouts of the page are read; with a filter more of them, up to a limit.
 */
export async function readToSettle(
  { runs }: Pick<Ledger, 'runs'>,
  { from, most, ...filter }: { from: SettlePlace | null; most: number } & SettleFilter,
): Promise<SettlePage> {
  const ids = filter.run === undefined ? await runs.list() : [filter.run];
  const first = from === null ? 0 : Math.max(0, ids.indexOf(from.runId));
  const last = Math.min(ids.length, first + RUNS_PER_PAGE_MAX);
  const states = filter.state === undefined ? TO_SETTLE : [filter.state];
  const payouts: Payout[] = [];
  let read = 0;
  for await (const piece of piecesOf(runs, { ids: ids.slice(first, last), from, states })) {
    payouts.push(...piece.payouts.filter((payout) => isWanted(payout, filter)));
    // One more than there is room for tells whether another page follows, and where it begins.
    if (payouts.length > most) return { payouts: payouts.slice(0, most), next: payouts[most] ?? null };
    read += piece.payouts.length;
    if (read >= READ_PER_PAGE_MAX) return { payouts, next: piece.after };
  }
  const beyond = ids[last];
  return { payouts, next: beyond === undefined ? null : { runId: beyond, line: 0 } };
}

/** The payouts of these runs in file order, a piece at a time, each with the place that follows it. */
async function* piecesOf(
  runs: Ledger['runs'],
  { ids, from, states }: { ids: readonly string[]; from: SettlePlace | null; states: readonly SettleState[] },
): AsyncGenerator<{ payouts: Payout[]; after: SettlePlace }, void> {
  for (let at = 0; at < ids.length; at += RUNS_PER_CALL) {
    const some = ids.slice(at, at + RUNS_PER_CALL);
    const counts = await runs.countIn(some, states);
    for (const runId of some.filter((_, index) => (counts[index] ?? 0) > 0)) {
      let line: number | null = runId === from?.runId ? from.line : 0;
      while (line !== null) {
        const rows = await runs.page(runId, { states, from: line, most: READ_PER_CALL });
        const next: number = (rows.at(-1)?.line ?? line) + 1;
        yield { payouts: rows.flatMap((row) => (isRefused(row) ? [] : [row])), after: { runId, line: next } };
        line = rows.length < READ_PER_CALL ? null : next;
      }
    }
  }
}

function isWanted(payout: Payout, { reason, before }: SettleFilter): boolean {
  if (reason !== undefined && settleReason(payout) !== reason) return false;
  return before === undefined || (payout.history.at(-1)?.at ?? 0) < before;
}
