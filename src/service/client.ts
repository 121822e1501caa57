import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Pool } from 'undici';
import type { Clock, Random } from '../clock.ts';
import type { ServiceSettings } from '../config/config.ts';
import type { Log } from '../log.ts';
import { withoutTrailing } from '../trailing.ts';
import { type Answer, notSent } from './answer.ts';
import type { Answering } from './answering.ts';
import { type Brake, retryAfterMs } from './brake.ts';
import { type ClockDifference, openClockDifference } from './clock-difference.ts';
import { openConnector, openPool } from './connection.ts';
import { type Exchange, type ExchangeLimits, exchange } from './exchange.ts';
import { openOutage } from './outage.ts';
import { openPlaces } from './places.ts';
import { isTokenAnswer, openTokens, type TokenStore, type Tokens } from './token.ts';
import { openSeal } from './token-seal.ts';

export interface ServiceOptions {
  readonly settings: ServiceSettings;
  /** Stands for the address in the fingerprint where the address changes from start to start (a sandbox's port). */
  readonly addressName?: string;
  /**
   * Where all processes share one access token. Null (PAYRUN_TOKEN_CACHE=off) keeps it in this process's memory, and
   * there only until its end: the interface page advises clients against more (section 5).
   */
  readonly tokenStore: TokenStore | null;
  readonly tokenMarginMs: number;
  readonly brake: Brake;
  readonly requestTimeoutMs: number;
  /** Quotes and payments under way at a time. */
  readonly concurrency: number;
  /** Payments among them, which wait for no place; as many as `concurrency` unless given. */
  readonly paymentsMax?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of each exchange with the service, for figures. */
  readonly observe?: ObserveCall;
  /** Told of each answer, for the rate. */
  readonly saw?: ((operation: Operation, answer: Answer) => void) | undefined;
  /** Told of each exchange, to know whether the service answers. */
  readonly answering?: Answering;
  readonly userAgent: string;
}

/** One exchange as figures count it: nothing of what was asked or answered. */
export interface ServiceCall {
  readonly operation: Operation;
  readonly answer: 'not-sent' | 'lost' | `${number}xx`;
  /** From before it was sent to the end of its answer. */
  readonly ms: number;
}

export type Operation = 'token' | 'token test' | 'quote' | 'payment' | 'look-up' | 'identities' | 'balance';
export type ObserveCall = (call: ServiceCall) => void;

export interface PaymentSending {
  /** The request leaves before this moment of `clock.monotonic()`, or never. */
  readonly sendBefore: number;
  /** Runs immediately before the first byte leaves. */
  readonly onSent?: () => void;
}

/**
 * The payments service. Whatever comes of a request is an Answer. Every operation but `createPayment` waits while the
 * brake is on or the service is away, fetches a token if need be (throws TokenRefused or TokenUnavailable, and what the token store throws) and
 * meets a 401 with one new token and one more try.
 */
export interface Service {
  /** Of the credentials: 16 hexadecimal digits over address, tenant and client id. */
  readonly fingerprint: string;
  /** Makes sure that this process holds a token good for a payment request; to be called before arming. */
  ready(): Promise<void>;
  /** Whether the service has not answered lately: one request at a time tries whether it is back. */
  isAway(): boolean;
  /** By how much its clock was seen to differ from ours, over its latest answers; milliseconds. */
  clockDifferenceMs(): number;
  /** `body` from quoteBody. */
  quote(body: string): Promise<Answer>;
  /** Sends `body`, from paymentBody, at most once. Never waits for a token and never throws. */
  createPayment(body: string, sending: PaymentSending): Promise<Answer>;
  readPayment(paymentId: string): Promise<Answer>;
  listIdentities(type: 'BENEFICIARY' | 'ORIGINATOR', nickName?: string): Promise<Answer>;
  /** Not on the interface page: only where PAYRUN_BALANCES says that it may be asked. */
  readBalance(currency: string): Promise<Answer>;
  testToken(): Promise<Answer>;
  /** Waits for what is in flight; what begins afterwards is `not-sent`. */
  close(): Promise<void>;
}

interface Call {
  /** For the log. */
  readonly operation: Operation;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: string | null;
  readonly token?: string;
}

/** One token request: time to send it, and time for the answer where the limit of all requests is no shorter. */
const TOKEN_SEND_MS = 5 * 1000;
const TOKEN_ANSWER_MS = 10 * 1000;
/** Those who waited out a pause start again spread over this long. */
const RESTART_SPREAD_MS = 250;

/** First 16 hexadecimal digits of the SHA-256 of the credentials' address, tenant and client id (architecture.md, rule 8). */
export function fingerprintOf(settings: ServiceSettings, addressName?: string): string {
  const credentials = JSON.stringify([addressName ?? settings.url, settings.tenantId, settings.clientId]);
  return createHash('sha256').update(credentials).digest('hex').slice(0, 16);
}

/** Opens the client of the payments service. Nothing is sent before the first call. */
export function openService(options: ServiceOptions): Service {
  const { settings, clock, random, brake, concurrency, requestTimeoutMs } = options;
  const tokenAnswerMs = Math.min(TOKEN_ANSWER_MS, requestTimeoutMs);
  const closing = new AbortController();
  // Each request that waits for a service that is away listens.
  setMaxListeners(0, closing.signal);
  const outage = openOutage({ clock, random, log: options.log, signal: closing.signal });
  const wire = openWire(options);
  const places = openPlaces(concurrency);
  // Payments have a pool of their own: no other request ever holds a connection that one of them needs.
  const connect = openConnector(settings);
  const payments = openPool(settings.url, options.paymentsMax ?? concurrency, connect);
  const others = openPool(settings.url, concurrency, connect);
  const tokens: Tokens = openTokens({
    ask: () => wire.send(others, tokenCall(settings), within(clock, TOKEN_SEND_MS, tokenAnswerMs)),
    store: options.tokenStore,
    seal: openSeal(settings, random),
    marginMs: options.tokenMarginMs,
    untilRateLimitEnds: untilRateLimitEnds,
    signal: closing.signal,
    clock,
    random,
    log: options.log,
  });

  async function untilRateLimitEnds(): Promise<void> {
    for (let ms = brake.remainingMs(); ms > 0 && !closing.signal.aborted; ms = brake.remainingMs())
      await clock.sleep(ms + random.fraction() * RESTART_SPREAD_MS, closing.signal);
  }

  async function ask(call: Call): Promise<Answer> {
    const first = await askOnce(call);
    return isUnauthorized(first) ? askOnce(call) : first;
  }

  async function askOnce(call: Call): Promise<Answer> {
    if (brake.remainingMs() > 0) await untilRateLimitEnds();
    if (closing.signal.aborted) return notSent('closed');
    const token = await tokens.fresh();
    if (brake.remainingMs() > 0) await untilRateLimitEnds();
    const send = () => wire.send(others, { ...call, token }, within(clock, requestTimeoutMs, requestTimeoutMs));
    const isQuote = call.operation === 'quote';
    return noteUnauthorized(token, await outage.through(call.operation, isQuote ? () => places.quote(send) : send));
  }

  async function pay(body: string, sending: PaymentSending): Promise<Answer> {
    const token = tokens.current();
    if (token === undefined) return notSent('no token');
    const call: Call = { operation: 'payment', method: 'POST', path: '/v2/payments', body, token };
    const answer = await wire.send(payments, call, { ...sending, clock, timeoutMs: requestTimeoutMs });
    outage.saw('payment', answer);
    return noteUnauthorized(token, answer);
  }

  function noteUnauthorized(token: string, answer: Answer): Answer {
    if (isUnauthorized(answer)) tokens.refused(token);
    return answer;
  }

  return {
    fingerprint: fingerprintOf(settings, options.addressName),
    async ready() {
      await outage.waitedOut();
      await tokens.fresh();
    },
    isAway: () => outage.isAway(),
    clockDifferenceMs: () => wire.clockDifference.ms(),
    quote: (body) => ask({ operation: 'quote', method: 'POST', path: '/v2/quotes/quote-collection', body }),
    createPayment: (body, sending) => places.payment(() => pay(body, sending)),
    ...openReads(ask),
    async close() {
      closing.abort();
      await wire.close();
      await Promise.all([payments.destroy(), others.destroy()]);
    },
  };
}

function openReads(
  ask: (call: Call) => Promise<Answer>,
): Pick<Service, 'readPayment' | 'listIdentities' | 'readBalance' | 'testToken'> {
  return {
    readPayment: (id) => ask(readCall('look-up', `/v2/payments/${encodeURIComponent(id)}`)),
    listIdentities: (type, nickName) => ask(readCall('identities', `/v2/identities${identitiesQuery(type, nickName)}`)),
    readBalance: (currency) => ask(readCall('balance', `/v2/balances?currency=${encodeURIComponent(currency)}`)),
    testToken: () => ask(readCall('token test', '/v2/oauth/token/test')),
  };
}

function within(clock: Clock, sendMs: number, timeoutMs: number): ExchangeLimits {
  return { clock, sendBefore: clock.monotonic() + sendMs, timeoutMs };
}

interface Wire {
  readonly clockDifference: ClockDifference;
  /** One exchange; a 429 puts the brake on for everybody. */
  send(pool: Pool, call: Call, limits: ExchangeLimits): Promise<Answer>;
  /** Sends nothing more and waits for what is in flight. */
  close(): Promise<void>;
}

function openWire({ settings, userAgent, brake, clock, log, observe, answering, saw }: ServiceOptions): Wire {
  const base = withoutTrailing(new URL(settings.url).pathname, '/');
  const inFlight = new Set<Promise<Answer>>();
  const clockDifference = openClockDifference(clock);
  const headersOf = openHeaders(userAgent);
  let closed = false;

  function note(operation: Operation, answer: Answer, ms: number): void {
    observe?.({ operation, answer: classOf(answer), ms });
    saw?.(operation, answer);
    const status = answer.kind === 'not-sent' ? null : answer.status;
    const reason = answer.kind === 'answered' ? null : answer.reason;
    log.debug('service call', {
      operation,
      class: answer.kind,
      ms: Math.round(ms),
      ...(status === null ? {} : { status }),
      ...(reason === null ? {} : { reason }),
    });
    if (answer.kind !== 'answered' || answer.status !== 429) return;
    const pauseMs = retryAfterMs(answer.retryAfter, answer.date, clock.now());
    brake.hold(pauseMs);
    log.warn('the service asks everybody to wait', { operation, ms: pauseMs });
  }

  return {
    clockDifference,
    async send(pool, call, limits) {
      if (closed) return notSent('closed');
      const askedAt = clock.now();
      const started = clock.monotonic();
      const { method, path, body, token } = call;
      const ended = answering?.begin(call.operation);
      const sending = exchange(pool, { method, path: `${base}${path}`, headers: headersOf(token, body), body }, limits);
      inFlight.add(sending);
      const answer = await sending;
      inFlight.delete(sending);
      ended?.(answer, call.operation === 'token' && !isTokenAnswer(answer));
      if (answer.kind === 'answered' && answer.date !== null) {
        clockDifference.saw(answer.date, { askedAt, answeredAt: clock.now() });
      }
      note(call.operation, answer, clock.monotonic() - started);
      return answer;
    },
    async close() {
      closed = true;
      await Promise.all(inFlight);
    },
  };
}

/** The headers of a request; those of the same token are made once. */
function openHeaders(userAgent: string): (token: string | undefined, body: string | null) => Exchange['headers'] {
  const bare = { 'user-agent': userAgent, accept: 'application/json' };
  const ofJson = { 'content-type': 'application/json' };
  // A cache on the way would answer what was true once (RFC 9111, section 5.2.1.4).
  const ofRead = { 'cache-control': 'no-cache' };
  let latest = { token: '', without: {}, withBody: {} };
  return (token, body) => {
    if (token === undefined) return { ...bare, ...(body === null ? ofRead : ofJson) };
    if (latest.token !== token) {
      const both = { ...bare, authorization: `Bearer ${token}` };
      latest = { token, without: { ...both, ...ofRead }, withBody: { ...both, ...ofJson } };
    }
    return body === null ? latest.without : latest.withBody;
  };
}

function classOf(answer: Answer): ServiceCall['answer'] {
  return answer.kind === 'answered' ? `${Math.floor(answer.status / 100)}xx` : answer.kind;
}

function isUnauthorized(answer: Answer): boolean {
  return answer.kind === 'answered' && answer.status === 401;
}

function tokenCall(settings: ServiceSettings): Call {
  const body = JSON.stringify({
    grant_type: 'client_credentials',
    client_id: settings.clientId,
    client_secret: settings.clientSecret,
    audience: settings.audience,
  });
  return { operation: 'token', method: 'POST', path: '/v2/oauth/token', body };
}

function readCall(operation: Operation, path: string): Call {
  return { operation, method: 'GET', path, body: null };
}

function identitiesQuery(type: string, nickName: string | undefined): string {
  const name = nickName === undefined ? '' : `&nickName=${encodeURIComponent(nickName)}`;
  return `?identityType=${encodeURIComponent(type)}${name}`;
}
