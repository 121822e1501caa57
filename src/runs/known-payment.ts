import type { Ledger } from '../ledger/ledger.ts';

type Place = Pick<Ledger, 'runs' | 'payouts'>;

const RUNS_LOOKED_AT_MAX = 200;
const ROWS_LOOKED_AT_MAX = 20;
const PAYMENTS_MAX = 3;
const STATES = ['accepted', 'completed'] as const;

/** Ids of some payments that were made under these credentials, of the latest runs; empty when there is none. */
export async function findKnownPayments(ledger: Place, credentials: string): Promise<readonly string[]> {
  const latest = (await ledger.runs.list()).slice(0, RUNS_LOOKED_AT_MAX);
  const found: string[] = [];
  for (const runId of latest) {
    const run = await ledger.runs.read(runId);
    for (const state of run === undefined || run.purgedAt !== null ? [] : STATES) {
      if (run?.counts[state] === 0) continue;
      found.push(...(await paymentsIn(ledger, { runId, state, credentials })));
      if (found.length >= PAYMENTS_MAX) return found.slice(0, PAYMENTS_MAX);
    }
  }
  return found;
}

async function paymentsIn(
  ledger: Place,
  { runId, state, credentials }: { runId: string; state: (typeof STATES)[number]; credentials: string },
): Promise<string[]> {
  for await (const lines of ledger.runs.linesIn(runId, { state })) {
    const some = lines.slice(0, ROWS_LOOKED_AT_MAX);
    const readings = await Promise.all(some.map((line) => ledger.payouts.read({ runId, line })));
    return readings.flatMap(({ payout }) =>
      payout?.credentials === credentials && payout.paymentId !== null ? [payout.paymentId] : [],
    );
  }
  return [];
}
