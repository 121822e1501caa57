import { createHash } from 'node:crypto';
import type { Random } from '../../clock.ts';
import { withoutTrailing } from '../../trailing.ts';
import { type Answer, type Delivery, type Framing, htmlAnswer, jsonAnswer } from '../answers.ts';
import { type ErrorCode, errorAnswer } from '../errors.ts';
import type { Operation } from '../operations.ts';
import { earlierState, otherAmounts, otherBeneficiary, otherId, unknownState } from '../payments/false-payments.ts';
import type { Switches } from './switches.ts';
import { type Effect, type FaultName, WIRE_FAULTS, type WireFault } from './table.ts';

const SECOND_MS = 1000;

/** A fault that one request meets: where on its way, and what its sender gets instead of the answer. */
export interface Fault {
  readonly at: WireFault['at'];
  deliver(answer: Answer): Delivery;
}

/** What decides which lots are drawn: the same switches and order of requests draw the same. */
export interface Chance {
  /** The how-manieth request of its operation this is. */
  readonly sequence: number;
  readonly switches: Switches;
}

export interface FaultRequest extends Chance {
  readonly operation: Operation;
  /** Path and query as on the request line. */
  readonly target: string;
  readonly random: Random;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The fault that a request meets, if any: the first row of the table whose lot is drawn. */
export function planFault(request: FaultRequest): Fault | undefined {
  const row = WIRE_FAULTS.find(({ name, on }) => on === request.operation && strikes(name, request));
  if (row === undefined) return undefined;
  const { at, effect } = row;
  return { at, deliver: (answer) => (effect === null ? whole(answer) : EFFECTS[effect](request, answer)) };
}

/** Whether the lot of a fault is drawn for a request. */
export function strikes(name: FaultName, chance: Chance): boolean {
  const probability = chance.switches[name];
  return probability > 0 && lotOf(name, chance) < probability;
}

/** Evenly spread in [0, 1), and the same for the same seed, name and place in the order of requests. */
function lotOf(name: string, { switches, sequence }: Chance): number {
  const hash = createHash('sha256').update(`${switches.faultSeed} ${name} ${sequence}`).digest();
  return hash.readUInt32BE() / 2 ** 32;
}

type Deliver = (request: FaultRequest, answer: Answer) => Delivery;

const EFFECTS: Readonly<Record<Effect, Deliver>> = {
  reset: () => ({ kind: 'reset' }),
  'half-open': () => ({ kind: 'half-open' }),
  silence: () => ({ kind: 'silence' }),
  'error-500': serverError(500),
  'error-502': serverError(502),
  'error-503': serverError(503),
  'error-504': serverError(504),
  'html-200': (_request, answer) => page(200, answer),
  'html-201': (_request, answer) => page(201, answer),
  'html-502': () => whole(htmlAnswer(502)),
  empty: (_request, answer) => whole({ ...answer, body: '' }),
  'cut-length': cut('length'),
  'cut-chunked': cut('chunked'),
  'cut-close': cut('close'),
  drip: ({ switches }, answer) => ({ kind: 'drip', answer, byteEveryMs: switches.dripMs }),
  'too-many': (request) => tooMany(request),
  unauthorised: (request) => unauthorised(request),
  forbidden: refusal('AUTH_001', { status: 403, description: 'the access token lacks the scope' }),
  'payment-required': (request) => refusal(request.switches.paymentRequiredCode)(request),
  'bad-request': refusal('USR_001'),
  'refused-for-good': refusal('USR_169'),
  'bare-404': () => whole({ status: 404, headers: { 'Content-Type': 'text/plain' }, body: 'not found\n' }),
  'redirect-307': redirect(307),
  'redirect-308': redirect(308),
  'no-quotes': ({ random }) => whole(jsonAnswer(201, { quoteCollectionId: random.uuid(), quotes: [] })),
  'other-id': ({ random }, answer) => whole(otherId(answer, random.uuid())),
  'other-amount': (_request, answer) => whole(otherAmounts(answer)),
  'other-beneficiary': ({ random }, answer) => whole(otherBeneficiary(answer, random.uuid())),
  'earlier-state': (_request, answer) => whole(earlierState(answer)),
  'unknown-state': (_request, answer) => whole(unknownState(answer)),
};

function whole(answer: Answer): Delivery {
  return { kind: 'answer', answer };
}

function cut(framing: Framing): Deliver {
  return (_request, answer) => ({ kind: 'cut', answer, framing });
}

/** A page in place of a success; what was refused is refused with its own status, so that no 2xx lies about it. */
function page(status: number, answer: Answer): Delivery {
  return whole(htmlAnswer(answer.status < 300 ? status : answer.status));
}

function serverError(status: number): Deliver {
  return refusal('SYS_001', { status, description: 'something went wrong' });
}

function refusal(code: ErrorCode, { status, description = 'refused' }: { status?: number; description?: string } = {}) {
  const own = status === undefined ? {} : { status };
  return ({ now }: FaultRequest): Delivery => whole(errorAnswer({ code, descriptions: [description], now, ...own }));
}

function redirect(status: number): Deliver {
  return ({ switches, target }) =>
    whole({ status, headers: { Location: `${withoutTrailing(switches.redirectTo, '/')}${target}` }, body: '' });
}

/** 429, which no public page describes; with the `Retry-After` of the switches. */
export function tooMany(request: Chance & { now: number }): Delivery {
  const { now } = request;
  const retryAfter = retryAfterOf(request);
  const headers = retryAfter === '' ? {} : { 'Retry-After': retryAfter };
  const descriptions = ['too many requests'];
  return whole(errorAnswer({ code: 'USR_003', descriptions, now, status: 429, headers }));
}

/** One of the kinds that the switch names; a date is one of the sandbox's clock, as its `Date` shows it. */
function retryAfterOf(request: Chance & { now: number }): string {
  const { retryAfter, dateSkewMs } = request.switches;
  const kinds = retryAfter.split('|');
  const kind = kinds[Math.floor(lotOf('retryAfter', request) * kinds.length)] ?? '';
  const seconds = /^date([+-][0-9]{1,9})$/.exec(kind)?.[1];
  if (seconds === undefined) return kind;
  return new Date(request.now + dateSkewMs + Number.parseInt(seconds, 10) * SECOND_MS).toUTCString();
}

/** 401 as RFC 6750, section 3, wants it. */
export function unauthorised({ now }: { now: number }): Delivery {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  const descriptions = ['a valid access token is required'];
  return whole(errorAnswer({ code: 'AUTH_001', descriptions, now, headers }));
}
