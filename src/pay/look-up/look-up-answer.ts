import { isSameReference } from '../../intake/row/references.ts';
import type { Payout } from '../../payout.ts';
import type { Answer } from '../../service/answer.ts';
import { type PaymentReply, parseErrors, parsePayment } from '../../service/replies.ts';
import { differenceFrom } from '../payment-answer.ts';

/** What a look-up says (architecture.md, rule 6). */
export type LookUpReading =
  | { readonly kind: 'found'; readonly payment: PaymentReply }
  /** All that was asked for, under another reference: the service may keep references in a form of its own. People say so. */
  | { readonly kind: 'other-reference'; readonly reference: string; readonly payment: PaymentReply }
  | { readonly kind: 'breach'; readonly evidence: string; readonly payment: PaymentReply }
  /** A well-formed "not found", with the answer's `Date`. */
  | { readonly kind: 'not-found'; readonly date: number | null }
  /** `isLasting`: another question would get the same answer. */
  | { readonly kind: 'nothing'; readonly reason: string; readonly isLasting: boolean };

/** What tells that an answer is the service's own "not found", and not a gateway's. */
export interface NotFoundRules {
  /** Error codes that the service was seen to use for an unknown payment, or the documented one. */
  readonly notFoundCodes: ReadonlySet<string>;
}

/** Reads the answer to a look-up of a payout's payment under `paymentId`. */
export function readLookUpAnswer(
  answer: Answer,
  payout: Payout,
  { paymentId, notFoundCodes }: NotFoundRules & { paymentId: string },
): LookUpReading {
  if (answer.kind !== 'answered') return { kind: 'nothing', reason: answer.reason, isLasting: false };
  const { status, json, date, isFromCache = false } = answer;
  if (status === 404 && isFromCache) return { kind: 'nothing', reason: 'a cache answered HTTP_404', isLasting: false };
  if (status === 404) return readNotFound(parseErrors(json)[0]?.code ?? null, { date, notFoundCodes });
  const payment = status === 200 ? parsePayment(json) : undefined;
  if (payment !== undefined) return readShown(payment, payout, paymentId);
  return { kind: 'nothing', reason: `HTTP_${status}`, isLasting: status < 500 && !PASSING_STATUSES.has(status) };
}

/** Of the client's errors those that say nothing of the payment: about the token, the time, and the number of requests. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([401, 408, 425, 429]);

function readShown(payment: PaymentReply, payout: Payout, paymentId: string): LookUpReading {
  if (payment.paymentId !== paymentId) return nothingShown('another payment was answered');
  if (payment.paymentState === null || payment.paymentState === 'QUOTED') {
    return nothingShown('the answer shows no state of a payment');
  }
  const evidence = differenceFrom(payment, payout.row);
  if (evidence !== undefined) return { kind: 'breach', evidence, payment };
  if (payment.internalId !== null && !isSameReference(payment.internalId, payout.row.reference)) {
    return { kind: 'other-reference', reference: payment.internalId, payment };
  }
  return { kind: 'found', payment };
}

/** A 404 in other words is a gateway's, or says something else: it proves nothing (architecture.md, rule 8). */
function readNotFound(
  code: string | null,
  { date, notFoundCodes }: NotFoundRules & { date: number | null },
): LookUpReading {
  if (code !== null && notFoundCodes.has(code)) return { kind: 'not-found', date };
  return nothingShown(code === null ? 'HTTP_404' : `HTTP_404 ${code}`);
}

function nothingShown(reason: string): LookUpReading {
  return { kind: 'nothing', reason, isLasting: true };
}
