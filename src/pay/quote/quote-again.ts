import type { PayoutValues } from '../../ledger/payouts/values.ts';
import type { Payout } from '../../payout.ts';
import { moveWatched } from '../breaker.ts';
import type { PayDeps } from '../deps.ts';
import { nextQuoteMs, QUOTE_FAILURES_MAX } from '../due.ts';
import { placeOf } from '../facts.ts';
import type { StepResult } from '../step-result.ts';

/** Holds or rejects a payout that has no spent quote. */
export async function settleUnsent(
  deps: PayDeps,
  payout: Payout,
  why: {
    kind: 'held' | 'rejected';
    code: string;
    reason: string;
    exchange?: string;
    /** What its record gets beside the reason. */
    values?: PayoutValues;
  },
): Promise<StepResult> {
  await moveWatched(deps, {
    ...placeOf(payout),
    to: why.kind,
    version: payout.version,
    actor: deps.owner,
    reason: why.code,
    exchange: why.exchange ?? '',
    values: { ...why.values, reasonCode: why.code, reason: why.reason },
  });
  return 'done';
}

/**
 * Puts a payout off whose quote could not be had or used, or holds it when that failed too often (architecture.md). A service that
 * is away is waited for: what it does not answer says nothing of this payout.
 */
export async function quoteAgain(
  deps: PayDeps,
  payout: Payout,
  { reason, isAnswer = true }: { reason: string; isAnswer?: boolean },
): Promise<StepResult> {
  const ms = nextQuoteMs(payout.quoteFailures + 1, deps.random);
  const deferred = await deps.payouts.defer(placeOf(payout), { ms, quoteFailed: isAnswer || !deps.service.isAway() });
  if (deferred === undefined) return 'again';
  const { failures, version } = deferred;
  if (failures < QUOTE_FAILURES_MAX) return 'deferred';
  return await settleUnsent(
    deps,
    { ...payout, version },
    {
      kind: 'held',
      code: 'E_NO_QUOTE',
      reason: `no usable quote in ${QUOTE_FAILURES_MAX} tries; the last: ${reason}`,
    },
  );
}
