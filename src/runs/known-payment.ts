import type { Ledger } from '../ledger/ledger.ts';
import type { PayoutPlace } from '../payout.ts';

type Place = Pick<Ledger, 'runs' | 'payouts'>;

const RUNS_PER_PIECE = 200;
const ROWS_LOOKED_AT_MAX = 8000;
/** Rows are paid in their order: where the last ones are under former credentials, so are those before. */
const ROWS_OF_STATE_MAX = 20;
const PAYMENTS_MAX = 3;
const STATES = ['accepted', 'completed'] as const;

/** Ids of some of the latest payments that were made under these credentials; empty when there is none. */
export async function findKnownPayments(ledger: Place, credentials: string): Promise<readonly string[]> {
  const found: string[] = [];
  let left = ROWS_LOOKED_AT_MAX;
  for await (const places of paidPlaces(ledger)) {
    const readings = await Promise.all(places.map((place) => ledger.payouts.read(place)));
    for (const { payout } of readings) {
      if (payout?.credentials === credentials && payout.paymentId !== null) found.push(payout.paymentId);
    }
    left -= places.length;
    if (found.length >= PAYMENTS_MAX || left <= 0) break;
  }
  return found.slice(0, PAYMENTS_MAX);
}

/** Payouts with a payment, those of the latest runs first, and of a run those of its last lines. */
async function* paidPlaces({ runs }: Place): AsyncGenerator<PayoutPlace[]> {
  const all = await runs.list();
  for (let from = 0; from < all.length; from += RUNS_PER_PIECE) {
    const piece = all.slice(from, from + RUNS_PER_PIECE);
    const counts = await runs.countIn(piece, STATES);
    for (const runId of piece.filter((_runId, index) => counts[index] !== 0)) yield* placesIn(runs, runId);
  }
}

async function* placesIn(runs: Place['runs'], runId: string): AsyncGenerator<PayoutPlace[]> {
  for (const state of STATES) {
    let last: number[] = [];
    for await (const lines of runs.linesIn(runId, { state })) last = [...last, ...lines].slice(-ROWS_OF_STATE_MAX);
    if (last.length > 0) yield last.map((line) => ({ runId, line }));
  }
}
