import { z } from 'zod';
import { problemTexts, wordsFor } from '../../config/problems.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { FAILURE_CODES, PAYMENT_REQUIRED_CODES } from '../errors.ts';
import { FAULT_MEANINGS, type FaultName } from './table.ts';

const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

const durationMs = z.int().min(0).max(TEN_YEARS_MS);
const skewMs = z.int().min(-TEN_YEARS_MS).max(TEN_YEARS_MS).default(0);
const count = z.int().min(0);
/** 0 never, 1 always. */
const probability = z.number().min(0).max(1).default(0);
const delayMs = durationMs.default(0);
const off = z.boolean().default(false);

/** One of some words, the first unless it is switched; the meaning names them all. */
function oneOf<const Words extends readonly [string, ...string[]]>(words: Words, meaning: string) {
  return z
    .enum(words)
    .default(words[0])
    .describe(`${meaning} One of ${words.join(', ')}.`);
}

const tokens = {
  tokenLifeMs: durationMs
    .min(1000)
    .default(60 * 60 * 1000)
    .describe('Life of an access token; whole seconds, the rest is cut off.'),
  tokenDelayMs: delayMs.describe('Wait before a token request is answered.'),
  tokenExpiresIn: oneOf(['right', 'too-long', 'zero', 'missing'], 'What a token reply says in `expires_in`.'),
  revokeTokensEveryMs: delayMs.describe(
    'All access tokens are revoked at every multiple of this on the clock; 0 is never.',
  ),
};

export const ANSWER_DELAYS = {
  tokenTest: delayMs.describe('Wait before the token test is answered.'),
  quotes: delayMs.describe('Wait between a quote and its answer.'),
  identities: delayMs.describe('Wait before identities are answered.'),
  payments: delayMs.describe('Wait between a payment and its answer.'),
  payment: delayMs.describe('Wait before a look-up is answered.'),
  balances: delayMs.describe('Wait before balances are answered.'),
};

const quotes = {
  quoteLifeMs: durationMs.default(20 * 1000).describe('Life of a quote (no figure is public).'),
  quoteWithoutExpiry: off.describe('Quotes show no `expiresAt` and never expire.'),
  quoteWithoutAmounts: off.describe('Quotes show neither source nor destination amount.'),
  quoteExpirySkewMs: skewMs.describe(
    'The `expiresAt` of quotes is shown so much later (or, negative, earlier) than it is.',
  ),
  emptyQuotes: off.describe('Every quote collection is empty.'),
  sameQuoteForEqualRequests: off.describe('Equal requests get the same quote as long as it lives.'),
};

const payments = {
  repeatedQuote: oneOf(
    ['replay-201', '400', '404', '409'],
    'The answer to a second payment request for a quote; none of them makes a second payment.',
  ),
  paysQuoteTwice: off.describe('A service that breaks the rule: a repeated payment request pays again.'),
  takesExpiredQuotes: off.describe('A service that breaks the rule: expired quotes are paid.'),
  acceptsAnyIdentity: off.describe('An identity that nobody registered becomes one by its first use in a payment.'),
  visibilityDelayMs: delayMs.describe('How long a new payment cannot be read: 404 until then.'),
  paymentsVisibleTo: oneOf(
    ['all', 'their-credential'],
    'Whether every credential can read a payment or its own alone; others get 404.',
  ),
  completesAfterMs: durationMs
    .default(900)
    .describe('Time from INITIATED to the final state, over VALIDATING and TRANSFERRING.'),
  finalState: z
    .string()
    .regex(/^[A-Z][A-Z_]{0,39}$/)
    .default('COMPLETED')
    .describe(
      "Where payments end, as the service's word: COMPLETED, FAILED, DECLINED, RETURNED, a state to stay in, or an unknown one.",
    ),
  returnsAfterMs: durationMs
    .default(1000)
    .describe('For a payment that ends RETURNED: time from COMPLETED to RETURNED.'),
  balance: z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,3})?$/)
    .default('1000000')
    .describe('The balance in each currency, for whoever asks; payments take nothing off it.'),
  failureCode: oneOf(FAILURE_CODES, 'The error that a FAILED payment shows.'),
};

const answers = {
  identitiesAnsweredMax: count
    .min(1)
    .default(1000)
    .describe('Identities in one answer at most: not all matching ones may be returned.'),
  outageEveryMs: delayMs.describe(
    'The service goes down at every multiple of this on the clock: every request is reset, nothing is done; 0 is never.',
  ),
  outageLastsMs: delayMs.describe('How long it is down each time.'),
  rateLimitPerSecond: count
    .default(0)
    .describe('Requests a second and environment, token requests left out; above it 429. 0 is no limit.'),
  retryAfter: z
    .string()
    .regex(/^[\x20-\x7e]{0,200}$/)
    .default('1')
    .describe(
      'The `Retry-After` of a 429 as it stands, empty for none; `date+5` and `date-5` become the date in 5 seconds or 5 seconds ago; of several kinds with a bar between them each 429 draws one.',
    ),
  paymentRequiredCode: oneOf(PAYMENT_REQUIRED_CODES, 'The code of a 402.'),
  redirectTo: z
    .url({ protocol: /^https?$/ })
    .default('http://elsewhere.invalid')
    .describe('The address that redirects lead to; the path is kept.'),
  errorShape: oneOf(['array', 'object', 'flat', 'string-status'], 'The shape of error bodies.'),
  dateSkewMs: skewMs.describe('The `Date` header is so much later (or, negative, earlier) than it is.'),
  withoutDate: off.describe('Answers have no `Date` header.'),
  withoutContentType: off.describe('Answers have no `Content-Type` header.'),
  dripMs: durationMs.default(1000).describe('Time between two bytes of a body that drips.'),
  lateCommitMs: durationMs.default(3000).describe('How much later a payment is made that is made late.'),
};

const faultSwitches = FAULT_MEANINGS.map(({ name, meaning }) => [name, probability.describe(meaning)] as const);

const schema = z.strictObject({
  ...tokens,
  answerDelayMs: z.strictObject(ANSWER_DELAYS).prefault({}),
  ...quotes,
  ...payments,
  ...answers,
  faultSeed: count
    .default(1)
    .describe('Seed of all faults below: the same seed and order of requests give the same faults.'),
  // Object.fromEntries forgets the keys' type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every fault has its entry
  ...(Object.fromEntries(faultSwitches) as Record<FaultName, typeof probability>),
});

/** How the sandbox behaves where the interface is open, and where it is to misbehave. */
export type Switches = Readonly<z.output<typeof schema>>;
/** Some switches; the others keep their value. */
export type SwitchSettings = z.input<typeof schema>;

export const SWITCH_FIELDS: Readonly<Record<string, z.ZodType>> = schema.shape;

export const SWITCH_DEFAULTS: Switches = schema.parse({});

/** The switches after a change. Throws a Refusal that names every unknown name and wrong value. */
export function changeSwitches(current: Switches, changes: SwitchSettings): Switches {
  const answerDelayMs = { ...current.answerDelayMs, ...changes.answerDelayMs };
  const parsed = schema.safeParse({ ...current, ...changes, answerDelayMs }, { error: wordsFor });
  if (parsed.success) return parsed.data;
  throw refuseSwitches(parsed.error.issues.flatMap(switchTexts));
}

function switchTexts(issue: z.core.$ZodIssue): string[] {
  if (issue.code !== 'unrecognized_keys') return problemTexts(issue);
  return issue.keys.map((key) => `${[...issue.path, key].join('.')}: no such switch`);
}

/** A Refusal that names what is wrong with some switches. */
export function refuseSwitches(problems: readonly string[]): Refusal {
  return new Refusal(
    `A switch of the sandbox is wrong:\n  ${problems.join('\n  ')}`,
    withSteps`${{ to: 'see-switches' }} lists them all.`,
  );
}
