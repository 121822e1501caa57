import type { PayoutMove } from '../ledger/payouts/acts.ts';
import type { Payout } from '../payout.ts';
import type { PayDeps } from './deps.ts';
import { LOOK_DAILY_MS } from './due.ts';

/** Whether a payout has another quote or payment than the present one, of which nothing proves that it was not paid. */
export async function hasOthers(
  { runs }: Pick<PayDeps, 'runs'>,
  { runId, line, paymentId, quoteId }: Payout,
): Promise<boolean> {
  return (await runs.quotesBeside(runId, line)).some((id) => id !== (paymentId ?? quoteId));
}

/** The present quote or payment came to nothing, but another one may be paid: people decide (architecture.md, rule 8). */
export function holdForPeople(what: string): Pick<PayoutMove, 'to' | 'reason' | 'dueMs' | 'values'> {
  return {
    to: 'held',
    reason: 'E_NOT_PROVABLE',
    dueMs: LOOK_DAILY_MS,
    values: {
      reasonCode: 'E_NOT_PROVABLE',
      reason: `${what}, and nothing can prove that no other quote of it was paid`,
    },
  };
}
