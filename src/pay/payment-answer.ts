import { moneyOfDecimal } from '../money.ts';
import type { PayoutRow } from '../payout.ts';
import type { Answer } from '../service/answer.ts';
import { isFinalPaymentCode } from '../service/assumptions.ts';
import { type PaymentReply, parsePayment } from '../service/replies.ts';
import { readRefused } from './refused.ts';

/** Before a quote's end by less than this, a refusal may be about the quote and is not believed (architecture.md). */
const END_OF_QUOTE_MS = 5000;

/** What came of one payment request (architecture.md, `POST /v2/payments`). */
export type PaymentReading =
  | { readonly kind: 'accepted'; readonly payment: PaymentReply }
  | { readonly kind: 'breach'; readonly payment: PaymentReply; readonly evidence: string }
  | { readonly kind: 'not-sent'; readonly reason: string; readonly certificate: boolean }
  /** May come again with the same quote: 401 or 429. */
  | { readonly kind: 'again'; readonly reason: string; readonly status: number }
  | { readonly kind: 'run-wide'; readonly code: string; readonly reason: string }
  /** Refused for good, if a look-up agrees. */
  | { readonly kind: 'final'; readonly code: string; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string; readonly seen2xx: boolean };

export interface SentPayment {
  readonly row: PayoutRow;
  readonly quoteExpiresAt: number | null;
  /** Payment requests for this quote, this one included. */
  readonly armings: number;
}

/** Reads the answer to a payment request that was sent once. */
export function readPaymentAnswer(answer: Answer, sent: SentPayment): PaymentReading {
  if (answer.kind === 'not-sent') return answer;
  if (answer.kind === 'lost') return { kind: 'unknown', reason: answer.reason, seen2xx: isSuccess(answer.status) };
  const { status, json } = answer;
  if (status === 200 || status === 201) {
    const payment = parsePayment(json);
    if (payment === undefined) return { kind: 'unknown', reason: `unreadable ${status}`, seen2xx: true };
    const evidence = differenceFrom(payment, sent.row);
    return evidence === undefined ? { kind: 'accepted', payment } : { kind: 'breach', payment, evidence };
  }
  return isSuccess(status) ? { kind: 'unknown', reason: `HTTP_${status}`, seen2xx: true } : readRefusal(answer, sent);
}

function readRefusal(answer: Extract<Answer, { kind: 'answered' }>, sent: SentPayment): PaymentReading {
  const { status } = answer;
  const { code, codes, reason, isRunWide } = readRefused(answer, 'payment');
  if (status === 401 || status === 429) return { kind: 'again', reason: code, status };
  if (isRunWide) return { kind: 'run-wide', code, reason };
  const isFinal = (status === 400 || status === 422) && codes.length > 0 && codes.every(isFinalPaymentCode);
  if (isFinal && sent.armings === 1 && !mayBeAboutTheQuote(answer.date, sent)) return { kind: 'final', code, reason };
  return { kind: 'unknown', reason: code, seen2xx: false };
}

function mayBeAboutTheQuote(date: number | null, { quoteExpiresAt }: SentPayment): boolean {
  return date === null || quoteExpiresAt === null || date >= quoteExpiresAt - END_OF_QUOTE_MS;
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/**
 * What a payment shows that is not ours: beneficiary, currency or amount. Undefined when all that it shows is ours; what
 * it does not show is no difference.
 */
export function differenceFrom(payment: PaymentReply, row: PayoutRow): string | undefined {
  if ((payment.beneficiaryIdentityId ?? row.beneficiaryIdentityId) !== row.beneficiaryIdentityId)
    return 'another beneficiary';
  if ((payment.sourceCurrency ?? row.sourceCurrency) !== row.sourceCurrency) return 'another source currency';
  if ((payment.destinationCurrency ?? row.destinationCurrency) !== row.destinationCurrency) {
    return 'another destination currency';
  }
  const shown = row.amountType === 'SOURCE_AMOUNT' ? payment.sourceAmount : payment.destinationAmount;
  if (shown === null) return undefined;
  return moneyOfDecimal(shown, row.amount.currency)?.minor === row.amount.minor ? undefined : 'another amount';
}
