import type { Payout, PayoutState } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';

/**
 * What the service's states mean for a payout. A state that is not here leaves the payout
 * accepted and is shown as it is.
 */
const FINAL_STATES: ReadonlyMap<string, PayoutState> = new Map([
  ['COMPLETED', 'completed'],
  ['FAILED', 'failed'],
  ['DECLINED', 'failed'],
  ['RETURNED', 'returned'],
]);

/** What a payment's state means for its payout, where it is an end that is known. */
export function finalState(paymentState: string | null): PayoutState | undefined {
  return FINAL_STATES.get(paymentState ?? '');
}

/** Whether its money is not with the beneficiary, for good. */
export function hasFailed({ paymentState }: Pick<PaymentReply, 'paymentState'>): boolean {
  const end = finalState(paymentState);
  return end === 'failed' || end === 'returned';
}

/** Whether a payout is held whose payment failed, for nothing can prove that another quote of it was not paid (beside.ts). */
export function isHeldBeside({ reasonCode, paymentState }: Payout, payment: PaymentReply): boolean {
  return reasonCode === 'E_NOT_PROVABLE' && hasFailed({ paymentState }) && hasFailed(payment);
}
