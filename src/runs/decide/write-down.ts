import type { AuditAct } from '../../audit/entry.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { acceptPayment, holdBreach } from '../../pay/facts.ts';
import { hasFailed } from '../../pay/track/payment-end.ts';
import { type Payout, payoutId } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';

interface WriteDeps {
  readonly ledger: Pick<Ledger, 'audit'>;
  readonly pay: PayDeps;
}

/** A payment that a look-up for people found. */
interface Found {
  readonly quoteId: string;
  readonly payment: PaymentReply;
  readonly exchange: string;
}

/** Writes a payment down at once that was found, unless a breach is known: that one people settle. Says what was done. */
export async function writeDown(deps: WriteDeps, payout: Payout, found: Found): Promise<string> {
  const { quoteId, payment } = found;
  if (payout.reasonCode === 'E_BREACH') {
    const has = `the service has the payment ${payment.paymentId} for it`;
    const failed = `${has}, which is ${payment.paymentState}: settle it as paid by that payment, and it fails`;
    return hasFailed(payment) ? failed : `${has}: it was paid`;
  }
  if (quoteId === payout.quoteId) {
    const act = await deps.ledger.audit.waiting(entryOf(payout, found));
    await acceptPayment(deps.pay, payout, { ...found, act });
    await deps.ledger.audit.appendWaiting();
  } else await writeBreach(deps, payout, { ...found, evidence: `the quote ${quoteId}, which it left behind, is paid` });
  return 'the service has its payment, and that is written down now';
}

/** Holds the payout for a payment that should not be. */
export async function writeBreach(
  { ledger, pay }: WriteDeps,
  payout: Payout,
  { evidence, ...found }: Found & { readonly evidence: string },
): Promise<void> {
  const { quoteId, payment, exchange } = found;
  await ledger.audit.append(entryOf(payout, found));
  const shown = { quoteId, paymentId: payment.paymentId };
  await holdBreach(pay, payout, { evidence, quoteId, shown, exchange });
}

/** Else the log of this host alone would know of it after a restore, for which nobody waits. */
function entryOf(payout: Payout, { quoteId, payment }: Found): AuditAct {
  const details = { quote: quoteId, payment: payment.paymentId };
  return { actor: 'payrun', action: 'payout.payment-found', target: payoutId(payout), details };
}
