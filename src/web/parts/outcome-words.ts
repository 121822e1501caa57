import type { Decision, Outcome, PayoutState } from '../../payout.ts';
import type { Tone } from './badge.tsx';

/** How a row stands by its outcome. */
export const OUTCOME_TONES: Readonly<Record<Outcome, Tone>> = {
  waiting: 'still',
  unknown: 'wait',
  pending: 'busy',
  paid: 'good',
  failed: 'bad',
  returned: 'bad',
  rejected: 'bad',
  held: 'wait',
  cancelled: 'still',
  refused: 'bad',
};

/** Outcomes of rows in the words of people; programs have the names. */
export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  waiting: 'not started',
  unknown: 'not known yet',
  pending: 'on the way',
  paid: 'paid',
  failed: 'failed',
  returned: 'came back',
  rejected: 'rejected',
  held: 'held for a person',
  cancelled: 'cancelled',
  refused: 'refused in the file',
};

/** An outcome that was stored, in words; one that is not known by its name. */
export function outcomeWords(outcome: string): string {
  const words: Readonly<Record<string, string>> = OUTCOME_WORDS;
  return words[outcome] ?? outcome;
}

/** States of payouts as sentences that begin with `It`; programs have the names. */
export const STATE_WORDS: Readonly<Record<PayoutState | 'refused', string>> = {
  ready: 'is paid when its turn comes',
  armed: 'is being sent',
  quoted: 'was turned away for now; payrun tries again',
  unknown: 'may have been sent; payrun keeps looking what came of it',
  held: 'is held until people decide',
  accepted: 'is on the way: the service has the payment',
  rejected: 'was rejected and not paid',
  cancelled: 'was cancelled',
  completed: 'was paid',
  failed: 'failed at the service',
  returned: 'was paid and came back',
  refused: 'was refused in the file',
};

/** What people propose, said of one payout. */
export const PROPOSED_WORDS: Readonly<Record<Decision, string>> = {
  allow: 'to allow it',
  drop: 'to drop it',
  paid: 'to settle it as paid',
  'not-paid': 'to settle it as not paid',
};

const REASONS: Readonly<Record<string, string>> = {
  E_APPROVAL: 'its approval does not hold',
  E_BLOCKED: 'its beneficiary is blocked',
  E_BREACH: 'it broke one of the rules that keep a payment from being made twice',
  E_BREAKER: 'too many payouts in a row failed',
  E_CERTIFICATE: "the service's certificate does not verify",
  E_COST_DRIFT: 'it costs more than was agreed',
  E_DIR_LOST: 'a host that is lost may have sent it',
  E_DUP_HISTORY: 'an earlier payout has the same reference',
  E_DUP_LIKELY: 'it looks like an earlier payout',
  E_GIVEN_UP: 'it was given up',
  E_LEDGER_KEY: 'it was recorded with another ledger key',
  E_LIMIT: 'it would pass a limit',
  E_NO_QUOTE: 'the service gave no quote for it',
  E_NOT_PAID: 'people settled that it was not paid',
  E_NOT_PROVABLE: 'nothing can prove that it was not paid',
  E_PAYMENT_GONE: 'the service does not know its payment any more',
  E_QUOTE_AMOUNT: 'the quote was for another amount',
  E_QUOTE_DIGITS: 'the quote has more digits than its currency',
  E_TRIED: 'it was tried for too long, or too often',
  ECONNRESET: 'the connection broke before an answer came',
  EPIPE: 'the connection broke before an answer came',
  UND_ERR_BODY_TIMEOUT: 'no answer came in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_SOCKET: 'the connection broke before an answer came',
};

/** Why a payout waits or was not paid, as people say it; undefined for a code that only its service explains. */
export function reasonWords(code: string): string | undefined {
  const status = /^HTTP_([0-9]{3})$/.exec(code)?.[1];
  return status === undefined ? REASONS[code] : `the service answered with status ${status}`;
}
