import { z } from 'zod';
import { AMOUNT_MAX_UNITS, AMOUNT_MIN_UNITS, digitsOf, type Money } from '../../money.ts';
import { AMOUNT_TYPES } from '../../payout.ts';
import { answering, type Decision, jsonAnswer } from '../answers.ts';
import { descriptionsOf, type ErrorCode, errorAnswer } from '../errors.ts';
import type { Switches } from '../faults/switches.ts';
import { type Call, clientOf } from '../realm.ts';
import { type Quote, quoteBody } from './quotes.ts';
import { type Terms, type TermsRequest, termsOf } from './rates.ts';

const QUOTE_AMOUNT_MAX = 100_000_000;

/** Documented pay-out categories, and pay-in categories with the two deprecated ones. */
const PAYOUT_CATEGORIES = ['BANK', 'CRYPTO', 'EWALLET', 'CASH_PICKUP', 'ATM'];
const PAYIN_CATEGORIES = ['PRE_FUNDING', 'CREDIT_FUNDING', 'JIT_FUNDING', 'FUNDED', 'T_PLUS_ONE'];

const category = z.string().min(1).max(128);
const country = z
  .string()
  .regex(/^[a-zA-Z]{2}$/)
  .toUpperCase();
const currency = z
  .string()
  .regex(/^[a-zA-Z]{3,5}$/, { abort: true })
  .toUpperCase()
  .refine((code) => digitsOf(code) !== undefined, { error: 'is no currency that this service knows' });

/** The request as the service documents it. */
const quoteRequest = z.strictObject({
  quoteAmount: z.number().min(1).max(QUOTE_AMOUNT_MAX),
  quoteAmountType: z.enum(AMOUNT_TYPES),
  sourceCurrency: currency,
  destinationCurrency: currency,
  payoutCategory: category,
  payinCategory: category,
  sourceCountry: country.optional(),
  destinationCountry: country.optional(),
  destinationBlockchainNetwork: z.string().min(1).max(20).optional(),
});

/**
 * `POST /v2/quotes/quote-collection`: 201 with one quote, or as many as switched. 400 for a body that breaks the schema, an
 * unknown category, and terms of which an amount is outside 1 to 100,000,000.
 */
export function decideQuotes(call: Call, body: unknown): Decision {
  const { random, switches } = call;
  const refuse = (code: ErrorCode, ...descriptions: string[]) =>
    answering(errorAnswer({ code, descriptions, now: call.now }));

  const parsed = quoteRequest.safeParse(body);
  if (!parsed.success) return refuse('USR_001', ...descriptionsOf(parsed.error));
  const { quoteAmount, quoteAmountType, sourceCurrency, destinationCurrency, ...echoed } = parsed.data;
  if (!PAYOUT_CATEGORIES.includes(echoed.payoutCategory)) {
    return refuse('USR_015', `payoutCategory: one of ${PAYOUT_CATEGORIES.join(', ')}`);
  }
  if (!PAYIN_CATEGORIES.includes(echoed.payinCategory)) {
    return refuse('USR_014', `payinCategory: one of ${PAYIN_CATEGORIES.join(', ')}`);
  }
  const request = { amount: quoteAmount, amountType: quoteAmountType, sourceCurrency, destinationCurrency };
  const terms = termsOf(call.strikes('quoteOtherAmount') ? otherAmount(request) : request);
  const outside = amountFault(terms);
  if (outside !== undefined) return refuse(...outside);
  if (switches.emptyQuotes) {
    return answering(jsonAnswer(201, { quoteCollectionId: random.uuid(), quotes: [] }));
  }

  const made = (of: Terms, lifeMs: number): Quote => ({
    quoteId: freshQuoteId(call),
    clientId: clientOf(call),
    amountType: quoteAmountType,
    ...of,
    fees: [...of.fees],
    ...echoed,
    createdAt: call.now,
    expiresAt: switches.quoteWithoutExpiry ? null : call.now + lifeMs,
  });
  const fresh = dearer(call, made(terms, call.strikes('quoteExpired') ? 0 : switches.quoteLifeMs));
  const again = switches.sameQuoteForEqualRequests ? call.realm.quotes.findEqual(fresh) : undefined;
  const quotes = [...(call.strikes('quoteSeveral') ? wrongQuotes(request, made, switches) : []), again ?? fresh];
  return {
    commit() {
      for (const quote of quotes) if (quote !== again) call.realm.quotes.add(quote);
    },
    answer: () =>
      jsonAnswer(201, {
        quoteCollectionId: random.uuid(),
        quotes: quotes.map((quote) => quoteBody(quote, switches)),
      }),
  };
}

/** Quotes that a client must not take: expired, in another currency, for another amount. The service would pay the last two. */
function wrongQuotes(
  request: TermsRequest,
  made: (terms: Terms, lifeMs: number) => Quote,
  { quoteLifeMs }: Switches,
): Quote[] {
  const destinationCurrency = request.destinationCurrency === 'EUR' ? 'GBP' : 'EUR';
  const expired = made(termsOf(request), 0);
  return [
    { ...expired, expiresAt: expired.createdAt },
    made(termsOf({ ...request, destinationCurrency }), quoteLifeMs),
    made(termsOf(otherAmount(request)), quoteLifeMs),
  ];
}

function otherAmount(request: TermsRequest): TermsRequest {
  return { ...request, amount: request.amount + 1 };
}

/** The quote with what the switches add to its cost. */
function dearer({ strikes }: Call, quote: Quote): Quote {
  const { source } = quote;
  const surcharge = {
    name: 'Surcharge',
    description: 'Ten times the amount',
    amount: { ...source, minor: 10n * source.minor },
  };
  const tax = { name: 'Transfer tax', description: '1 %', amount: { ...source, minor: source.minor / 100n } };
  return {
    ...quote,
    ...(strikes('quoteCostly') ? { fees: [...quote.fees, surcharge] } : {}),
    ...(strikes('quoteTaxed') ? { taxes: [tax] } : {}),
  };
}

/** An injected source of chance may begin anew on a folder that holds its ids already. */
function freshQuoteId({ random, realm }: Call): string {
  for (;;) {
    const quoteId = random.uuid();
    if (realm.quotes.find(quoteId) === undefined) return quoteId;
  }
}

function amountFault({ source, destination }: Terms): [ErrorCode, string] | undefined {
  if (below(source) || below(destination)) return ['USR_013', 'an amount of the quote would be below 1'];
  if (above(source) || above(destination)) return ['USR_001', 'an amount of the quote would be above 100000000'];
  return undefined;
}

function below(money: Money): boolean {
  return money.minor < AMOUNT_MIN_UNITS * unitOf(money);
}

function above(money: Money): boolean {
  return money.minor > AMOUNT_MAX_UNITS * unitOf(money);
}

function unitOf(money: Money): bigint {
  return 10n ** BigInt(digitsOf(money.currency) ?? 0);
}
