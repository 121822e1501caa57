import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout } from '../../payout.ts';

/** An id under which a payment of a payout would be found. */
export interface AskedPayment {
  /** The quote whose payment it would be. */
  readonly quoteId: string;
  readonly paymentId: string;
  /** Another quote or payment than the present one, which nobody has proven dead. */
  readonly isBeside: boolean;
}

/** Each id under which a payment of a payout may be found, those of quotes that were proven dead included; the present quote's last. */
export async function askedPayments(
  { runs }: Pick<Ledger, 'runs'>,
  { runId, line, quoteId, paymentId }: Payout,
): Promise<AskedPayment[]> {
  const asked = new Map<string, AskedPayment>();
  for (const former of await runs.formerQuotes(runId)) {
    const isBeside = !former.isProvenDead || asked.get(former.quoteId)?.isBeside === true;
    if (former.line === line)
      asked.set(former.quoteId, { quoteId: former.quoteId, paymentId: former.quoteId, isBeside });
  }
  if (quoteId === null) return [...asked.values()];
  for (const id of [paymentId ?? quoteId, quoteId]) {
    asked.delete(id);
    asked.set(id, { quoteId, paymentId: id, isBeside: false });
  }
  return [...asked.values()];
}
