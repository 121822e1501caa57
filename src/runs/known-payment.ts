import type { Ledger } from '../ledger/ledger.ts';

const RUNS_LOOKED_AT_MAX = 20;
const STATES = ['completed', 'accepted'] as const;

/** The id of a payment that was made under these credentials; undefined when none is found in the latest runs. */
export async function findKnownPayment(
  ledger: Pick<Ledger, 'runs' | 'payouts'>,
  credentials: string,
): Promise<string | undefined> {
  const latest = (await ledger.runs.list()).slice(-RUNS_LOOKED_AT_MAX).toReversed();
  for (const runId of latest) {
    for (const state of STATES) {
      const { value: lines = [] } = await ledger.runs.linesIn(runId, { state }).next();
      const [line] = lines;
      const { payout } = line === undefined ? {} : await ledger.payouts.read({ runId, line });
      if (payout?.credentials === credentials && payout.paymentId !== null) return payout.paymentId;
    }
  }
  return undefined;
}
