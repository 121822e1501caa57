import { z } from 'zod';
import { EXIT, Refusal } from '../refusal.ts';
import { descriptionsOf } from './errors.ts';

const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

const durationMs = z.int().min(0).max(TEN_YEARS_MS);
const count = z.int().min(0);
/** 0 never, 1 always. */
const probability = z.number().min(0).max(1).default(0);
const delayMs = durationMs.default(0);

const schema = z.strictObject({
  /** Life of an access token; whole seconds, the rest is cut off. */
  tokenLifeMs: durationMs.min(1000).default(60 * 60 * 1000),
  /** Wait before a token request is answered. */
  tokenDelayMs: delayMs,
  /** Wait between what an operation commits and its answer. */
  answerDelayMs: z
    .strictObject({ tokenTest: delayMs, quotes: delayMs, identities: delayMs, payments: delayMs, payment: delayMs })
    .prefault({}),

  /** Life of a quote (no figure is public: service-facts, section 2). */
  quoteLifeMs: durationMs.default(20 * 1000),
  /** Quotes show no `expiresAt` and never expire. */
  quoteWithoutExpiry: z.boolean().default(false),
  /** Quotes show neither source nor destination amount. */
  quoteWithoutAmounts: z.boolean().default(false),
  /** Every quote collection is empty. */
  emptyQuotes: z.boolean().default(false),

  /** The answer to a second payment request for a quote; none of them makes a second payment. */
  repeatedQuote: z.enum(['replay-201', '400', '404', '409']).default('replay-201'),
  /** A service that breaks the rule: a repeated payment request pays again. For tests of oracles. */
  paysQuoteTwice: z.boolean().default(false),
  /** A service that breaks the rule: expired quotes are paid. */
  takesExpiredQuotes: z.boolean().default(false),
  /** An identity that nobody registered becomes one by its first use in a payment. */
  acceptsAnyIdentity: z.boolean().default(false),

  /** How long a new payment cannot be read: 404 until then. */
  visibilityDelayMs: delayMs,
  /** Time from INITIATED to the final state, over VALIDATING and TRANSFERRING. */
  completesAfterMs: durationMs.default(900),
  /** Where payments end, as the service's word: COMPLETED, FAILED, RETURNED, a state to stay in, or an unknown one. */
  finalState: z
    .string()
    .regex(/^[A-Z][A-Z_]{0,39}$/)
    .default('COMPLETED'),
  /** With `finalState` RETURNED: time from COMPLETED to RETURNED. */
  returnsAfterMs: durationMs.default(1000),

  /** Identities in one answer at most (service-facts, section 6: not all matching ones may be returned). */
  identitiesAnsweredMax: count.min(1).default(1000),
  /** Requests a second and environment, token requests left out; above it 429. 0 is no limit. */
  rateLimitPerSecond: count.default(0),
  /** The `Retry-After` of a 429, as it stands; empty for none. */
  retryAfter: z
    .string()
    .regex(/^[\x20-\x7e]{0,100}$/)
    .default('1'),

  /** Seed of all faults below: the same seed and order of requests give the same faults. */
  faultSeed: count.default(1),
  /** Create payment: the socket is destroyed, nothing is paid. */
  dropBeforeCommit: probability,
  /** Create payment: the socket is destroyed, the payment is made. */
  dropAfterCommit: probability,
  /** Create payment: 500, nothing is paid. */
  error500BeforeCommit: probability,
  /** Create payment: 500, the payment is made. */
  error500AfterCommit: probability,
  /** Create payment: no answer at all, nothing is paid. */
  timeoutBeforeCommit: probability,
  /** Create payment: no answer at all, the payment is made. */
  timeoutAfterCommit: probability,
  /** Create payment: 429, nothing is paid. */
  tooMany: probability,
  /** Create payment: 401, nothing is paid. */
  unauthorised: probability,
  /** Quotes: 500. */
  quoteFails: probability,
  /** Quotes: an empty collection. */
  quoteEmpty: probability,
});

/** How the sandbox behaves where the interface is open, and where it is to misbehave. */
export type Switches = Readonly<z.output<typeof schema>>;
/** Some switches; the others keep their value. */
export type SwitchSettings = z.input<typeof schema>;

export const SWITCH_DEFAULTS: Switches = schema.parse({});

/** The switches after a change. Throws a Refusal (exit 2) that names every unknown name and wrong value. */
export function changeSwitches(current: Switches, changes: SwitchSettings): Switches {
  const answerDelayMs = { ...current.answerDelayMs, ...changes.answerDelayMs };
  const parsed = schema.safeParse({ ...current, ...changes, answerDelayMs });
  if (parsed.success) return parsed.data;
  throw refuseSwitches(descriptionsOf(parsed.error));
}

/** Switches from texts like `quoteLifeMs=5000` and `answerDelayMs.payments=200`, over the defaults. */
export function switchesOfText(assignments: readonly string[]): Switches {
  let switches = SWITCH_DEFAULTS;
  for (const assignment of assignments) {
    const at = assignment.indexOf('=');
    if (at < 1) throw refuseSwitches([`${assignment}: write name=value`]);
    switches = changeSwitches(switches, settingOfText(assignment.slice(0, at), assignment.slice(at + 1)));
  }
  return switches;
}

function settingOfText(name: string, text: string): SwitchSettings {
  const [outer = '', inner] = name.split('.');
  const known: unknown = Object.entries(SWITCH_DEFAULTS).find(([key]) => key === outer)?.[1];
  if (inner !== undefined) return { [outer]: { [inner]: numberOfText(text) } };
  if (typeof known === 'number') return { [outer]: numberOfText(text) };
  if (typeof known === 'boolean' && (text === 'true' || text === 'false')) return { [outer]: text === 'true' };
  return { [outer]: text };
}

function numberOfText(text: string): number {
  return /^[0-9]{1,15}(\.[0-9]{1,15})?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
}

function refuseSwitches(problems: readonly string[]): Refusal {
  return new Refusal(`A switch of the sandbox is wrong:\n  ${problems.join('\n  ')}`, {
    exitCode: EXIT.usage,
    remedy: `The switches are: ${Object.keys(SWITCH_DEFAULTS).join(', ')}.`,
  });
}
