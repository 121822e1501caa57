import { rfc3339 } from '../../clock.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import { isSameReference } from '../../intake/row/references.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { SeenHolder } from '../../ledger/payouts/acts.ts';
import { type Payout, type PayoutState, payoutId, placeOfId, type Run } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';
import { twinOf } from '../story.ts';

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

export interface OthersOfReference {
  readonly words: readonly string[];
  /** Which payouts they are, and how they stand. */
  readonly holders: readonly SeenHolder[];
  /** The same after another move of one of them is another text: what people said of the former does not hold. */
  readonly seen: string;
}

export const NO_OTHERS: OthersOfReference = { words: [], holders: [], seen: '' };

type Ledgers = Pick<Ledger, 'references' | 'payouts' | 'runs'>;

/**
 * Says which other payouts have the reference of a payout that people want to allow, and what becomes of them: those that wait are held
 * at their turn, for a payout is paid only while its reference is its own (architecture.md, rule 2).
 */
export async function othersOfReference(ledger: Ledgers, payout: Payout): Promise<OthersOfReference> {
  const ids = await ledger.references.beside(hashReference(payout.row.reference), payoutId(payout));
  const others = await Promise.all(ids.map((id) => readOther(ledger, id)));
  return {
    words: others.map(
      ({ id, payout: other, run }) => `payout ${id} has the same reference and ${standsOf(other, run)}`,
    ),
    holders: others.map(({ id, payout: other }) => ({ id, state: other?.state ?? '' })),
    seen: others.map(({ id, payout: other }) => `${id} ${other?.state ?? ''} ${other?.history.length ?? 0}`).join(', '),
  };
}

/**
 * Says the same of the payout that a likely duplicate (`E_DUP_LIKELY`) is like. That one is paid at its turn, whatever people decide
 * about the duplicate.
 */
export async function likePayout(ledger: Ledgers, payout: Payout): Promise<LikePayout> {
  const place = payout.reasonCode === 'E_DUP_LIKELY' ? twinOf(payout) : null;
  if (place === null) return NOTHING_LIKE_IT;
  const { id, payout: other, run } = await readOther(ledger, payoutId(place));
  const stands = standsBesideLike(other, run);
  const said = [`payout ${id} has the same beneficiary, amount and currency, and ${stands}`];
  return stands.endsWith(BOTH_PAID) ? { words: [], caveats: said } : { words: said, caveats: [] };
}

/** As `standsOf`: with a reference of its own it is paid too. */
function standsBesideLike(other: Payout | undefined, run: Run | undefined): string {
  const stands = standsOf(other, run);
  if (stands === STANDS.held) return `is held: if it is allowed later, ${BOTH_PAID}`;
  if (other?.state === 'ready' && run !== undefined) return `${whenPaid(run)} in run ${run.id}: ${BOTH_PAID}`;
  return stands;
}

/** What is said of it; `caveats` where it was paid, or may be. */
interface LikePayout {
  readonly words: readonly string[];
  readonly caveats: readonly string[];
}

export const NOTHING_LIKE_IT: LikePayout = { words: [], caveats: [] };

/** The other payouts with the reference of one that people want to settle as paid, where these were paid too or may be. */
export async function paidUnderReference(ledger: Ledgers, payout: Payout): Promise<readonly string[]> {
  const { words } = await othersOfReference(ledger, payout);
  return words.filter((text) => text.endsWith(BOTH_PAID));
}

interface Other {
  readonly id: string;
  readonly payout: Payout | undefined;
  readonly run: Run | undefined;
}

async function readOther(ledger: Ledgers, id: string): Promise<Other> {
  const place = placeOfId(id);
  const [{ payout }, run] = await Promise.all([ledger.payouts.read(place), ledger.runs.read(place.runId)]);
  return { id, payout, run };
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
  const [other = ''] = await ledger.references.beside(hashReference(internalId), payoutId(payout));
  return other;
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
