import type { RowNames } from './access/listed-name.ts';
import type { Money, RunFunds } from './money.ts';
import type { Reconciled } from './reconciled.ts';

/* The words of payrun (docs/glossary.md), and what may happen to a payout. */

export const AMOUNT_TYPES = ['SOURCE_AMOUNT', 'DESTINATION_AMOUNT'] as const;
export type AmountType = (typeof AMOUNT_TYPES)[number];

/** Values of `sourceOfCash` (interface page, section 2.5). */
// biome-ignore format: eight a line
export const SOURCES_OF_CASH = [
  'ALMY', 'CASH', 'COMP', 'EMIN', 'GIFT', 'INHE', 'INLQ', 'PACA',
  'REDM', 'REPY', 'REST', 'SALE', 'SEAQ', 'SELF', 'SVGS', 'WINS',
] as const;
export type SourceOfCash = (typeof SOURCES_OF_CASH)[number];

/** What a row of a payout file says. An empty optional cell is null. */
export interface PayoutRow {
  /** The physical line of the file on which the row begins; the header is line 1. */
  readonly line: number;
  readonly reference: string;
  /** UUIDs in lower case; the originator's is given when paying on behalf of another business. */
  readonly beneficiaryIdentityId: string;
  readonly originatorIdentityId: string | null;
  /** In the currency that `amountType` names. */
  readonly amount: Money;
  readonly amountType: AmountType;
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
  readonly sourceCountry: string | null;
  readonly destinationCountry: string | null;
  readonly payoutCategory: string | null;
  readonly payinCategory: string | null;
  readonly purposeCode: string | null;
  readonly sourceOfCash: SourceOfCash | null;
}

/** A row that intake refused while the rest of its file was let go (`--skip-invalid`). */
export interface RefusedRow extends RowNames {
  readonly line: number;
  /** The cells by column name as they stood in the file; over-long ones are cut. */
  readonly cells: Readonly<Record<string, string>>;
  /** What the row would have added to the file's totals, where amount and currency could be read. */
  readonly amount: Money | null;
  /** The stable code of the first problem, E_… */
  readonly code: string;
  readonly message: string;
}

export const PAYOUT_STATES = [
  'ready',
  'armed',
  'quoted',
  'unknown',
  'held',
  'accepted',
  'rejected',
  'cancelled',
  'completed',
  'failed',
  'returned',
] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];

/** Why a payout's quote is dropped: no byte of a request for it left, or it is proven dead. Nothing else drops a quote. */
export type DropReason = 'not-sent' | 'proven-dead';

/** What the report says of a row, in the order in which reports and pages name them. */
export const OUTCOMES = [
  'waiting',
  'unknown',
  'pending',
  'paid',
  'failed',
  'returned',
  'rejected',
  'held',
  'cancelled',
  'refused',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

const OUTCOME_OF_STATE: Readonly<Record<PayoutState | 'refused', Outcome>> = {
  ready: 'waiting',
  armed: 'unknown',
  quoted: 'unknown',
  unknown: 'unknown',
  held: 'held',
  accepted: 'pending',
  rejected: 'rejected',
  cancelled: 'cancelled',
  completed: 'paid',
  failed: 'failed',
  returned: 'returned',
  refused: 'refused',
};

/** The outcome that stands for a payout's state; a row that intake refused has the state `refused`. */
export function outcomeOf(state: PayoutState | 'refused'): Outcome {
  return OUTCOME_OF_STATE[state];
}

/** States of a payout that keep its run from being finished. */
export const OPEN_STATES: readonly PayoutState[] = ['ready', 'armed', 'quoted', 'unknown'];

/** States in which the service has made the payment. */
export const PAYMENT_STATES: readonly PayoutState[] = ['accepted', 'completed', 'failed', 'returned'];

/** States in which a payout's reference may be used again; `rejected` only once it is confirmed. */
export const FREE_STATES: readonly PayoutState[] = ['rejected', 'cancelled', 'failed', 'returned'];

export const RUN_STATES = ['recording', 'awaiting-approval', 'paying', 'paused', 'finished', 'cancelled'] as const;
export type RunState = (typeof RUN_STATES)[number];

/**
 * Every move that a run may make (architecture.md). One that is recorded while everything is halted begins paused; a paused run
 * whose last open payout is settled is finished too. A finished one is paid again only when people allow a payout of it
 * that was held, by that payout's move.
 */
export const RUN_MOVES: Readonly<Record<RunState, readonly RunState[]>> = {
  recording: ['awaiting-approval', 'paying', 'cancelled'],
  'awaiting-approval': ['paying', 'cancelled'],
  paying: ['paused', 'finished', 'cancelled'],
  paused: ['paying', 'finished', 'cancelled'],
  finished: [],
  cancelled: [],
};

/** Whether nothing more of the run is begun. */
export function isOver({ state }: { readonly state: RunState }): boolean {
  return RUN_MOVES[state].length === 0;
}

/** Payment requests for one quote, quotes for one payout, and the time that a payout may go on being tried (architecture.md). */
export const ARMINGS_PER_QUOTE_MAX = 5;
export const QUOTES_PER_PAYOUT_MAX = 5;
export const PAYOUT_TRIED_MS_MAX = 24 * 60 * 60 * 1000;

/**
 * The most that a payout may cost: what a quote at its recording debited for what arrived, in minor units, and by how many
 * basis points of it a later quote may be dearer. Nothing debited: no quote told it, and any is too dear.
 */
export type CostLimit = Readonly<Record<'debited' | 'arrives' | 'driftBp', bigint>>;

/** One step of a payout's history. */
export interface HistoryEntry {
  /** Redis's time in milliseconds since 1970. */
  readonly at: number;
  readonly to: PayoutState;
  readonly actor: string;
  readonly reason: string;
  /** What the service calls the exchange that led to it (its request and correlation ids), or empty. */
  readonly exchange: string;
}

/** What people may decide of a payout (architecture.md, rule 9). */
export const DECISIONS = ['allow', 'drop', 'paid', 'not-paid'] as const;
export type Decision = (typeof DECISIONS)[number];

/** What one person proposes for a payout. Any move of the payout voids it. */
export interface Proposal {
  readonly decision: Decision;
  readonly by: string;
  /** Redis's time in milliseconds since 1970; the payment, for `paid`, and empty for the others. */
  readonly at: number;
  readonly paymentId: string;
  readonly reason: string;
  /** For `allow`: how the payout stood that has the same reference; empty where there was none. */
  readonly seen: string;
}

type SealedPart = 'costLimit' | 'beyondLimits' | 'quote' | 'proposal';
/** A payout as the ledger holds it. Times are milliseconds since 1970. */
export interface Payout extends RowNames {
  readonly runId: string;
  readonly line: number;
  readonly row: PayoutRow;
  /** Of the row, of its cost limit, of people's word that limits do not count for it, of a quote that may be armed again, and of what is proposed (src/ledger/seals.ts); null: none. */
  readonly seals: { readonly row: string } & Readonly<Record<SealedPart, string | null>>;
  /** Grows by one with each move and note; only the count of failed quotes is kept without. */
  readonly version: number;
  readonly state: PayoutState;
  /** The spent quote, or null: a payout without one was never sent, or its earlier quotes are proven dead. */
  readonly quoteId: string | null;
  readonly quoteExpiresAt: number | null;
  /** How long the quote was to live when it was given, by the service's own clock; null when it did not show that. */
  readonly quoteLifeMs: number | null;
  /** Payment requests armed over all quotes; for the present quote; quotes spent, the present one included. */
  readonly attempts: number;
  readonly armings: number;
  readonly quotes: number;
  /** The ledger's arming counter at the last arming; 0 before it. */
  readonly armingCounter: number;
  /** The process that armed last, and when; fingerprint of the credentials it sent with. */
  readonly armedBy: string | null;
  readonly armedAt: number | null;
  readonly credentials: string | null;
  /** The `Date` of the first not-found answer that counts towards a proof of death. */
  readonly notFoundAt: number | null;
  /** Whether a 2xx status line was seen for a payment request of the present quote. */
  readonly seen2xx: boolean;
  /** A rejected payout whose last look-up, after its quote's end and grace, found nothing. */
  readonly rejectionConfirmed: boolean;
  /** People gave it up, and Redis forgot that. */
  readonly givenUp: boolean;
  /** Null: at any cost that the service quotes. */
  readonly costLimit: CostLimit | null;
  /** Quote requests that failed in a row, and look-ups of the present quote that did not settle it. */
  readonly quoteFailures: number;
  readonly lookUps: number;
  readonly paymentId: string | null;
  /** The service's own word for the payment's state. */
  readonly paymentState: string | null;
  readonly sourceAmount: Money | null;
  readonly destinationAmount: Money | null;
  /** Plain decimal. */
  readonly rate: string | null;
  /** Fees and taxes as the service named them, one entry a currency. */
  readonly fees: readonly Money[];
  readonly reasonCode: string | null;
  readonly reason: string | null;
  readonly quotedAt: number | null;
  readonly sentAt: number | null;
  readonly settledAt: number | null;
  readonly proposal: Proposal | null;
  readonly history: readonly HistoryEntry[];
}

/** Where a row stands: `line` is its line in the file. */
export interface PayoutPlace {
  readonly runId: string;
  readonly line: number;
}

/** The place that `payoutId` gave this id. */
export function placeOfId(id: string): PayoutPlace {
  const at = id.lastIndexOf('-');
  return { runId: id.slice(0, at), line: Number.parseInt(id.slice(at + 1), 10) };
}

/** A payout's id: run id, `-`, line. */
export function payoutId(payout: { runId: string; line: number }): string {
  return `${payout.runId}-${payout.line}`;
}

/** A report's number, and the SHA-256 of its files in hexadecimal. */
export interface ReportHashes {
  readonly version: number;
  readonly csv: string;
  readonly json: string;
}

/** A person's word that a run may be paid as it is. */
export interface Approval {
  readonly by: string;
  /** Redis's time in milliseconds since 1970. */
  readonly at: number;
  /** Of what was approved, in hexadecimal. */
  readonly digest: string;
  readonly seal: string;
}

/** A time in milliseconds since 1970, or the next schedule that starts runs. */
export type RunStart = number | 'schedule';

/** How a run is to be released: sizes such as `10,1%,rest` (stages.ts), and what happens between them. */
export interface StagePlan {
  readonly sizes: string;
  /** The next one goes by itself after one in which every payout was paid. */
  readonly goesOnIfPaid: boolean;
}

/** The parts in which a run is released, one after the other. */
export interface RunStages extends Pick<StagePlan, 'goesOnIfPaid'> {
  /** Rows of the file up to the end of each, and the line of the last of them. */
  readonly ends: readonly { readonly rows: number; readonly line: number }[];
  /** Which one was released last, from 0. */
  readonly at: number;
  /** It is over, and the next one waits for a person. */
  readonly isOver: boolean;
}

/** A run as the ledger holds it. Times are milliseconds since 1970. */
export interface Run {
  readonly id: string;
  readonly state: RunState;
  readonly pauseReason: string | null;
  /** How often it was paused, each further reason counted. */
  readonly pauses: number;
  /** When a paused run starts by itself, null where people start it; and when it was to, as whoever handed it in said. */
  readonly startAt: RunStart | null;
  readonly askedStart: RunStart | null;
  /** Null where it is released as a whole, and until it is recorded. */
  readonly stages: RunStages | null;
  /** What was said of its stages, and by how many basis points its cost may grow, when it was handed in. */
  readonly stagePlan: StagePlan | null;
  readonly maxCostDriftBp: bigint | null;
  readonly fileName: string;
  /** SHA-256 of the payout file's bytes, and what is the same for the same rows in any order; in hexadecimal. */
  readonly fileSha256: string;
  readonly contentHash: string;
  /** Who approved it, and what; one for something else than it is now, or that is too old, counts for nothing. */
  readonly approvals: readonly Approval[];
  /** Data rows in the file, those that intake refused included. */
  readonly rows: number;
  /** The file's own totals as intake added them up, refused rows included where they could be read; one entry a currency. */
  readonly fileTotals: readonly Money[];
  readonly createdAt: number;
  readonly createdBy: string;
  /** When rows of it were recorded last; null before the first. */
  readonly recordedAt: number | null;
  /** Redis forgot it for a time, or a host that is lost may have sent some of it: nobody else takes its rows over. */
  readonly isInDoubt: boolean;
  /** Cancelled because its rows came again in another file, before it was recorded. */
  readonly isTakenOver: boolean;
  /** Who put its file into an inbox, '' where nobody is named; null for a file that came another way. */
  readonly dropper: string | null;
  readonly submissionKey: string | null;
  /** Over the seals of its rows in file order, where it has to be approved; and the seal of the run itself (src/ledger/seals.ts). */
  readonly rowsDigest: string | null;
  readonly seal: string | null;
  /** Every currency that its payouts leave or arrive in; empty until it is recorded. */
  readonly currencies: readonly string[];
  /** The columns of its file in their order and how it writes them (src/intake/csv/layout.ts); empty where they were not noted. */
  readonly columns: readonly string[];
  /** Rows whose beneficiaries nothing was ever paid to from this ledger, as of their recording. */
  readonly newBeneficiaryRows: number;
  readonly finishedAt: number | null;
  /** Value of `changes` when it was finished or cancelled last; 0 before. */
  readonly finishedChanges: number;
  /** Payouts (and refused rows) per state, and the file's amounts per currency and outcome, as the moves counted them. */
  readonly counts: Readonly<Record<PayoutState | 'refused', number>>;
  readonly amounts: ReadonlyMap<string, Readonly<Record<Outcome, bigint>>>;
  /** Grows with each move of one of its payouts or of the run itself. */
  readonly changes: number;
  /** Value of `changes` when the last report was written, and that report's number; 0 and 0 before the first. */
  readonly reportedChanges: number;
  readonly reportVersion: number;
  readonly reportHashes: readonly ReportHashes[];
  readonly purgedAt: number | null;
  /** Quotes that were proven dead, and how many of them a last look-up found after all; null before that look-up. */
  readonly deadQuotes: number;
  readonly deadQuotesFound: number | null;
  readonly reconciled: Reconciled | null;
  /** What the payouts that wait need, where somebody asked; null before that. */
  readonly funds: RunFunds | null;
  /** How many of its rows were taken at times of the last seconds in which it was paid. */
  readonly samples: readonly { readonly atMs: number; readonly done: number }[];
}
