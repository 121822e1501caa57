import type { Clock } from '../../clock.ts';
import type { PayoutRow } from '../../payout.ts';
import type { Service } from '../client.ts';
import { type Asker, asked, type Quoted, Unanswered } from './asker.ts';
import type { Asked, Burst, Evidence, LateTrial, PaidTrial, QuoteSeen, Seen, Trial } from './seen.ts';
import { isAtRest, isFound, seenOf } from './seen.ts';

/** Payment requests for one quote that go out together, reads that do, and after how long a sent request is cut off. */
export const AT_ONCE = 10;
export const BURST = 20;
export const CUT_AFTER_MS = [20, 5, 0] as const;
/** Past a quote's end by this much, in milliseconds, it is tried to be paid. */
export const LATE_MS = [0, 1000] as const;
const LATE_TRIES_MAX = 3;
const LATE_TRY_GAP_MS = 1000;

const LOOK_EVERY_MS = 100;
/** Looks grow further apart, so that a long wait does not cost many. */
const LOOK_GROWTH = 20;
const REST_EVERY_MS = 250;
const REST_EVERY_MS_MAX = 30 * 1000;
/** Of the time that is left, so much goes into waiting for a payment to come to rest. */
const REST_SHARE = 0.8;
/** Between a payment request and its repeat: two payments then differ in a time of whole seconds. */
const REPEAT_GAP_MS = 1100;
/** Before ten requests at once nothing is sent, so that a limit by the second lets most of them through. */
const QUIET_MS = 1000;
const BAD_TOKEN_LOOK_MS = 1000;
/** `Date` is in whole seconds, cut off. */
const DATE_MIDDLE_MS = 500;

export interface Surroundings {
  readonly asker: Asker;
  readonly service: Service;
  /** A client that cuts its requests off so long after their first byte. To be closed. */
  readonly cutting: (afterMs: number) => Service;
  /** A client that shows this access token and fetches no other. To be closed. */
  readonly bearing: (token: string) => Service;
  readonly clock: Clock;
  /** How long a payment that was made is looked for. */
  readonly visibleMsMax: number;
  readonly notFoundGapMs: number;
  readonly otherBeneficiary: string | null;
  readonly failingBeneficiary: string | null;
}

/** Asks the questions. Quotes that have to expire first do so meanwhile; the burst of reads comes last. */
export async function gatherEvidence(around: Surroundings): Promise<Evidence> {
  const late = asked(() => payLate(around));
  const quote = await asked(() => lookAtQuote(around));
  const cut = await asked(() => payAndCut(around));
  const atOnce = await asked(() => payAtOnce(around));
  const badToken = await asked(() => payWithBadTokens(around));
  const sameReference = await asked(() => payTwoUnderOneReference(around));
  const failing = asked(() => payFailing(around));
  const twice = await asked(async () => await payTwice(around, await around.asker.quote()));
  return {
    quote,
    twice,
    failing: await failing,
    atOnce,
    sameReference,
    late: await late,
    cut: await whenSeen(cut, (trials) => Promise.all(trials.map((trial) => lookAgain(around, trial)))),
    badToken: await whenSeen(badToken, (trial) => lookAgain(around, trial)),
    burst: await asked(() => readInBurst(around)),
  };
}

/** What was seen with something added to it; as it was when that cannot be asked. */
async function whenSeen<T>(first: Asked<T>, more: (seen: T) => Promise<T>): Promise<Asked<T>> {
  if (!('seen' in first)) return first;
  const second = await asked(() => more(first.seen));
  return 'seen' in second ? second : first;
}

async function lookAtQuote({ asker, clock }: Surroundings): Promise<QuoteSeen> {
  const { quote, date } = await asker.quote();
  return {
    lifeMs: quote.expiresAt === null || date === null ? null : quote.expiresAt - date,
    hasEnd: quote.expiresAt !== null,
    skewMs: date === null ? null : date + DATE_MIDDLE_MS - clock.now(),
  };
}

/** P1, P3, P4, P7: again at once, again for another beneficiary, again after the payment came to rest. */
async function payTwice(around: Surroundings, quoted: Quoted): Promise<PaidTrial> {
  const { asker, otherBeneficiary } = around;
  const first = seenOf(await asker.pay(quoted));
  const visible = await lookUntilVisible(around, quoted.quoteId, first);
  if (first.kind !== 'payment')
    return { quoteId: quoted.quoteId, replies: [first], ...visible, otherBeneficiary: null, rest: null };
  await asker.pause(repeatGapMs(quoted));
  const again = seenOf(await asker.pay(quoted));
  const other = otherBeneficiary === null ? null : { ...quoted.row, beneficiaryIdentityId: otherBeneficiary };
  return {
    quoteId: quoted.quoteId,
    replies: [first, again],
    ...visible,
    otherBeneficiary: other === null ? null : seenOf(await asker.pay({ ...quoted, row: other })),
    rest: await payAfterRest(around, quoted, first),
  };
}

/** A repeat of an expired quote would show less. */
function repeatGapMs({ quote, date }: Quoted): number {
  const lifeMs = quote.expiresAt === null || date === null ? null : quote.expiresAt - date;
  return lifeMs === null ? REPEAT_GAP_MS : Math.max(0, Math.min(REPEAT_GAP_MS, lifeMs / 8));
}

async function payAfterRest({ asker }: Surroundings, quoted: Quoted, first: Seen): Promise<PaidTrial['rest']> {
  const paymentId = first.payment?.paymentId ?? quoted.quoteId;
  const leftMs = asker.remainingMs() * (1 - REST_SHARE);
  let gapMs = REST_EVERY_MS;
  while (asker.remainingMs() - gapMs > leftMs) {
    const state = seenOf(await asker.lookUp(paymentId)).payment?.paymentState ?? null;
    if (state !== null && isAtRest(state)) return { state, again: seenOf(await asker.pay(quoted)) };
    await asker.pause(gapMs);
    gapMs = Math.min(gapMs * 1.5, REST_EVERY_MS_MAX);
  }
  return null;
}

async function payFailing(around: Surroundings): Promise<PaidTrial> {
  const { asker, failingBeneficiary } = around;
  if (failingBeneficiary === null) {
    throw new Unanswered('no beneficiary is known whose payments fail (--failing-beneficiary names one)');
  }
  const quoted = await asker.quote();
  const row: PayoutRow = { ...quoted.row, beneficiaryIdentityId: failingBeneficiary };
  return await payTwice({ ...around, otherBeneficiary: null }, { ...quoted, row });
}

/** P2. */
async function payAtOnce(around: Surroundings): Promise<Trial> {
  const { asker, service } = around;
  await asker.pause(QUIET_MS);
  const quoted = await asker.quote();
  await asker.ready(service);
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => asker.payOnce(quoted, service)));
  const replies = answers.map(seenOf);
  const paid = replies.find(({ kind }) => kind === 'payment');
  return { quoteId: quoted.quoteId, replies, ...(await lookUntilVisible(around, quoted.quoteId, paid)) };
}

/** P5: quotes that are first sent after their end. */
async function payLate(around: Surroundings): Promise<LateTrial[]> {
  return await Promise.all(LATE_MS.map((lateMs) => payLateBy(around, lateMs)));
}

async function payLateBy(around: Surroundings, lateMs: number): Promise<LateTrial> {
  const { asker, clock, notFoundGapMs } = around;
  const quoted = await asker.quote();
  const { quote, date, at } = quoted;
  if (quote.expiresAt === null) throw new Unanswered('quotes show no expiresAt');
  if (date === null) throw new Unanswered('answers have no Date, so nothing shows when a quote has ended');
  const waitMs = at + (quote.expiresAt - date) + lateMs - clock.monotonic();
  if (waitMs > asker.remainingMs()) {
    throw new Unanswered(`a quote lives ${Math.ceil(waitMs / 1000)} s, longer than --wait leaves time for`);
  }
  await asker.pause(waitMs);
  const replies: Seen[] = [];
  for (let tries = 1; tries <= LATE_TRIES_MAX; tries++) {
    if (tries > 1) await asker.pause(LATE_TRY_GAP_MS);
    const reply = seenOf(await asker.pay(quoted));
    replies.push(reply);
    if (reply.kind !== 'nothing') break;
  }
  const lookUps = [seenOf(await asker.lookUp(quoted.quoteId))];
  await asker.pause(notFoundGapMs);
  lookUps.push(seenOf(await asker.lookUp(quoted.quoteId)));
  return { quoteId: quoted.quoteId, lateMs, replies, lookUps, visibleAfterMs: null };
}

/** P6, P11: the connection is cut once the request is written; a service that answers sooner is cut sooner. */
async function payAndCut(around: Surroundings): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const afterMs of CUT_AFTER_MS) {
    const quoted = await around.asker.quote();
    const reply = await withClient(around.cutting(afterMs), async (client) => {
      await around.asker.ready(client);
      return seenOf(await around.asker.payOnce(quoted, client));
    });
    trials.push({
      quoteId: quoted.quoteId,
      replies: [reply],
      ...(await lookUntilVisible(around, quoted.quoteId, reply)),
    });
  }
  return trials;
}

/** P8. */
async function payTwoUnderOneReference(around: Surroundings): Promise<Trial[]> {
  const { asker } = around;
  const trials: Trial[] = [];
  const { row } = await asker.quote();
  for (let count = 1; count <= 2; count++) {
    const { quoteId } = await asker.quote();
    const reply = seenOf(await asker.pay({ quoteId, row }));
    trials.push({ quoteId, replies: [reply], ...(await lookUntilVisible(around, quoteId, reply)) });
  }
  return trials;
}

/** P9: something that is no token, and one that says of itself that it ended in 1970. */
async function payWithBadTokens(around: Surroundings): Promise<Trial> {
  const { asker } = around;
  const quoted = await asker.quote();
  const replies: Seen[] = [];
  for (const token of ['not-a-token', `${jwtPart({ alg: 'RS256', typ: 'JWT' })}.${jwtPart({ exp: 1 })}.c2lnbmF0dXJl`]) {
    const answer = await withClient(around.bearing(token), (client) => asker.pay(quoted, client));
    replies.push(seenOf(answer));
  }
  await asker.pause(Math.min(BAD_TOKEN_LOOK_MS, asker.remainingMs() / 2));
  return {
    quoteId: quoted.quoteId,
    replies,
    lookUps: [seenOf(await asker.lookUp(quoted.quoteId))],
    visibleAfterMs: null,
  };
}

function jwtPart(claims: object): string {
  return Buffer.from(JSON.stringify(claims)).toString('base64url');
}

/** P12. */
async function readInBurst({ asker, service }: Surroundings): Promise<Burst> {
  const { quoteId } = await asker.quote();
  await asker.ready(service);
  const answers = await Promise.all(Array.from({ length: BURST }, () => asker.lookUpOnce(quoteId)));
  const retryAfters = answers.flatMap((answer) =>
    answer.kind === 'answered' && answer.status === 429 ? [answer.retryAfter ?? ''] : [],
  );
  return { requests: BURST, retryAfters };
}

/** Looks until the payment is found. One that has another id than its quote is looked for once. */
async function lookUntilVisible(
  { asker, clock, visibleMsMax }: Surroundings,
  quoteId: string,
  reply: Seen | undefined,
): Promise<Pick<Trial, 'lookUps' | 'visibleAfterMs'>> {
  const began = clock.monotonic();
  const isElsewhere = reply?.kind === 'payment' && reply.payment?.paymentId !== quoteId;
  for (;;) {
    const seen = seenOf(await asker.lookUp(quoteId));
    const tookMs = Math.ceil(clock.monotonic() - began);
    if (isFound(seen)) return { lookUps: [seen], visibleAfterMs: tookMs };
    if (isElsewhere || tookMs >= visibleMsMax || reply?.kind === 'refusal')
      return { lookUps: [seen], visibleAfterMs: null };
    await asker.pause(Math.max(LOOK_EVERY_MS, tookMs / LOOK_GROWTH));
  }
}

/** Once more at the end for what was not found: a payment that shows up late was made all the same. */
async function lookAgain({ asker }: Surroundings, trial: Trial): Promise<Trial> {
  if (trial.lookUps.some(isFound)) return trial;
  return { ...trial, lookUps: [...trial.lookUps, seenOf(await asker.lookUp(trial.quoteId))] };
}

async function withClient<T>(client: Service, use: (client: Service) => Promise<T>): Promise<T> {
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
