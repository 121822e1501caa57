import { feesField } from '../ledger/record.ts';
import { type Payout, payoutId } from '../payout.ts';
import type { PaymentReply } from '../service/replies.ts';
import type { PayDeps } from './deps.ts';
import { FIRST_TRACK_MS } from './due.ts';
import { readShown, sumFees } from './quote-answer.ts';

/**
 * Writes down that a payout's payment exists: a fact beats a doubt, whoever armed it (design 3, rule 7). A payment of a
 * quote that the payout has left behind is a breach (assertion A3).
 */
export async function acceptPayment(
  deps: PayDeps,
  payout: Payout,
  found: { quoteId: string; payment: PaymentReply },
): Promise<void> {
  const { quoteId, payment } = found;
  if (payment.paymentId !== quoteId) {
    deps.log.error('a payment has another id than its quote: no quote is proven dead any more', named(payout));
    await deps.head.disprove('payment-id-is-quote-id', `payout ${payoutId(payout)}`);
  }
  const answer = await deps.payouts.move({
    ...placeOf(payout),
    to: 'accepted',
    quoteId,
    dueMs: FIRST_TRACK_MS,
    actor: deps.owner,
    reason: payment.paymentState ?? '',
    fields: paymentFields(payment, payout),
    without: ['rc', 'rs', 'nf'],
  });
  if (answer.result === 'other-quote' || (answer.result === 'forbidden' && !isPaid(answer.state))) {
    await holdBreach(deps, payout, `a payment exists for a quote that the payout left behind (it is ${answer.state})`);
  }
}

function isPaid(state: string): boolean {
  return state === 'accepted' || state === 'completed' || state === 'failed' || state === 'returned';
}

/** Holds a payout with the evidence of a broken assertion, then halts everything (design 4). */
export async function holdBreach(deps: PayDeps, payout: Payout, evidence: string): Promise<void> {
  deps.log.error('an assertion is broken: everything is halted', { ...named(payout), reason: evidence });
  await deps.payouts.move({
    ...placeOf(payout),
    to: 'held',
    breach: true,
    actor: deps.owner,
    reason: 'breach',
    fields: { rc: 'E_BREACH', rs: evidence },
  });
  await deps.head.halt(deps.owner, `payout ${payoutId(payout)}: ${evidence}`);
}

/** What a payment shows, as fields of the record; what it does not show stays as the quote had it. */
export function paymentFields(payment: PaymentReply, payout: Payout): Record<string, string> {
  const { row } = payout;
  const source = readShown(payment.sourceAmount, row.sourceCurrency);
  const destination = readShown(payment.destinationAmount, row.destinationCurrency);
  const fees = payment.fees.length === 0 ? undefined : sumFees(payment.fees);
  return {
    ...(payment.paymentId === payout.quoteId ? {} : { pid: payment.paymentId }),
    ...(payment.paymentState === null ? {} : { ps: payment.paymentState }),
    ...(source ? { sam: source.minor.toString() } : {}),
    ...(destination ? { dam: destination.minor.toString() } : {}),
    ...(payment.rate === null ? {} : { rt: payment.rate }),
    ...(fees === undefined ? {} : { fe: feesField(fees) }),
  };
}

/** Where a payout stands, for the ledger. */
export function placeOf(payout: Payout): { runId: string; line: number } {
  return { runId: payout.runId, line: payout.line };
}

/** Where a payout stands, for the log. */
export function named(payout: Payout): { payout: string } {
  return { payout: payoutId(payout) };
}
