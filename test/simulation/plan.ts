import { CAPABILITIES } from '../../src/config/config.ts';
import type { BreakerRule } from '../../src/pay/breaker.ts';
import type { Dice } from './dice.ts';

/** Kinds of faults; a schedule has some of them and not others, so that their mixtures differ. */
export const FAULTS = [
  'kill',
  'stop',
  'redis-restart',
  'redis-rollback',
  'redis-connection',
  'disk',
  'power',
  'network',
  'gateway',
  'service-refuses',
  'service-5xx',
  'service-late',
  'service-replies',
  'token',
  'quotes',
  'looks',
  'people',
  'halt',
  'jobs',
  'credentials',
  'terminate',
  'copied-directory',
  'lies',
  'clock-steps',
  'lost-host',
  'forgets',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What one schedule is made of. Times are milliseconds. */
export interface Plan {
  readonly payouts: number;
  /** Files with these payouts: the later ones are retry files, corrected files, or one too many. */
  readonly files: number;
  readonly hosts: number;
  readonly processesPerHost: number;
  /** The second host comes that much later than the first. */
  readonly secondHostMs: number;
  readonly faults: ReadonlySet<Fault>;
  /** How long faults happen. */
  readonly chaosMs: number;
  readonly armDeadlineMs: number;
  readonly requestTimeoutMs: number;
  readonly quoteGraceMs: number;
  readonly notFoundGapMs: number;
  readonly trackEveryMs: number;
  /** Null: quotes have no end. */
  readonly quoteLifeMs: number | null;
  readonly redisSkewMs: number;
  readonly serviceSkewMs: number;
  /** Of the `Date` header against the clock that ends quotes; less than half the grace. */
  readonly dateSkewMs: number;
  /** How late a payment is seen by look-ups at most; less than half the grace. */
  readonly visibleMs: number;
  /** How the service answers a request for a quote that made its payment. */
  readonly usedQuote: 'same payment' | 'conflict' | 'bad request' | 'not found';
  /** Capabilities that the service really has, and those that payrun was told of. */
  readonly has: ReadonlySet<string>;
  readonly told: ReadonlySet<string>;
  /** Equal requests may get the same quote. */
  readonly sharesQuotes: boolean;
  /** A payment is shown only to the credentials that made it. */
  readonly showsToOwnOnly: boolean;
  /** What a gateway answers to all look-ups from some time on: not found, in its own words or in the service's. */
  readonly lie: 'its own words' | 'the words of the service';
  /** The file is handed in twice at once, under two run ids. */
  readonly submittedTwice: boolean;
  /** The second payout's beneficiary is turned away for good. */
  readonly refusesSecond: boolean;
  /** How often a look-up says nothing, where look-ups go wrong. */
  readonly oddLookShare: number;
  /** When a run pauses itself; null: never. */
  readonly breaker: BreakerRule | null;
  /** How often two people settle something, each time that they look and something is open. */
  readonly decideShare: number;
  /** How often a process is meddled with at one of its awaits. */
  readonly meddleShare: number;
  /** How often Redis goes back in time just when somebody may send, where it goes back at all. */
  readonly takenBackShare: number;
  /** How often Redis is copied before a change, where it may go back. */
  readonly copiedShare: number;
  /** How often a latency is a long one. */
  readonly slowShare: number;
}

export function drawPlan(dice: Dice): Plan {
  const share = dice.pick([0, 0.15, 0.35, 0.6]);
  const faults = new Set<Fault>(FAULTS.filter(() => dice.chance(share)));
  const quoteGraceMs = dice.pick([1500, 3000, 5000]);
  const all: ReadonlySet<string> = new Set(CAPABILITIES);
  const has = dice.chance(0.15) ? without(all, dice.pick(CAPABILITIES)) : all;
  return {
    payouts: dice.pick([1, 1, 1, 2, 2, 3]),
    files: dice.pick([1, 1, 1, 2, 2, 3]),
    hosts: dice.pick([1, 1, 2]),
    processesPerHost: dice.pick([1, 1, 2]),
    secondHostMs: dice.chance(0.5) ? 0 : dice.between(0, 8000),
    faults,
    chaosMs: dice.pick([2500, 5000, 10_000, 20_000]),
    armDeadlineMs: 2000,
    requestTimeoutMs: dice.pick([3000, 5000]),
    quoteGraceMs,
    notFoundGapMs: dice.pick([500, 1000, 2000]),
    trackEveryMs: 5000,
    quoteLifeMs: dice.chance(0.06) ? null : dice.pick([3000, 6000, 6000, 10_000, 20_000]),
    redisSkewMs: dice.chance(0.3) ? dice.between(-90_000, 90_000) : 0,
    serviceSkewMs: dice.chance(0.3) ? dice.between(-300_000, 300_000) : 0,
    dateSkewMs: dice.chance(0.3) ? dice.between(-Math.floor(quoteGraceMs / 3), Math.floor(quoteGraceMs / 3)) : 0,
    visibleMs: dice.chance(0.4) ? dice.between(0, Math.floor(quoteGraceMs / 3)) : 0,
    usedQuote: dice.pick(['same payment', 'same payment', 'conflict', 'bad request', 'not found'] as const),
    has,
    told: has === all && dice.chance(0.08) ? without(all, dice.pick(CAPABILITIES)) : has,
    sharesQuotes: dice.chance(0.15),
    showsToOwnOnly: dice.chance(0.3),
    lie: dice.pick(['its own words', 'the words of the service'] as const),
    submittedTwice: dice.chance(0.1),
    refusesSecond: dice.chance(0.15),
    oddLookShare: dice.pick([0.15, 0.7]),
    breaker: dice.chance(0.2) ? { bad: 2, of: 3 } : null,
    meddleShare: dice.pick([0.003, 0.01, 0.03]),
    slowShare: dice.pick([0, 0.03, 0.1, 0.25]),
    takenBackShare: 0.06,
    copiedShare: 0.15,
    decideShare: dice.pick([0, 0.5, 1]),
  };
}

function without(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  return new Set([...names].filter((other) => other !== name));
}

/** A latency: mostly short, now and then long or close to one of the times that the protocol knows. */
export function latencyMs(dice: Dice, plan: Plan, calm: boolean): number {
  if (calm || !dice.chance(plan.slowShare)) return dice.between(0, 4);
  if (dice.chance(0.5)) return dice.between(5, 500);
  return nearDeadlineMs(dice, plan);
}

/** A time around one that the protocol knows, on either side of it. */
export function nearDeadlineMs(dice: Dice, plan: Plan): number {
  const around = dice.pick([
    plan.armDeadlineMs,
    2 * plan.armDeadlineMs,
    plan.requestTimeoutMs,
    plan.quoteLifeMs ?? 5000,
    (plan.quoteLifeMs ?? 5000) + plan.quoteGraceMs,
    1000,
  ]);
  return Math.max(0, around + dice.between(-600, 900));
}
