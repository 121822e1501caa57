import type { Operation } from '../operations.ts';

/** What the sender of a request sees in place of the answer. */
const EFFECTS = {
  reset: 'the connection is reset',
  'half-open': 'the service closes its side of the connection without an answer and keeps the other open',
  silence: 'no answer at all',
  'error-500': '500',
  'error-502': '502',
  'error-503': '503',
  'error-504': '504',
  'html-200': 'a page of HTML with 200',
  'html-201': 'a page of HTML with 201',
  'html-502': 'a page of HTML with 502',
  empty: 'the right status without a body',
  'cut-length': 'a body cut in its middle, framed by Content-Length',
  'cut-chunked': 'a body cut in its middle, framed in chunks',
  'cut-close': 'a body cut in its middle, framed by the end of the connection',
  drip: 'the body arrives a byte every `dripMs`',
  'too-many': '429 with `retryAfter`',
  unauthorised: '401',
  forbidden: '403, as for a token without the scope',
  'payment-required': '402 with `paymentRequiredCode`',
  'bad-request': '400 USR_001',
  'refused-for-good': '400 USR_169, the account was not found',
  'bare-404': '404 without an error body',
  'redirect-307': '307 to `redirectTo`',
  'redirect-308': '308 to `redirectTo`',
  'no-quotes': 'an empty collection',
  'other-id': 'the payment with another id',
  'other-amount': 'the payment with other amounts',
  'other-beneficiary': 'the payment with another beneficiary',
  'earlier-state': 'the payment as INITIATED again',
  'unknown-state': 'the payment in a state that nobody knows',
} as const;
export type Effect = keyof typeof EFFECTS;

/** When a fault strikes. `late` commits `lateCommitMs` after it has failed its sender, `twice` carries the request out again. */
type Moment = 'before-commit' | 'after-commit' | 'late' | 'twice';

interface WireRow {
  /** The switch that holds its probability. */
  readonly name: string;
  readonly on: Operation;
  readonly at: Moment;
  /** Null leaves the answer as it is. */
  readonly effect: Effect | null;
}

/** Faults that strike a request on its way. The first row whose lot is drawn is the one that happens. */
export const WIRE_FAULTS = [
  { name: 'dropBeforeCommit', on: 'payments', at: 'before-commit', effect: 'reset' },
  { name: 'dropAfterCommit', on: 'payments', at: 'after-commit', effect: 'reset' },
  { name: 'halfOpenBeforeCommit', on: 'payments', at: 'before-commit', effect: 'half-open' },
  { name: 'halfOpenAfterCommit', on: 'payments', at: 'after-commit', effect: 'half-open' },
  { name: 'timeoutBeforeCommit', on: 'payments', at: 'before-commit', effect: 'silence' },
  { name: 'timeoutAfterCommit', on: 'payments', at: 'after-commit', effect: 'silence' },
  { name: 'lateCommit', on: 'payments', at: 'late', effect: 'silence' },
  { name: 'lateCommitAfterDrop', on: 'payments', at: 'late', effect: 'reset' },
  { name: 'error500BeforeCommit', on: 'payments', at: 'before-commit', effect: 'error-500' },
  { name: 'error500AfterCommit', on: 'payments', at: 'after-commit', effect: 'error-500' },
  { name: 'error502BeforeCommit', on: 'payments', at: 'before-commit', effect: 'error-502' },
  { name: 'error502AfterCommit', on: 'payments', at: 'after-commit', effect: 'error-502' },
  { name: 'error503BeforeCommit', on: 'payments', at: 'before-commit', effect: 'error-503' },
  { name: 'error503AfterCommit', on: 'payments', at: 'after-commit', effect: 'error-503' },
  { name: 'error504BeforeCommit', on: 'payments', at: 'before-commit', effect: 'error-504' },
  { name: 'error504AfterCommit', on: 'payments', at: 'after-commit', effect: 'error-504' },
  { name: 'html502BeforeCommit', on: 'payments', at: 'before-commit', effect: 'html-502' },
  { name: 'html502AfterCommit', on: 'payments', at: 'after-commit', effect: 'html-502' },
  { name: 'html200AfterCommit', on: 'payments', at: 'after-commit', effect: 'html-200' },
  { name: 'html201AfterCommit', on: 'payments', at: 'after-commit', effect: 'html-201' },
  { name: 'emptyAfterCommit', on: 'payments', at: 'after-commit', effect: 'empty' },
  { name: 'cutLengthAfterCommit', on: 'payments', at: 'after-commit', effect: 'cut-length' },
  { name: 'cutChunkedAfterCommit', on: 'payments', at: 'after-commit', effect: 'cut-chunked' },
  { name: 'cutCloseAfterCommit', on: 'payments', at: 'after-commit', effect: 'cut-close' },
  { name: 'dripAfterCommit', on: 'payments', at: 'after-commit', effect: 'drip' },
  { name: 'tooMany', on: 'payments', at: 'before-commit', effect: 'too-many' },
  { name: 'tooManyAfterCommit', on: 'payments', at: 'after-commit', effect: 'too-many' },
  { name: 'unauthorised', on: 'payments', at: 'before-commit', effect: 'unauthorised' },
  { name: 'unauthorisedAfterCommit', on: 'payments', at: 'after-commit', effect: 'unauthorised' },
  { name: 'badRequest', on: 'payments', at: 'before-commit', effect: 'bad-request' },
  { name: 'badRequestAfterCommit', on: 'payments', at: 'after-commit', effect: 'bad-request' },
  { name: 'refused', on: 'payments', at: 'before-commit', effect: 'refused-for-good' },
  { name: 'refusedAfterCommit', on: 'payments', at: 'after-commit', effect: 'refused-for-good' },
  { name: 'paymentRequired', on: 'payments', at: 'before-commit', effect: 'payment-required' },
  { name: 'forbidden', on: 'payments', at: 'before-commit', effect: 'forbidden' },
  { name: 'redirect307', on: 'payments', at: 'before-commit', effect: 'redirect-307' },
  { name: 'redirect308', on: 'payments', at: 'before-commit', effect: 'redirect-308' },
  { name: 'gatewayDoubles', on: 'payments', at: 'twice', effect: null },

  { name: 'lookUpDrop', on: 'payment', at: 'before-commit', effect: 'reset' },
  { name: 'lookUpHalfOpen', on: 'payment', at: 'before-commit', effect: 'half-open' },
  { name: 'lookUpTimeout', on: 'payment', at: 'before-commit', effect: 'silence' },
  { name: 'lookUpError500', on: 'payment', at: 'before-commit', effect: 'error-500' },
  { name: 'lookUpError502', on: 'payment', at: 'before-commit', effect: 'error-502' },
  { name: 'lookUpError503', on: 'payment', at: 'before-commit', effect: 'error-503' },
  { name: 'lookUpError504', on: 'payment', at: 'before-commit', effect: 'error-504' },
  { name: 'lookUpHtml', on: 'payment', at: 'before-commit', effect: 'html-200' },
  { name: 'lookUpEmpty', on: 'payment', at: 'after-commit', effect: 'empty' },
  { name: 'lookUpCut', on: 'payment', at: 'after-commit', effect: 'cut-length' },
  { name: 'lookUpDrip', on: 'payment', at: 'after-commit', effect: 'drip' },
  { name: 'lookUpTooMany', on: 'payment', at: 'before-commit', effect: 'too-many' },
  { name: 'lookUpUnauthorised', on: 'payment', at: 'before-commit', effect: 'unauthorised' },
  { name: 'lookUpForbidden', on: 'payment', at: 'before-commit', effect: 'forbidden' },
  { name: 'lookUpBadRequest', on: 'payment', at: 'before-commit', effect: 'bad-request' },
  { name: 'lookUpBareNotFound', on: 'payment', at: 'before-commit', effect: 'bare-404' },
  { name: 'lookUpRedirect', on: 'payment', at: 'before-commit', effect: 'redirect-307' },
  { name: 'lookUpOtherId', on: 'payment', at: 'after-commit', effect: 'other-id' },
  { name: 'lookUpOtherAmount', on: 'payment', at: 'after-commit', effect: 'other-amount' },
  { name: 'lookUpOtherBeneficiary', on: 'payment', at: 'after-commit', effect: 'other-beneficiary' },
  { name: 'lookUpEarlierState', on: 'payment', at: 'after-commit', effect: 'earlier-state' },
  { name: 'lookUpUnknownState', on: 'payment', at: 'after-commit', effect: 'unknown-state' },

  { name: 'quoteFails', on: 'quotes', at: 'before-commit', effect: 'error-500' },
  { name: 'quoteEmpty', on: 'quotes', at: 'before-commit', effect: 'no-quotes' },
  { name: 'quoteDrop', on: 'quotes', at: 'before-commit', effect: 'reset' },
  { name: 'quoteTimeout', on: 'quotes', at: 'before-commit', effect: 'silence' },
  { name: 'quoteError503', on: 'quotes', at: 'before-commit', effect: 'error-503' },
  { name: 'quoteHtml', on: 'quotes', at: 'before-commit', effect: 'html-200' },
  { name: 'quoteCut', on: 'quotes', at: 'after-commit', effect: 'cut-length' },
  { name: 'quoteDrip', on: 'quotes', at: 'after-commit', effect: 'drip' },
  { name: 'quoteTooMany', on: 'quotes', at: 'before-commit', effect: 'too-many' },
  { name: 'quoteUnauthorised', on: 'quotes', at: 'before-commit', effect: 'unauthorised' },
  { name: 'quoteForbidden', on: 'quotes', at: 'before-commit', effect: 'forbidden' },
  { name: 'quotePaymentRequired', on: 'quotes', at: 'before-commit', effect: 'payment-required' },
  { name: 'quoteRefused', on: 'quotes', at: 'before-commit', effect: 'bad-request' },
  { name: 'quoteRedirect', on: 'quotes', at: 'before-commit', effect: 'redirect-307' },

  { name: 'tokenFails', on: 'token', at: 'before-commit', effect: 'error-500' },
  { name: 'tokenDrop', on: 'token', at: 'before-commit', effect: 'reset' },
  { name: 'tokenTimeout', on: 'token', at: 'before-commit', effect: 'silence' },
  { name: 'tokenHtml', on: 'token', at: 'before-commit', effect: 'html-200' },
  { name: 'tokenDrip', on: 'token', at: 'after-commit', effect: 'drip' },
  { name: 'tokenTooMany', on: 'token', at: 'before-commit', effect: 'too-many' },
  { name: 'tokenForbidden', on: 'token', at: 'before-commit', effect: 'forbidden' },
  { name: 'tokenRedirect', on: 'token', at: 'before-commit', effect: 'redirect-307' },
] as const satisfies readonly WireRow[];

interface RuleRow {
  readonly name: string;
  readonly on: Operation;
  readonly meaning: string;
}

/** Faults of the service's own doing: what its rules decide otherwise than they should. */
export const RULE_FAULTS = [
  { name: 'otherPaymentIds', on: 'payments', meaning: 'the payment gets another id than its quote' },
  { name: 'endsFailed', on: 'payments', meaning: 'the payment will end FAILED with `failureCode`' },
  { name: 'endsReturned', on: 'payments', meaning: 'the payment will end RETURNED after COMPLETED' },
  { name: 'quoteExpired', on: 'quotes', meaning: 'the quote has expired when it arrives' },
  { name: 'quoteOtherAmount', on: 'quotes', meaning: 'the quote is for another amount' },
  {
    name: 'quoteSeveral',
    on: 'quotes',
    meaning: 'before the right quote come an expired one, one in another currency and one for another amount',
  },
  { name: 'quoteCostly', on: 'quotes', meaning: 'the fees are ten times the amount' },
  { name: 'quoteTaxed', on: 'quotes', meaning: 'a tax of 1 % is added' },
] as const satisfies readonly RuleRow[];

export type WireFault = (typeof WIRE_FAULTS)[number];
export type RuleFaultName = (typeof RULE_FAULTS)[number]['name'];
export type FaultName = WireFault['name'] | RuleFaultName;

const SUBJECTS: Readonly<Record<Operation, string>> = {
  token: 'Access token',
  tokenTest: 'Token test',
  quotes: 'Quotes',
  identities: 'Identities',
  payments: 'Create payment',
  payment: 'Look-up',
  balances: 'Balances',
};

/** What becomes of the payment, where one was asked for. */
const CONSEQUENCES: Readonly<Record<Moment, string>> = {
  'before-commit': 'nothing is paid',
  'after-commit': 'the payment is made',
  late: 'the payment is made `lateCommitMs` later, if its quote can be paid by then',
  twice: 'the gateway hands the request in twice, and the second answer counts',
};

/** Every fault's switch with what it does, in one line. */
export const FAULT_MEANINGS: readonly { readonly name: FaultName; readonly meaning: string }[] = [
  ...WIRE_FAULTS.map((row) => ({ name: row.name, meaning: meaningOf(row) })),
  ...RULE_FAULTS.map(({ name, on, meaning }) => ({ name, meaning: `${SUBJECTS[on]}: ${meaning}.` })),
];

function meaningOf({ on, at, effect }: Omit<WireRow, 'name'>): string {
  const parts = [...(effect === null ? [] : [EFFECTS[effect]]), ...(on === 'payments' ? [CONSEQUENCES[at]] : [])];
  return `${SUBJECTS[on]}: ${parts.join('; ')}.`;
}
