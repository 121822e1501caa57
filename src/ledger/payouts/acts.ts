import type { Limit } from '../../config/limits.ts';
import type { DropReason, Payout, PayoutPlace, PayoutState } from '../../payout.ts';
import type { PayoutValues } from './values.ts';

/** A payout, and what stood beside it in the ledger at the moment of reading. */
export interface PayoutReading {
  readonly payout: Payout | undefined;
  /** Milliseconds that the service asked everybody to wait. */
  readonly waitMs: number;
  readonly halt: string | null;
  /** Capabilities that were seen not to hold. */
  readonly disproved: readonly string[];
  /** Redis's time, milliseconds since 1970. */
  readonly now: number;
}

export interface Arming extends PayoutPlace {
  readonly version: number;
  /** Of the row as the caller read it. */
  readonly rowSeal: string;
  /** Of the folded reference: it is armed only while that is its own. */
  readonly referenceHash: string;
  readonly quoteId: string;
  readonly quoteExpiresAt: number | null;
  readonly owner: string;
  readonly credentials: string;
  /** When the sweeper looks at the payout if nobody settles it, in milliseconds from now. */
  readonly dueMs: number;
  /** What the service calls the exchange that gave the quote. */
  readonly exchange: string;
  /** What its record gets beside that. */
  readonly values?: PayoutValues;
  /** Digest of what people must have approved; null where no approval is needed. */
  readonly approval?: string | null;
  /** The version and seal of the block list that the caller verified. */
  readonly blockList?: string;
  /** What must not be passed by its amount; null where nobody set limits. */
  readonly limits?: ArmingLimits | null;
}

/** What a payout counts as in one currency. */
export interface LimitedSum {
  readonly currency: string;
  /** Null where the quote does not say it: then it is beyond its limits. Of the payout's own currency the record's counts. */
  readonly minor: bigint | null;
  /** The most that may be armed, in minor units; absent: any amount. */
  readonly most: Readonly<Partial<Record<Limit, bigint>>>;
}

export interface ArmingLimits {
  /** At most one for each currency. */
  readonly sums: readonly LimitedSum[];
  /** 16 hexadecimal digits. */
  readonly beneficiaryHash: string;
  /** By how much the days of the limits begin before those of UTC. */
  readonly dayOffsetMs: number;
}

/** A limit that a payout would pass; `amount`: what it comes to in the currency is not known. */
export interface BrokenLimit {
  readonly which: Limit | 'amount';
  readonly currency: string;
}

/** Why a payout was not armed. */
export const ARM_REFUSALS = [
  'season',
  'newer',
  'settings',
  'halted',
  'wait',
  'run',
  'changed',
  'row',
  'armings',
  'quotes',
  'quote-taken',
  'block-list',
  'not-replicated',
] as const;
export type ArmRefusal = (typeof ARM_REFUSALS)[number];

export type ArmAnswer =
  | { readonly armed: true; readonly version: number; readonly counter: number; readonly armedAt: number }
  | { readonly armed: false; readonly refusal: ArmRefusal }
  /** `given-up`: people gave it up after the copy from which Redis was restored. */
  | { readonly armed: false; readonly refusal: 'approval' | 'blocked' | 'given-up' }
  /** The payout of this id has its reference. */
  | { readonly armed: false; readonly refusal: 'reference'; readonly holder: string }
  | { readonly armed: false; readonly refusal: 'limit'; readonly limit: BrokenLimit };

/** How a payout stood when people looked at it; `state` is '' where nothing is kept of it but its id. */
export interface SeenHolder {
  readonly id: string;
  readonly state: string;
}

/** One move of a payout, or a note about it when `to` is left out. */
export interface PayoutMove extends PayoutPlace {
  readonly to?: PayoutState;
  /** The version that the decision was made on. A fact (architecture.md, rule 7) leaves it out. */
  readonly version?: number;
  /** The state that the payout must have: a fact needs none. */
  readonly from?: PayoutState;
  /** The quote that the payout must have. */
  readonly quoteId?: string;
  readonly breach?: boolean;
  readonly cancelledIfRunIs?: boolean;
  readonly dropQuote?: DropReason;
  /** It is settled by a payment that is not its quote's: that quote is looked up from now on. */
  readonly leavesQuote?: boolean;
  /** The service's own word, which nobody looked at: what is held for a breach stays held for people. */
  readonly isFact?: boolean;
  /** When it is due next, in milliseconds from now; left out: not due; `as-it-is`: a note leaves it alone. */
  readonly dueMs?: number | 'as-it-is';
  /** Which others people saw to have the reference of a payout that they allow. */
  readonly sawHolders?: readonly SeenHolder[];
  /** It is refused as `shared` where others have its reference too, and people gave it to none of them. */
  readonly isAlone?: boolean;
  /** Its reference, as a hash: the payout takes it back where it came to nothing before, and is found after all. */
  readonly referenceHash?: string;
  /** The service does not show its payment any more, though it shows another one. */
  readonly isPaymentGone?: boolean;
  /** A quote that a breach shows to be spent, for a payout that has none any more. */
  readonly spentQuoteId?: string;
  /** A quote whose payment should not be: a comparison of logs tells of it no more. */
  readonly foundQuoteId?: string;
  readonly actor: string;
  readonly reason: string;
  /** What the service calls the exchange that the move follows from. */
  readonly exchange?: string;
  /** How many of the run's last outcomes are remembered, when this move tells one. */
  readonly outcomesRemembered?: number;
  /** What its record gets, and what is taken out of it. */
  readonly values?: PayoutValues;
  /** What waits for its place in the audit log once the move is made (AuditLog.waiting). */
  readonly act?: string;
}

/** A payout that was put off: quotes of it that failed in a row, and its version since. */
export interface Deferred {
  readonly failures: number;
  readonly version: number;
}

export const MOVE_RESULTS = [
  'moved',
  'there',
  'changed',
  'other-quote',
  'payment-taken',
  'shared',
  'forbidden',
  'missing',
  /** In a closed season a payout does not come to an end that frees its reference. */
  'season',
] as const;
export type MoveResult = (typeof MOVE_RESULTS)[number];

export interface MoveAnswer {
  readonly result: MoveResult;
  readonly version: number;
  readonly state: string;
  /** After a move that tells what came of a payment: unknown and refused ones among the run's last outcomes; else 0. */
  readonly badOutcomes: number;
}
