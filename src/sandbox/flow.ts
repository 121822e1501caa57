import type { IncomingHttpHeaders } from 'node:http';
import type { Clock, Random } from '../clock.ts';
import type { Answer, Decision, Delivery } from './answers.ts';
import { errorAnswer, oauthErrorAnswer } from './errors.ts';
import { planFault, tooMany, unauthorised } from './faults.ts';
import { decideIdentities } from './identity-rules.ts';
import { type Operation, type Routed, routeOf } from './operations.ts';
import { decidePayment, decidePayments } from './payment-rules.ts';
import { decideQuotes } from './quote-rules.ts';
import type { Call, Realm } from './realm.ts';
import type { Switches } from './switches.ts';
import { bearerOf, decideToken, decideTokenTest } from './token-rules.ts';
import type { TokenClaims } from './tokens.ts';

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

/**
 * The one way of every request: receive, decide (pure rules), plan a fault, commit, answer. From the decision to the
 * commit nothing waits, so that two requests cannot decide on the same books; nothing that an answer may tell of is
 * still on its way to the disk.
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

  async function carryOut(received: Received): Promise<Delivery> {
    const { operation, sequence } = received;
    const token = await authenticate(realm, received);
    const switches = options.switches();
    const now = clock.now();
    if (operation !== 'token') {
      if (token === undefined) return unauthorised({ now });
      if (!mayPass(now, switches.rateLimitPerSecond)) return tooMany({ now, switches });
    }
    const decision = RULES[operation]({ realm, switches, random, now, token }, received);
    const fault = planFault({ operation, sequence, switches, random, now });
    if (fault?.at === 'before-commit') return fault.delivery;
    decision.commit?.();
    await realm.synced();
    return fault?.delivery ?? answered(await decision.answer());
  }

  return async (http) => {
    const received = receive(http);
    if ('status' in received) return answered(received);
    const delivery = await carryOut(received);
    const waitMs = delayOf(received.operation, options.switches());
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return delivery;
  };
}

const RULES: Readonly<Record<Operation, (call: Call, received: Received) => Decision>> = {
  token: (call, received) => withBody(call, received, decideToken),
  tokenTest: (call) => decideTokenTest(call),
  quotes: (call, received) => withBody(call, received, decideQuotes),
  identities: (call, { query }) => decideIdentities(call, query),
  payments: (call, received) => withBody(call, received, decidePayments),
  payment: (call, { id }) => decidePayment(call, id),
};

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
async function authenticate(realm: Realm, { operation, http }: Received): Promise<TokenClaims | undefined> {
  if (operation === 'token') return undefined;
  const bearer = bearerOf(http.headers.authorization);
  const token = bearer === undefined ? undefined : await realm.tokens.read(bearer);
  return token !== undefined && realm.credentials.lives(token.clientId) ? token : undefined;
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
