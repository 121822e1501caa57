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

/** Whether people have, or had, to settle a payout whose payment failed: that it is still there says nothing new. */
export function isKnownToHaveFailed({ reasonCode, paymentState }: Payout, payment: PaymentReply): boolean {
  const isForPeople = reasonCode === 'E_NOT_PROVABLE' || reasonCode === 'E_NOT_PAID';
  return isForPeople && hasFailed({ paymentState }) && hasFailed(payment);
}
