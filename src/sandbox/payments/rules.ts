import { z } from 'zod';
import { SOURCES_OF_CASH } from '../../payout.ts';
import { answering, type Decision, jsonAnswer } from '../answers.ts';
import { descriptionsOf, type ErrorCode, errorAnswer } from '../errors.ts';
import type { Switches } from '../faults/switches.ts';
import type { IdentityType } from '../identities.ts';
import type { Quote } from '../quotes/quotes.ts';
import { type Call, clientOf } from '../realm.ts';
import { initialState, paymentStateAt } from './lifecycle.ts';
import { type Payment, paymentBody } from './payments.ts';

const INTERNAL_ID_CHARS_MAX = 36;
const LABELS_MAX = 10;
const LABEL_CHARS_MAX = 100;
const MEMO_CHARS_MAX = 1000;

const QUOTE_USED = 'the quote has been used';

const uuid = z.guid().toLowerCase();

/** The request of interface page, section 2.5, with the further fields that the service documents. */
const paymentRequest = z.strictObject({
  quoteId: uuid,
  beneficiaryIdentityId: uuid,
  originatorIdentityId: uuid.optional(),
  internalId: z.string().max(INTERNAL_ID_CHARS_MAX).optional(),
  /** A code word; the allowed values are not shown. */
  purposeCode: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,35}$/)
    .optional(),
  sourceOfCash: z.enum(SOURCES_OF_CASH).optional(),
  paymentLabels: z.array(z.string().max(LABEL_CHARS_MAX)).max(LABELS_MAX).optional(),
  paymentMemo: z.string().max(MEMO_CHARS_MAX).optional(),
});
type PaymentRequest = z.output<typeof paymentRequest>;

/**
 * `POST /v2/payments`: 201 with the payment that executes the quote; at most one payment a quote unless switched. Our
 * choices, for no code is known: 400 USR_003 for an expired quote, 400 USR_101 for an identity that is not there or of
 * the other type.
 */
export function decidePayments(call: Call, body: unknown): Decision {
  const { realm, switches, now } = call;
  const parsed = paymentRequest.safeParse(body);
  if (!parsed.success) return refusing(call, 'USR_001', ...descriptionsOf(parsed.error));
  const request = parsed.data;

  const made = realm.payments.ofQuote(request.quoteId);
  if (made !== undefined && !switches.paysQuoteTwice) return REPEATED[switches.repeatedQuote](call, made);
  const quote = realm.quotes.find(request.quoteId);
  if (quote === undefined) return refusing(call, 'USR_011', `no quote has the id ${request.quoteId}`);
  if (quote.expiresAt !== null && now >= quote.expiresAt && !switches.takesExpiredQuotes) {
    return refusing(call, 'USR_003', 'the quote has expired');
  }
  const strangers = identityFaults(call, request);
  if (strangers.length > 0) return refusing(call, 'USR_101', ...strangers);

  const payment = paymentOf(call, request, quote);
  return {
    commit() {
      if (switches.acceptsAnyIdentity) registerIdentities(call, request);
      realm.payments.add(payment);
    },
    answer: () => jsonAnswer(201, paymentBody(payment, initialState(now), switches)),
  };
}

/** The answers that a used quote may get. */
const REPEATED: Readonly<Record<Switches['repeatedQuote'], (call: Call, made: Payment) => Decision>> = {
  'replay-201': (call, made) => answering(jsonAnswer(201, shownPayment(call, made))),
  '400': (call) => refusing(call, 'USR_003', QUOTE_USED),
  '404': (call) => refusing(call, 'USR_011', QUOTE_USED),
  '409': ({ now }) => answering(errorAnswer({ code: 'USR_003', descriptions: [QUOTE_USED], now, status: 409 })),
};

/** `GET /v2/payments/{payment_id}`: 200, 400 for what is no UUID, 404 USR_002 (also for one that may not be seen). */
export function decidePayment(call: Call, id: string): Decision {
  const paymentId = uuid.safeParse(id);
  if (!paymentId.success) return refusing(call, 'USR_001', 'the payment id is no UUID');
  const payment = call.realm.payments.find(paymentId.data);
  if (payment === undefined || !isVisible(call, payment)) {
    return refusing(call, 'USR_002', `no payment has the id ${paymentId.data}`);
  }
  return answering(jsonAnswer(200, shownPayment(call, payment)));
}

function isVisible(call: Call, { initiatedAt, clientId }: Payment): boolean {
  const { now, switches } = call;
  const isTheirs = switches.paymentsVisibleTo === 'all' || clientId === clientOf(call);
  return isTheirs && now >= initiatedAt + switches.visibilityDelayMs;
}

function shownPayment({ now, switches }: Call, payment: Payment): object {
  return paymentBody(payment, paymentStateAt(payment, now, switches), switches);
}

function identityFaults(call: Call, request: PaymentRequest): string[] {
  return namedIdentities(request).flatMap(({ field, identityId, identityType }) => {
    const identity = call.realm.identities.find(identityId);
    if (identity === undefined) return call.switches.acceptsAnyIdentity ? [] : [`${field}: no such identity`];
    return identity.identityType === identityType ? [] : [`${field}: not an identity of type ${identityType}`];
  });
}

function registerIdentities(call: Call, request: PaymentRequest): void {
  const strangers = namedIdentities(request).filter(
    ({ identityId }) => call.realm.identities.find(identityId) === undefined,
  );
  call.realm.identities.add(strangers);
}

function namedIdentities({ beneficiaryIdentityId, originatorIdentityId }: PaymentRequest): {
  field: string;
  identityId: string;
  identityType: IdentityType;
}[] {
  const beneficiary = {
    field: 'beneficiaryIdentityId',
    identityId: beneficiaryIdentityId,
    identityType: 'BENEFICIARY' as const,
  };
  if (originatorIdentityId === undefined) return [beneficiary];
  return [beneficiary, { field: 'originatorIdentityId', identityId: originatorIdentityId, identityType: 'ORIGINATOR' }];
}

function paymentOf(call: Call, request: PaymentRequest, quote: Quote): Payment {
  const { quoteId, ...asked } = request;
  const { source, destination, destinationCountry, rate, fees, taxes } = quote;
  const finalState = call.strikes('endsFailed') ? 'FAILED' : call.strikes('endsReturned') ? 'RETURNED' : undefined;
  return {
    ...(call.strikes('otherPaymentIds') ? { paymentId: call.random.uuid(), quoteId } : { paymentId: quoteId }),
    clientId: clientOf(call),
    ...asked,
    source,
    destination,
    destinationCountry,
    rate,
    fees,
    taxes,
    finalState,
    initiatedAt: call.now,
  };
}

function refusing(call: Call, code: ErrorCode, ...descriptions: string[]): Decision {
  return answering(errorAnswer({ code, descriptions, now: call.now }));
}
