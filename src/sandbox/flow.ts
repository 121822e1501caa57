import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { Clock, Random } from '../clock.ts';
import { type Answer, answering, type Decision, type Delivery, jsonAnswer } from './answers.ts';
import { errorAnswer, oauthErrorAnswer } from './errors.ts';
import { type Fault, planFault, strikes, tooMany, unauthorised } from './faults/faults.ts';
import type { Switches } from './faults/switches.ts';
import { IDENTITY_TYPES, identityBody } from './identities.ts';
import { type Operation, type Routed, routeOf } from './operations.ts';
import { decidePayment, decidePayments } from './payments/rules.ts';
import { decideQuotes } from './quotes/rules.ts';
import type { Call, Realm } from './realm.ts';
import { bearerOf, decideToken, decideTokenTest } from './tokens/rules.ts';
import type { TokenClaims } from './tokens/tokens.ts';

const identityTypeParameter = z.enum(IDENTITY_TYPES).optional();

/**
 * `GET /v2/identities`: 200 with what matches, 404 USR_103 when nothing does. A sandbox that takes
 * any identity says with an empty list that it knows none before it is used.
 */
function decideIdentities(call: Call, query: URLSearchParams): Decision {
  const { now, realm, switches } = call;
  const identityType = identityTypeParameter.safeParse(query.get('identityType') ?? undefined);
  if (!identityType.success) {
    const descriptions = [`identityType: one of ${IDENTITY_TYPES.join(', ')}`];
    return answering(errorAnswer({ code: 'USR_101', descriptions, now }));
  }
  const filter = { identityType: identityType.data, nickName: query.get('nickName') ?? undefined };
  const matching = realm.identities.list(filter, switches.identitiesAnsweredMax);
  if (matching.length === 0 && !switches.acceptsAnyIdentity) {
    return answering(errorAnswer({ code: 'USR_103', descriptions: ['no identity matches'], now }));
  }
  return answering(jsonAnswer(200, { data: matching.map(identityBody) }));
}

/** `GET /v2/balances`: not on the interface page; as public material has it. */
function decideBalances({ now, switches }: Call, query: URLSearchParams): Decision {
  const currency = query.get('currency');
  if (currency === null || !/^[A-Z]{3}$/.test(currency)) {
    return answering(errorAnswer({ code: 'USR_101', descriptions: ['currency: a code such as USD'], now }));
  }
  const own = { fundingType: 'FUNDED', currency, availableBalance: switches.balance, reservedBalance: '0' };
  return answering(jsonAnswer(200, { timestamp: new Date(now).toISOString(), balances: [own] }));
}

const SECOND_MS = 1000;

/** A request as it came in; `body` is undefined when it was longer than the server takes. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query as on the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer | undefined;
}

export interface FlowOptions {
  readonly realm: Realm;
  readonly switches: () => Switches;
  readonly clock: Clock;
  readonly random: Random;
  /** Told of every request that names an operation, before anything else happens to it. */
  readonly onRequest: (operation: Operation) => void;
  /** Ends waits early. */
  readonly signal: AbortSignal;
}

/** A request that found its operation. */
interface Received {
  readonly operation: Operation;
  /** The path parameter, or empty. */
  readonly id: string;
  readonly query: URLSearchParams;
  readonly sequence: number;
  readonly http: HttpRequest;
}

/** A request that may be carried out. */
interface Admitted {
  readonly received: Received;
  readonly token: TokenClaims | undefined;
}

/**
 * The one way of every request: receive, decide (pure rules), plan a fault, commit, answer. From the decision to the
 * commit nothing waits, so that two requests cannot decide on the same books; nothing that an answer may tell of is
 * still on its way to the disk. A fault may take the answer's place, commit later, or carry the request out twice.
 */
export function openFlow(options: FlowOptions): (http: HttpRequest) => Promise<Delivery> {
  const { realm, clock, random, signal } = options;
  const mayPass = openRateLimit();
  const sequences = new Map<Operation, number>();

  function receive(http: HttpRequest): Received | Answer {
    const [path = '', query = ''] = http.target.split('?', 2);
    const routed = routeOf(http.method, path);
    if (routed.kind !== 'operation') return noOperation(routed, { http, now: clock.now() });
    const { operation, id } = routed;
    options.onRequest(operation);
    const sequence = (sequences.get(operation) ?? 0) + 1;
    sequences.set(operation, sequence);
    return { operation, id, query: new URLSearchParams(query), sequence, http };
  }

  function decide({ received, token }: Admitted): Decision {
    const switches = options.switches();
    const chance = { switches, sequence: received.sequence };
    const call = { realm, switches, random, now: clock.now(), token };
    return RULES[received.operation]({ ...call, strikes: (name) => strikes(name, chance) }, received);
  }

  /** Commits when the fault wants it; the decision whose answer counts. */
  function commit(admitted: Admitted, at: Fault['at']): Decision {
    const decision = decide(admitted);
    if (at === 'late') void commitLate(admitted);
    if (at === 'late' || at === 'before-commit') return decision;
    decision.commit?.();
    return at === 'twice' ? commit(admitted, 'after-commit') : decision;
  }

  async function carryOut(received: Received): Promise<Delivery> {
    const { operation, sequence, http } = received;
    const switches = options.switches();
    const now = clock.now();
    if (isDown(now, switches)) return { kind: 'reset' };
    const token = operation === 'token' ? undefined : await authenticate(realm, http, { now, switches });
    if (operation !== 'token') {
      if (token === undefined) return unauthorised({ now });
      if (!mayPass(now, switches.rateLimitPerSecond)) return tooMany({ now, switches, sequence });
    }
    const fault = planFault({ operation, sequence, target: http.target, switches, random, now });
    const decision = commit({ received, token }, fault?.at ?? 'after-commit');
    await realm.synced();
    const answer = await decision.answer();
    return fault?.deliver(answer) ?? answered(answer);
  }

  /** Decided anew, for the quote may have died meanwhile. A book that cannot be written fails the next request. */
  async function commitLate(admitted: Admitted): Promise<void> {
    await clock.sleep(options.switches().lateCommitMs, signal);
    if (!signal.aborted) decide(admitted).commit?.();
  }

  return async (http) => {
    const received = receive(http);
    const delivery = 'status' in received ? answered(received) : await carryOut(received);
    const waitMs = 'status' in received ? 0 : delayOf(received.operation, options.switches());
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return styled(delivery, options.switches(), clock.now());
  };
}

const RULES: Readonly<Record<Operation, (call: Call, received: Received) => Decision>> = {
  token: (call, received) => withBody(call, received, decideToken),
  tokenTest: (call) => decideTokenTest(call),
  quotes: (call, received) => withBody(call, received, decideQuotes),
  identities: (call, { query }) => decideIdentities(call, query),
  payments: (call, received) => withBody(call, received, decidePayments),
  payment: (call, { id }) => decidePayment(call, id),
  balances: (call, { query }) => decideBalances(call, query),
};

function isDown(now: number, { outageEveryMs, outageLastsMs }: Switches): boolean {
  return outageEveryMs > 0 && now % outageEveryMs < outageLastsMs;
}

function delayOf(operation: Operation, { tokenDelayMs, answerDelayMs }: Switches): number {
  return operation === 'token' ? tokenDelayMs : answerDelayMs[operation];
}

function noOperation(
  routed: Exclude<Routed, { kind: 'operation' }>,
  { http, now }: { http: HttpRequest; now: number },
): Answer {
  const descriptions = [`${http.method} ${http.target} is no operation`];
  if (routed.kind === 'unknown-path') return errorAnswer({ code: 'USR_002', descriptions, now });
  return errorAnswer({ code: 'USR_001', descriptions, now, status: 405, headers: { Allow: routed.allow } });
}

function answered(answer: Answer): Delivery {
  return { kind: 'answer', answer };
}

/** What the bearer token says, if it is valid here and its credential lives (interface page, section 5 rules 1, 2, 5). */
async function authenticate(
  realm: Realm,
  { headers }: HttpRequest,
  { now, switches }: { now: number; switches: Switches },
): Promise<TokenClaims | undefined> {
  const bearer = bearerOf(headers.authorization);
  const token = bearer === undefined ? undefined : await realm.tokens.read(bearer);
  if (token === undefined || !realm.credentials.lives(token.clientId)) return undefined;
  const { revokeTokensEveryMs: everyMs } = switches;
  const isRevoked = everyMs > 0 && Math.floor(token.issuedAt / everyMs) < Math.floor(now / everyMs);
  return isRevoked ? undefined : token;
}

/** Hands a rule the request's JSON; 413 for a body that is too long, 415 for another type, 400 for what is no JSON. */
function withBody(call: Call, { operation, http }: Received, rule: (call: Call, body: unknown) => Decision): Decision {
  const refuse = (status: number, description: string): Decision => ({
    answer: () =>
      operation === 'token'
        ? oauthErrorAnswer(status, 'invalid_request', description)
        : errorAnswer({ code: 'USR_001', descriptions: [description], now: call.now, status }),
  });
  if (http.body === undefined) return refuse(413, 'the body is too long');
  if (!/^application\/json\s*(;|$)/i.test(http.headers['content-type'] ?? '')) {
    return refuse(415, 'the body must be application/json');
  }
  const json = jsonOf(http.body);
  return json === undefined ? refuse(400, 'the body is not JSON') : rule(call, json.value);
}

function jsonOf(body: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(body.toString('utf8')) };
  } catch {
    return undefined;
  }
}

/** Lets through so many requests in each second of the clock. */
function openRateLimit(): (now: number, perSecond: number) => boolean {
  let second = 0;
  let passed = 0;
  return (now, perSecond) => {
    if (perSecond === 0) return true;
    const current = Math.floor(now / SECOND_MS);
    if (current !== second) {
      second = current;
      passed = 0;
    }
    passed += 1;
    return passed <= perSecond;
  };
}

const errorBody = z.object({ status: z.int(), errors: z.tuple([z.looseObject({})], z.looseObject({})) });
type ErrorBody = z.output<typeof errorBody>;

/** A delivery as this service writes all of its answers: error bodies in its shape, `Date` and `Content-Type` as switched. */
function styled(delivery: Delivery, switches: Switches, now: number): Delivery {
  if (!('answer' in delivery)) return delivery;
  const { status, headers, body } = delivery.answer;
  const { 'Content-Type': contentType, ...others } = headers;
  return {
    ...delivery,
    answer: {
      status,
      body: status >= 400 ? reshaped(body, switches.errorShape) : body,
      headers: {
        ...(switches.withoutDate ? {} : { Date: new Date(now + switches.dateSkewMs).toUTCString() }),
        ...(switches.withoutContentType || contentType === undefined ? {} : { 'Content-Type': contentType }),
        ...others,
      },
    },
  };
}

/** The variants that the service documents. */
const SHAPES: Readonly<Record<Exclude<Switches['errorShape'], 'array'>, (body: ErrorBody) => object>> = {
  object: ({ status, errors }) => ({ status, errors: errors[0] }),
  flat: ({ status, errors }) => ({ ...errors[0], status }),
  'string-status': ({ status, errors }) => ({ status: String(status), errors }),
};

/** What is no error body of ours (the token endpoint's, a gateway's page) stays as it is. */
function reshaped(body: Answer['body'], shape: Switches['errorShape']): string {
  if (shape === 'array' || !body.startsWith('{')) return body;
  const parsed = errorBody.safeParse(JSON.parse(body));
  return parsed.success ? JSON.stringify(SHAPES[shape](parsed.data)) : body;
}
