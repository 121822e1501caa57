import type { Ledger } from '../ledger/ledger.ts';

type Place = Pick<Ledger, 'runs' | 'payouts'>;

const RUNS_LOOKED_AT_MAX = 20;
const STATES = ['completed', 'accepted'] as const;

/** The id of a payment that was made under these credentials and not missed since; undefined when the latest runs have none. */
export async function findKnownPayment(ledger: Place, credentials: string): Promise<string | undefined> {
  const latest = (await ledger.runs.list()).slice(-RUNS_LOOKED_AT_MAX).toReversed();
  for (const runId of latest) {
    for (const state of STATES) {
      const paymentId = await firstPayment(ledger, { runId, state, credentials });
      if (paymentId !== undefined) return paymentId;
    }
  }
  return undefined;
}

async function firstPayment(
  ledger: Place,
  { runId, state, credentials }: { runId: string; state: (typeof STATES)[number]; credentials: string },
): Promise<string | undefined> {
  for await (const [line = 0] of ledger.runs.linesIn(runId, { state })) {
    const { payout } = await ledger.payouts.read({ runId, line });
    const isMissing = payout?.notFoundAt !== null;
    if (!isMissing && payout.credentials === credentials && payout.paymentId !== null) return payout.paymentId;
  }
  return undefined;
}
