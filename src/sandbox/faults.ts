import { createHash } from 'node:crypto';
import type { Random } from '../clock.ts';
import { type Delivery, jsonAnswer } from './answers.ts';
import { errorAnswer } from './errors.ts';
import type { Operation } from './operations.ts';
import type { Switches } from './switches.ts';

/** A fault that one request meets: where on its way, and what its sender gets instead of the answer. */
export interface Fault {
  readonly at: 'before-commit' | 'after-commit';
  readonly delivery: Delivery;
}

export interface FaultRequest {
  readonly operation: Operation;
  /** The how-manieth request of its operation this is. */
  readonly sequence: number;
  readonly switches: Switches;
  readonly random: Random;
  /** Milliseconds since 1970. */
  readonly now: number;
}

type NumberSwitch = { [Name in keyof Switches]: Switches[Name] extends number ? Name : never }[keyof Switches];

interface FaultRow {
  /** The switch that holds its probability. */
  readonly name: NumberSwitch;
  readonly operation: Operation;
  readonly at: Fault['at'];
  readonly deliver: (request: FaultRequest) => Delivery;
}

const drop = (): Delivery => ({ kind: 'drop' });
const silence = (): Delivery => ({ kind: 'silence' });

const FAULTS: readonly FaultRow[] = [
  { name: 'dropBeforeCommit', operation: 'payments', at: 'before-commit', deliver: drop },
  { name: 'dropAfterCommit', operation: 'payments', at: 'after-commit', deliver: drop },
  { name: 'error500BeforeCommit', operation: 'payments', at: 'before-commit', deliver: serverError },
  { name: 'error500AfterCommit', operation: 'payments', at: 'after-commit', deliver: serverError },
  { name: 'timeoutBeforeCommit', operation: 'payments', at: 'before-commit', deliver: silence },
  { name: 'timeoutAfterCommit', operation: 'payments', at: 'after-commit', deliver: silence },
  { name: 'tooMany', operation: 'payments', at: 'before-commit', deliver: tooMany },
  { name: 'unauthorised', operation: 'payments', at: 'before-commit', deliver: unauthorised },
  { name: 'quoteFails', operation: 'quotes', at: 'before-commit', deliver: serverError },
  { name: 'quoteEmpty', operation: 'quotes', at: 'before-commit', deliver: emptyCollection },
];

/** The fault that a request meets, if any: the first row of the table whose lot is drawn. Pure but for fresh ids. */
export function planFault(request: FaultRequest): Fault | undefined {
  for (const { name, operation, at, deliver } of FAULTS) {
    if (operation !== request.operation) continue;
    const probability = request.switches[name];
    if (probability > 0 && lotOf(request, name) < probability) return { at, delivery: deliver(request) };
  }
  return undefined;
}

/** Evenly spread in [0, 1), and the same for the same seed, fault and place in the order of requests. */
function lotOf({ switches, sequence }: FaultRequest, name: string): number {
  const hash = createHash('sha256').update(`${switches.faultSeed} ${name} ${sequence}`).digest();
  return hash.readUInt32BE() / 2 ** 32;
}

function serverError({ now }: FaultRequest): Delivery {
  const descriptions = ['something went wrong'];
  return { kind: 'answer', answer: errorAnswer({ code: 'SYS_001', descriptions, now }) };
}

/** 429, which no public page describes; with the `Retry-After` of the switches. */
export function tooMany({ now, switches: { retryAfter } }: { now: number; switches: Switches }): Delivery {
  const headers = retryAfter === '' ? {} : { 'Retry-After': retryAfter };
  const descriptions = ['too many requests'];
  return { kind: 'answer', answer: errorAnswer({ code: 'USR_003', descriptions, now, status: 429, headers }) };
}

/** 401 as RFC 6750, section 3, wants it. */
export function unauthorised({ now }: { now: number }): Delivery {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  const descriptions = ['a valid access token is required'];
  return { kind: 'answer', answer: errorAnswer({ code: 'AUTH_001', descriptions, now, headers }) };
}

function emptyCollection({ random }: FaultRequest): Delivery {
  return { kind: 'answer', answer: jsonAnswer(201, { quoteCollectionId: random.uuid(), quotes: [] }) };
}
