import { randomUUID } from 'node:crypto';
import {
  type AnswerHandler,
  type Answering,
  type AnsweringServer,
  type ReceivedRequest,
  type ReplyOptions,
  startAnsweringServer,
} from './answering-server.ts';

export interface QuoteRequest {
  readonly quoteAmount: number;
  readonly quoteAmountType: string;
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
}

export interface PaymentRequest {
  readonly quoteId: string;
  readonly beneficiaryIdentityId: string;
  readonly internalId: string;
}

export type Json = Record<string, unknown>;

/** How long a quote lives, by the service's clock. */
export const QUOTE_LIFE_MS = 20_000;

/**
 * A payments service that behaves well until a test gives it another way to answer. It pays a quote each time that it
 * commits one, so that paying twice shows in its book.
 */
export interface ScriptedService {
  readonly server: AnsweringServer;
  onToken: AnswerHandler;
  onQuote: AnswerHandler;
  onPay: AnswerHandler;
  onLookUp: AnswerHandler;
  /** Payments made, by the order of making. */
  readonly book: Json[];
  /** Requests so far. */
  payments(): PaymentRequest[];
  quotes(): number;
  lookUps(): string[];
  tokens(): number;
  /** The service's clock: ours, and what passed since. */
  now(): number;
  passTime(ms: number): void;
  /** A reply that carries the service's own date. */
  reply(answering: Answering, options: ReplyOptions): void;
  /** The good quote for a request, with changes. */
  quoteOf(request: ReceivedRequest, changes?: Json): Json;
  /** Makes the payment that a request asks for. */
  commit(request: ReceivedRequest, changes?: Json): Json;
  close(): Promise<void>;
}

/** An error body of the service. */
export function errorBody(code: string, status = 400): Json {
  return { status, errors: [{ code, type: 'USER_ERROR', title: `the title of ${code}` }] };
}

export async function startScriptedService(): Promise<ScriptedService> {
  const given = new Map<string, QuoteRequest>();
  let passedMs = 0;
  let tokensGiven = 0;
  const server = await startAnsweringServer((request, answering) => {
    if (request.path.endsWith('/v2/oauth/token')) return service.onToken(request, answering);
    if (request.path.endsWith('/v2/quotes/quote-collection')) return service.onQuote(request, answering);
    return request.method === 'POST' ? service.onPay(request, answering) : service.onLookUp(request, answering);
  });
  const service: ScriptedService = {
    server,
    book: [],
    onToken(_request, answering) {
      tokensGiven += 1;
      service.reply(answering, { json: { access_token: `token-${tokensGiven}`, expires_in: 3600 } });
    },
    onQuote(request, answering) {
      service.reply(answering, { status: 201, json: { quotes: [service.quoteOf(request)] } });
    },
    onPay(request, answering) {
      service.reply(answering, { status: 201, json: service.commit(request) });
    },
    onLookUp(request, answering) {
      const id = idOf(request);
      const payment = service.book.find(({ paymentId }) => paymentId === id);
      if (payment === undefined) service.reply(answering, { status: 404, json: errorBody('USR_002', 404) });
      else service.reply(answering, { json: payment });
    },
    payments: () => server.to('POST', '/v2/payments').map(({ body }) => JSON.parse(body) as PaymentRequest),
    quotes: () => server.to('POST', '/v2/quotes/quote-collection').length,
    lookUps: () => server.requests.filter(({ method }) => method === 'GET').map(idOf),
    tokens: () => server.to('POST', '/v2/oauth/token').length,
    now: () => Date.now() + passedMs,
    passTime(ms) {
      passedMs += ms;
    },
    reply(answering, { headers, ...options }) {
      answering.reply({ ...options, headers: { date: new Date(service.now()).toUTCString(), ...headers } });
    },
    quoteOf({ body }, changes = {}) {
      const asked = JSON.parse(body) as QuoteRequest;
      const quoteId = typeof changes['quoteId'] === 'string' ? changes['quoteId'] : randomUUID();
      given.set(quoteId, asked);
      const { quoteAmount, quoteAmountType, sourceCurrency, destinationCurrency } = asked;
      const isSource = quoteAmountType === 'SOURCE_AMOUNT';
      return {
        quoteId,
        quoteStatus: 'ACTIVE',
        sourceCurrency,
        destinationCurrency,
        sourceAmount: isSource ? quoteAmount : 77,
        destinationAmount: isSource ? 2438.19 : quoteAmount,
        adjustedExchangeRate: { adjustedRate: 19.75 },
        fees: [{ totalFee: 2.5, feeCurrency: sourceCurrency }],
        expiresAt: new Date(service.now() + QUOTE_LIFE_MS).toISOString(),
        ...changes,
      };
    },
    commit({ body }, changes = {}) {
      const asked = JSON.parse(body) as PaymentRequest;
      const payment = { ...paymentOf(asked, given.get(asked.quoteId)), ...changes };
      service.book.push(payment);
      return payment;
    },
    close: () => server.close(),
  };
  return service;
}

function idOf({ path }: ReceivedRequest): string {
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
}

function paymentOf({ quoteId, internalId, beneficiaryIdentityId }: PaymentRequest, quote?: QuoteRequest): Json {
  const isSource = quote?.quoteAmountType === 'SOURCE_AMOUNT';
  return {
    paymentId: quoteId,
    paymentState: 'INITIATED',
    originator: {
      internalId,
      sourceCurrency: quote?.sourceCurrency,
      sourceAmount: isSource ? quote.quoteAmount : 77,
    },
    destination: {
      beneficiaryIdentityId,
      destinationCurrency: quote?.destinationCurrency,
      destinationAmount: isSource ? 2438.19 : quote?.quoteAmount,
    },
  };
}
