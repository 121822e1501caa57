import { rfc3339 } from '../../clock.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import { isSameReference } from '../../intake/row/references.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Payout, type PayoutState, payoutId, placeOfId, type Run } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';

const BOTH_PAID = 'both are paid then';

/** What became of the payout that has the reference of another one, and what allowing that other one does to it. */
const STANDS: Readonly<Record<Exclude<PayoutState, 'ready'>, string>> = {
  held: 'is held: if it is allowed later, it takes the reference back',
  armed: `may be paid at this moment: ${BOTH_PAID}`,
  quoted: `may be paid at this moment: ${BOTH_PAID}`,
  unknown: `may have been paid: ${BOTH_PAID}`,
  accepted: `was accepted by the service: ${BOTH_PAID}`,
  completed: `was paid: ${BOTH_PAID}`,
  failed: 'failed',
  returned: 'was returned',
  rejected: 'was rejected',
  cancelled: 'was cancelled',
};

export interface OtherOfReference {
  readonly words: readonly string[];
  readonly mayBePaid: boolean;
  /** Which payout it is and how it stands, `''` and `''` where there is none. */
  readonly holder: { readonly id: string; readonly state: string };
  /** The same after another move of it is another text: what people said of the former does not hold. */
  readonly seen: string;
}

export const NO_OTHER: OtherOfReference = { words: [], mayBePaid: false, holder: { id: '', state: '' }, seen: '' };

/**
 * Says which other payout has the reference of a payout that people want to allow, and what becomes of that one: it is held
 * at its turn, for a payout is paid only while its reference is its own (architecture.md, rule 2).
 */
export async function otherOfReference(
  ledger: Pick<Ledger, 'references' | 'payouts' | 'runs'>,
  payout: Payout,
): Promise<OtherOfReference> {
  const holder = await ledger.references.beside(hashReference(payout.row.reference), payoutId(payout));
  if (holder === '') return NO_OTHER;
  const place = placeOfId(holder);
  const [{ payout: other }, run] = await Promise.all([ledger.payouts.read(place), ledger.runs.read(place.runId)]);
  const state = other?.state ?? '';
  const stands = standsOf(other, run);
  return {
    words: [`payout ${holder} has the same reference and ${stands}`],
    mayBePaid: stands.endsWith(BOTH_PAID),
    holder: { id: holder, state },
    seen: `${holder} ${state} ${other?.history.length ?? 0}`,
  };
}

/** The other payout with the reference of one that people want to settle as paid, where that one was paid too or may be. */
export async function paidUnderReference(
  ledger: Pick<Ledger, 'references' | 'payouts' | 'runs'>,
  payout: Payout,
): Promise<readonly string[]> {
  const { mayBePaid, words } = await otherOfReference(ledger, payout);
  return mayBePaid ? words : [];
}

/**
 * The other payout to which a payment belongs that shows another reference: by its id or, as where a service gives equal requests one
 * quote, by that reference. '' where none is known, and for a payment that shows no other reference.
 */
export async function otherOfPayment(
  ledger: Pick<Ledger, 'references' | 'payouts'>,
  payout: Payout,
  { paymentId, internalId }: Pick<PaymentReply, 'paymentId' | 'internalId'>,
): Promise<string> {
  if (internalId === null || isSameReference(internalId, payout.row.reference)) return '';
  const holder = await ledger.payouts.holderOf(paymentId);
  if (holder !== undefined && holder !== payoutId(payout)) return holder;
  return await ledger.references.beside(hashReference(internalId), payoutId(payout));
}

function standsOf(holder: Payout | undefined, run: Run | undefined): string {
  // Known from an intent log alone, or its rows were removed after it was paid.
  if (holder === undefined || run === undefined) return STANDS.unknown;
  if (holder.state === 'ready') return waitsIn(run);
  const mayBePaid = holder.reasonCode === 'E_DIR_LOST' || (holder.quoteId !== null && !holder.rejectionConfirmed);
  if (mayBePaid && (holder.state === 'held' || holder.state === 'rejected')) return STANDS.unknown;
  return STANDS[holder.state];
}

function waitsIn(run: Run): string {
  return `${whenPaid(run)} in run ${run.id} (${run.fileName}): once this one is allowed, that one is held instead`;
}

function whenPaid({ state, startAt }: Run): string {
  if (state === 'paying') return 'is about to be paid';
  if (state === 'awaiting-approval') return 'waits for approval';
  if (startAt === 'schedule') return 'waits for the next schedule that starts runs';
  return startAt === null ? 'waits' : `waits until ${rfc3339(startAt)}`;
}
