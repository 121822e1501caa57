/** Why payouts wait or were not paid, by the code of their reason. */
export const REASONS: Readonly<Record<string, string>> = {
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
