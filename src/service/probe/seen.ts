import { z } from 'zod';
import type { Answer } from '../answer.ts';
import { type PaymentReply, parseErrors, parsePayment } from '../replies.ts';

/*
 * What the probe saw of the service, as plain data: the questions and the capabilities are judged from it and from
 * nothing else.
 */

/** A payment as an answer showed it. */
export interface ShownPayment extends PaymentReply {
  /** Milliseconds since 1970; null when it is not shown. */
  readonly initiatedAt: number | null;
}

/** What one answer says. A refusal is one that the service explains; what it says of the payment is another matter. */
export interface Seen {
  readonly kind: 'payment' | 'refusal' | 'nothing';
  /** Null when no status line came. */
  readonly status: number | null;
  /** For people: `201 INITIATED`, `400 USR_003`, `time-out`. */
  readonly text: string;
  /** The service's code of a refusal. */
  readonly code: string | null;
  readonly payment: ShownPayment | null;
}

/** One quote, what its payment requests were answered, in order, and what look-ups by its id said afterwards. */
export interface Trial {
  readonly quoteId: string;
  readonly replies: readonly Seen[];
  readonly lookUps: readonly Seen[];
  /** From the answer (or the cut) to the end of the look-up that found the payment; null when none did. */
  readonly visibleAfterMs: number | null;
}

export interface PaidTrial extends Trial {
  /** To the request that names another beneficiary; null when no other one is known. */
  readonly otherBeneficiary: Seen | null;
  /** The state in which the payment came to rest, and the answer to a request after that; null when it did not in time. */
  readonly rest: { readonly state: string; readonly again: Seen } | null;
}

export interface LateTrial extends Trial {
  /** After the quote's end, by the service's clock, the request was sent at the earliest. */
  readonly lateMs: number;
}

export interface QuoteSeen {
  /** Milliseconds; null when the quote shows no end or the answer no date. */
  readonly lifeMs: number | null;
  readonly hasEnd: boolean;
  /** The service's clock less ours in milliseconds, to about a second; null when the answer has no date. */
  readonly skewMs: number | null;
}

export interface Burst {
  readonly requests: number;
  /** `Retry-After` of each 429; empty text where it had none. */
  readonly retryAfters: readonly string[];
}

/** What a question came to: what was seen, or why it could not be asked. */
export type Asked<T> = { readonly seen: T } | { readonly unanswered: string };

export interface Evidence {
  readonly quote: Asked<QuoteSeen>;
  readonly twice: Asked<PaidTrial>;
  readonly failing: Asked<PaidTrial>;
  readonly atOnce: Asked<Trial>;
  readonly late: Asked<readonly LateTrial[]>;
  readonly cut: Asked<readonly Trial[]>;
  /** Two quotes under one internalId, in the order in which they were sent. */
  readonly sameReference: Asked<readonly Trial[]>;
  readonly badToken: Asked<Trial>;
  readonly burst: Asked<Burst>;
}

/** Statuses with which a service may refuse a payment request because of its quote. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 409, 410, 422]);
/** States in which a payment comes to rest. */
const REST_STATES: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'DECLINED', 'RETURNED']);

const initiatedSchema = z.object({
  initiatedAt: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
});

/** Reads an answer to a payment request or to a look-up. */
export function seenOf(answer: Answer): Seen {
  if (answer.kind !== 'answered') {
    const status = answer.kind === 'lost' ? answer.status : null;
    return { kind: 'nothing', status, text: answer.reason, code: null, payment: null };
  }
  const { status, json } = answer;
  const reply = status === 200 || status === 201 ? parsePayment(json) : undefined;
  if (reply === undefined) return errorSeen(status, json);
  const initiatedAt = initiatedSchema.safeParse(json).data?.initiatedAt ?? null;
  const text = `${status} ${reply.paymentState ?? 'without a state'}`;
  return { kind: 'payment', status, text, code: null, payment: { ...reply, initiatedAt } };
}

function errorSeen(status: number, json: unknown): Seen {
  const error = parseErrors(json)[0];
  const kind = REFUSALS.has(status) && error !== undefined ? 'refusal' : 'nothing';
  const text = `${status} ${error?.code ?? error?.type ?? 'without an error body'}`;
  return { kind, status, text, code: error?.code ?? null, payment: null };
}

/** Whether a look-up found a payment: one with a state, and not the bare quote (architecture.md, rule 6). */
export function isFound({ payment }: Seen): boolean {
  return payment !== null && payment.paymentState !== null && payment.paymentState !== 'QUOTED';
}

/** Whether a look-up is a well-formed "not found". */
export function isNotFound({ kind, status }: Seen): boolean {
  return kind === 'refusal' && status === 404;
}

/** Whether a payment in this state has come to rest. */
export function isAtRest(state: string): boolean {
  return REST_STATES.has(state);
}

/** Every trial that was made, with all replies that it got. */
export function trialsOf({ twice, failing, atOnce, late, cut, sameReference, badToken }: Evidence): Trial[] {
  const paid = [twice, failing].flatMap((asked) => ('seen' in asked ? [withAllReplies(asked.seen)] : []));
  const single = [atOnce, badToken].flatMap((asked) => ('seen' in asked ? [asked.seen] : []));
  const several = [late, cut, sameReference].flatMap((asked): readonly Trial[] => ('seen' in asked ? asked.seen : []));
  return [...paid, ...single, ...several];
}

function withAllReplies(trial: PaidTrial): PaidTrial {
  const more = [trial.otherBeneficiary, trial.rest?.again].filter((seen) => seen !== null && seen !== undefined);
  return { ...trial, replies: [...trial.replies, ...more] };
}

/** Everything that showed a payment of the trial's quote, in order: replies first. */
export function paymentsOf(trial: Trial): ShownPayment[] {
  return [...trial.replies, ...trial.lookUps].flatMap(({ payment }) => (payment === null ? [] : [payment]));
}

/**
 * What shows that a quote was paid more than once; undefined when nothing does. HTTP shows no ledger, so this is as much
 * as can be seen: two ids, two times of initiation, two beneficiaries, or a payment that stands at its beginning again.
 */
export function signOfSecond(trial: Trial): string | undefined {
  const payments = paymentsOf(trial);
  const differ = (field: 'paymentId' | 'initiatedAt' | 'beneficiaryIdentityId' | 'internalId'): boolean =>
    new Set(payments.map((payment) => payment[field]).filter((value) => value !== null)).size > 1;
  if (differ('paymentId')) return 'two payment ids';
  if (differ('beneficiaryIdentityId')) return 'two beneficiaries';
  if (differ('initiatedAt')) return 'two times of initiation';
  return differ('internalId') ? 'two internalIds' : undefined;
}

/** The same, with what a request after the payment's rest and one for another beneficiary were answered. */
export function signOfAnother(trial: PaidTrial): string | undefined {
  const sign = signOfSecond(withAllReplies(trial));
  if (sign !== undefined || trial.rest === null) return sign;
  const state = trial.rest.again.payment?.paymentState ?? null;
  return state === null || isAtRest(state) ? undefined : `a payment that was ${trial.rest.state} and began anew`;
}

/** The codes in which look-ups of payments that were not made said "not found". */
export function notFoundCodesOf(evidence: Evidence): string[] {
  const looks = trialsOf(evidence).flatMap(({ lookUps }) => lookUps.filter(isNotFound));
  return [...new Set(looks.flatMap(({ code }) => (code === null ? [] : [code])))].toSorted();
}
