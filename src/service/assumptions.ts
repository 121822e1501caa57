import type { Capability } from '../config/config.ts';

/** Something that the interface page leaves open and that payrun had to decide. */
export interface Assumption {
  readonly name: string;
  readonly assumed: string;
  /** Where it comes from. */
  readonly source: string;
  /** The setting or command that changes it; null when nothing does, and why not. */
  readonly changedBy: string | null;
  readonly why?: string;
}

/** One entry for each; shown by `doctor`. "facts" is what public material says about the service, "page" is the interface page. */
export const ASSUMPTIONS: readonly Assumption[] = [
  {
    name: 'quote request',
    assumed:
      'quoteAmount (a JSON number), quoteAmountType, sourceCurrency, destinationCurrency, payoutCategory, payinCategory, and the two countries where given',
    source: 'page 4: body shape not shown; facts 1: documented, further fields are refused',
    changedBy: null,
    why: 'the service refuses fields that it does not know, and a row can only be paid by what it asks for',
  },
  {
    name: 'payout and payin category',
    assumed: 'BANK and PRE_FUNDING where a row names none',
    source: 'facts 1: both are required; older payin names are deprecated',
    changedBy: 'PAYRUN_PAYOUT_CATEGORY, PAYRUN_PAYIN_CATEGORY, columns of the payout file',
  },
  {
    name: 'quote reply',
    assumed:
      'a list `quotes`; the first active one in our currencies and with our amount is taken, and what it does not echo is no reason against it; one that echoes something unreadable is passed over',
    source: 'page 2.6: fields not shown; facts 2',
    changedBy: null,
    why: 'a quote in other currencies or of another amount than the row’s would pay another sum',
  },
  {
    name: 'length of a quote',
    assumed: 'what expiresAt says; without it a quote is armed at once and once, and is never proven dead',
    source: 'facts 2 and 10: no length is stated and expiresAt is optional',
    changedBy: 'PAYRUN_QUOTE_GRACE (time after it)',
  },
  {
    name: 'success of a payment request',
    assumed: '200 or 201 with JSON that has a paymentId; any other 2xx leaves the payout unknown',
    source: 'page 4: success codes and response not shown; facts 3: 201 with paymentId and paymentState',
    changedBy: null,
    why: 'read more widely, an answer that proves nothing would count as a payment; unknown is always safe, for it is looked up',
  },
  {
    name: 'internalId',
    assumed: 'the row’s reference, at most 36 characters; neither unique nor a guard against paying twice',
    source: 'page 2.5: type and meaning not shown; facts 3: customer-defined, length 36, no claim of uniqueness',
    changedBy: null,
    why: 'it finds a payment again and guards nothing, so there is nothing to choose',
  },
  {
    name: 'a repeated payment request',
    assumed:
      'its answer proves nothing; a payment request is sent once per arming, without an idempotency key, and a doubt is settled by look-up',
    source: 'facts 3: no idempotency header exists and the answer to a repeat is not documented',
    changedBy: null,
    why: 'believing a repeat is how a payout is paid twice',
  },
  {
    name: 'refused for good',
    assumed: '400 or 422 whose every code is in the table of final codes, on the first send and well before expiry',
    source: 'page 7: errors not shown; facts 7',
    changedBy: null,
    why: 'a code that is wrongly taken as final would give a payment up that was made; one that is missing only costs a look-up',
  },
  {
    name: 'money and permission',
    assumed: '402, 403 and CFG_ codes concern the whole run: it pauses and says why',
    source: 'facts 7: not to be repeated before the cause is fixed',
    changedBy: null,
    why: 'the next row would meet the same, so going on would only add unknown payouts',
  },
  {
    name: 'too many requests',
    assumed: '429 with Retry-After up to 5 minutes, anything unusable as 5 seconds; every worker waits',
    source: 'page 8: rate limits not shown; facts 7: neither 429 nor the header is documented',
    changedBy: 'PAYRUN_RATE, PAYRUN_TRACK_RATE (to stay below a limit)',
  },
  {
    name: 'server errors',
    assumed: 'a 5xx or a lost answer to a payment request says nothing about the payment',
    source: 'facts 7: the advice to repeat is general and not made for payment requests',
    changedBy: 'PAYRUN_REQUEST_TIMEOUT (how long an answer is awaited)',
  },
  {
    name: 'refused access token',
    assumed: '401 means that nothing was done; one new token is fetched, however many requests met it',
    source: 'page 7: behaviour not shown; facts 7 and 8',
    changedBy: null,
    why: 'one more token is all that can help; more of them would lock the credential',
  },
  {
    name: 'sharing the access token',
    assumed:
      'one token for all workers, in Redis encrypted only, gone before expires_in ends; `off` keeps it in each process’s memory until its end',
    source: 'page 5.7: caching is allowed within expires_in and advised against on the client',
    changedBy: 'PAYRUN_TOKEN_CACHE, PAYRUN_TOKEN_MARGIN',
  },
  {
    name: 'life of an access token',
    assumed: 'expires_in, else the exp claim, else 60 seconds; half of it where it is shorter than the margin',
    source: 'page 5.6: both carry the same end; facts 8: a token may arrive with less than an hour left',
    changedBy: 'PAYRUN_TOKEN_MARGIN',
  },
  {
    name: 'audience',
    assumed: 'urn:servicexcurrent-<environment>:<tenant id>',
    source: 'page 2.2',
    changedBy: 'PAYRUN_AUDIENCE',
  },
  {
    name: 'look-up',
    assumed:
      '200 with our payment is found; 404 with an error body of the service is "not found" and proves nothing by itself; all else says nothing',
    source: 'page 4: response not shown; facts 4 and 5: 404 USR_002, no statement on how soon a payment is visible',
    changedBy: 'PAYRUN_NOT_FOUND_GAP, PAYRUN_QUOTE_GRACE',
  },
  {
    name: 'payment states',
    assumed:
      'COMPLETED, FAILED, DECLINED and RETURNED are known ends, and COMPLETED may still become RETURNED; an unknown state stays accepted and is shown as it is',
    source: 'page 3: not shown; facts 4',
    changedBy: 'PAYRUN_TRACK_EVERY, PAYRUN_WATCH_RETURNS',
  },
  {
    name: 'following payments',
    assumed: 'by reading them; no event is expected',
    source: 'page 6: events not shown; facts 4: no more often than every 30 seconds',
    changedBy: 'PAYRUN_TRACK_EVERY, PAYRUN_TRACK_RATE',
  },
  {
    name: 'amounts in replies',
    assumed:
      'JSON numbers, read by their shortest decimal form; totals of fees and taxes are kept in the currencies that they name',
    source: 'facts 2 and 3',
    changedBy: null,
    why: 'any other reading changes money by rounding',
  },
  {
    name: 'dates of answers',
    assumed: 'the Date header in the form of RFC 9110; an answer without it never proves a quote dead',
    source: 'page 4: headers not shown; RFC 9110 sections 5.6.7 and 6.6.1',
    changedBy: null,
    why: 'without the service’s clock nobody knows whether its quote has ended, and a guess could pay twice',
  },
  {
    name: 'identities',
    assumed: 'the list may be incomplete and none at all is a 404, so absence from it refuses no row',
    source: 'page 4: shape not shown; facts 6',
    changedBy: null,
    why: 'a row that is refused because a list was short would stay unpaid for no reason',
  },
  {
    name: 'balance',
    assumed:
      'not asked for; where it is, balances[].availableBalance of the currency, shown beside what is needed and deciding nothing',
    source: 'page 4: no such operation; facts 5: public material has GET /v2/balances?currency',
    changedBy: 'PAYRUN_BALANCES',
  },
  {
    name: 'error bodies',
    assumed:
      'errors as an array or an object, flat, or OAuth’s; decided by code and status, never by a description; a body without code or type is not the service’s',
    source: 'page 7: not shown; facts 7',
    changedBy: null,
    why: 'descriptions are for people and change; a decision by them would change with them',
  },
];

/** How each capability is used, and what is lost without it. */
export const CAPABILITY_USES: Readonly<Record<Capability, string>> = {
  'payment-id-is-quote-id':
    'A payment is looked up by its quote’s id. Without it no look-up can find the payment of a lost answer, so no quote is ever proven dead.',
  'expired-quote-refused':
    'A quote past its end makes no payment any more. Without it a late request could still be paid, so no quote is ever proven dead.',
  'one-payment-per-quote':
    'A quote makes one payment at most, however often it is sent, so sending it again after a 401 or 429 is harmless even if the first request was carried out. Without it no quote is ever proven dead.',
  'payment-visible-in-time':
    'A payment is found by the look-up well within the grace after its quote’s end. Without it "not found" proves nothing, so no quote is ever proven dead.',
};

/** An error code after which a payment request will not succeed by being made again. */
export interface FinalCode {
  readonly code: string;
  readonly meaning: string;
  readonly source: string;
}

/**
 * The codes that are final for a payment request (architecture.md, "refused for good"). Only what is documented as a fault of
 * the identities or of the account that this request names: no repeat of a request and no expiry of a quote can be
 * answered with it. Left out on purpose: USR_001, USR_003 and USR_011, which may stand for an expired or used quote;
 * USR_002, USR_012 and USR_103, which are "not found"; USR_013 to USR_015, which speak of the quote; the 402 family and
 * CFG_, which concern the run; SYS_.
 */
export const FINAL_PAYMENT_CODES: readonly FinalCode[] = [
  { code: 'USR_101', meaning: 'bad identity request', source: 'facts 7, 400' },
  { code: 'USR_102', meaning: 'the identity id is not a UUID', source: 'facts 6 and 7, 400' },
  { code: 'USR_104', meaning: 'the identity is deactivated', source: 'facts 6 and 7, 422' },
  { code: 'USR_151', meaning: 'the beneficiary’s data are invalid', source: 'facts 7, 400' },
  { code: 'USR_152', meaning: 'the beneficiary’s names conflict', source: 'facts 7, 400' },
  { code: 'USR_166', meaning: 'the account number does not match', source: 'facts 7, 400' },
  { code: 'USR_169', meaning: 'the destination account was not found', source: 'facts 7, 400' },
];

/** Whether the code is in the table of final codes. */
export function isFinalPaymentCode(code: string | null): boolean {
  return FINAL_PAYMENT_CODES.some((final) => final.code === code);
}
