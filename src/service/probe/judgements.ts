import {
  type Asked,
  type Burst,
  type Evidence,
  isFound,
  isNotFound,
  type LateTrial,
  type PaidTrial,
  paymentsOf,
  type QuoteSeen,
  type Seen,
  signOfAnother,
  signOfSecond,
  type Trial,
  trialsOf,
} from './seen.ts';

/** `yes`: as payrun wants it or takes it for granted · `no`: otherwise · `not known`. */
export type Verdict = 'yes' | 'no' | 'not known';

/** What was seen of one question and what follows from it. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly seen: string;
  readonly conclusion: string;
}

/** What the answers are judged by. */
export interface Measure {
  /** Within this a payment has to be found after it was made. */
  readonly visibleMsMax: number;
}

/** P1, P2. */
export function judgeRepeated(trial: Trial): Judgement {
  return judgeRepeats(trial, signOfSecond(trial));
}

/** P7. */
export function judgeOtherBeneficiary(trial: PaidTrial): Judgement {
  const { otherBeneficiary, replies } = trial;
  if (otherBeneficiary === null) return unknown('nothing', 'no other beneficiary is known, or nothing was paid');
  const asked = { ...trial, replies: [...replies.slice(0, 1), otherBeneficiary] };
  return judgeRepeats(asked, signOfAnother({ ...trial, rest: null }));
}

/** P8. */
export function judgeSameReference(trials: readonly Trial[]): Judgement {
  const replies = trials.flatMap((trial) => trial.replies);
  const seen = describeReplies(replies);
  const [first, second] = replies;
  if (first?.kind !== 'payment') return unknown(seen, 'not even the first was answered with a payment');
  if (second?.kind === 'payment') return { verdict: 'yes', seen, conclusion: 'internalId is not unique' };
  if (second?.kind !== 'refusal') return unknown(seen, 'the second was not answered definitely');
  return { verdict: 'no', seen, conclusion: 'the service refuses a second payment under one internalId' };
}

/** P12. */
export function judgeBurst({ requests, retryAfters }: Burst): Judgement {
  const seen = `${retryAfters.length} of ${requests} answered 429`;
  if (retryAfters.length === 0) return { verdict: 'yes', seen, conclusion: `no limit below ${requests} reads at once` };
  const texts = [...new Set(retryAfters)].map((text) => (text === '' ? 'none' : `"${text}"`));
  return { verdict: 'no', seen, conclusion: `there is a limit; Retry-After: ${texts.join(', ')}` };
}

function unknown(seen: string, conclusion: string): Judgement {
  return { verdict: 'not known', seen, conclusion };
}

/** `3 × 201 INITIATED, 7 × 400 USR_003`. */
function describeReplies(replies: readonly Seen[]): string {
  const counts = new Map<string, number>();
  for (const { text } of replies) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => (count === 1 ? text : `${count} × ${text}`)).join(', ') || 'nothing';
}

/** A quote that was paid, and at least one more request for it with a definite answer. */
function judgeRepeats({ replies }: Trial, sign: string | undefined): Judgement {
  const seen = describeReplies(replies);
  if (sign !== undefined) return { verdict: 'no', seen, conclusion: `the quote was paid twice: ${sign}` };
  const definite = replies.filter(({ kind }) => kind !== 'nothing');
  const paid = definite.filter(({ kind }) => kind === 'payment');
  if (paid.length === 0) return unknown(seen, 'no request was answered with a payment');
  if (definite.length < 2) return unknown(seen, 'no repeat was answered definitely');
  const repeat = paid.length === definite.length ? 'is answered with the same payment' : 'is refused';
  return { verdict: 'yes', seen, conclusion: `one payment; a repeat ${repeat}` };
}

const SAME_END: Readonly<Record<string, string>> = { RETURNED: 'COMPLETED', DECLINED: 'FAILED' };

/** The trial whose payment came to rest in this state, or one of its kind. */
export function restedIn(trials: readonly Asked<PaidTrial>[], end: 'COMPLETED' | 'FAILED'): Asked<PaidTrial> {
  const states: string[] = [];
  for (const trial of trials) {
    if (!('seen' in trial)) continue;
    const { rest } = trial.seen;
    const state = rest?.state ?? 'at no end within the time';
    states.push(state);
    if ((SAME_END[state] ?? state) === end) return trial;
  }
  return { unanswered: `no payment became ${end}${states.length === 0 ? '' : ` (seen: ${states.join(', ')})`}` };
}

export function judgeAfterRest(trial: PaidTrial): Judgement {
  const { rest, replies } = trial;
  if (rest === null) return unknown('nothing', 'the payment came to no end within the time');
  const judged = judgeRepeats(
    { ...trial, replies: [...replies.slice(0, 1), rest.again] },
    signOfAnother({ ...trial, otherBeneficiary: null }),
  );
  return { ...judged, seen: `${rest.state}, then ${rest.again.text}` };
}

export function judgeLate(trials: readonly LateTrial[]): Judgement {
  const seen = trials
    .map(
      ({ lateMs, replies, lookUps }) =>
        `${lateMs} ms late: ${describeReplies(replies)}; looked up: ${describeReplies(lookUps)}`,
    )
    .join(' · ');
  if (trials.some((trial) => paymentsOf(trial).length > 0)) {
    return { verdict: 'no', seen, conclusion: 'a quote was paid after its end' };
  }
  if (!trials.every(({ replies }) => replies.at(-1)?.kind === 'refusal')) {
    return unknown(seen, 'not every late request was refused with an error of the service');
  }
  if (!trials.every(({ lookUps }) => lookUps.every(isNotFound)))
    return unknown(seen, 'a look-up did not say "not found"');
  return { verdict: 'yes', seen, conclusion: 'refused, and not found afterwards' };
}

/**
 * All trials in which a payment was made, with an answer or without. Where a 429 held the look-up back, nothing was
 * measured.
 */
export function visibleTrials({ twice, atOnce, sameReference, cut }: Evidence): Asked<readonly Trial[]> {
  const single = [twice, atOnce].flatMap((asked): Trial[] => ('seen' in asked ? [asked.seen] : []));
  const several = [sameReference, cut].flatMap((asked): readonly Trial[] => ('seen' in asked ? asked.seen : []));
  const trials = [...single, ...several];
  const measured = trials.filter(({ replies }) => replies.every(({ status }) => status !== 429));
  const made = measured.filter((trial) => paymentsOf(trial).length > 0);
  const isAnswered = made.some(({ replies }) => replies.some(({ kind }) => kind === 'payment'));
  return isAnswered ? { seen: made } : { unanswered: 'no payment was made' };
}

export function judgeVisible(trials: readonly Trial[], { visibleMsMax }: Measure): Judgement {
  const delays = trials.map(({ visibleAfterMs }) => visibleAfterMs ?? Number.POSITIVE_INFINITY);
  const found = delays.filter((ms) => ms <= visibleMsMax);
  const seen = `${found.length} of ${trials.length} found within ${visibleMsMax} ms`;
  if (found.length < trials.length)
    return { verdict: 'no', seen, conclusion: 'a payment was found late, or not at all' };
  return { verdict: 'yes', seen, conclusion: `found after ${Math.max(...delays)} ms at most` };
}

/** The trial with bad tokens, and any other that was answered with nothing but 401. */
export function unauthorisedTrials(evidence: Evidence): Asked<readonly Trial[]> {
  const { badToken } = evidence;
  if (!('seen' in badToken)) return badToken;
  const others = trialsOf(evidence).filter((trial) => trial !== badToken.seen && isAll401(trial));
  return { seen: [badToken.seen, ...others] };
}

function isAll401({ replies }: Trial): boolean {
  return replies.every(({ status }) => status === 401);
}

export function judgeBadToken(trials: readonly Trial[]): Judgement {
  const replies = trials.flatMap((trial) => trial.replies);
  const lookUps = trials.flatMap((trial) => trial.lookUps);
  const seen = `${describeReplies(replies)}; looked up: ${describeReplies(lookUps)}`;
  if (trials.some((trial) => paymentsOf(trial).length > 0)) {
    return { verdict: 'no', seen, conclusion: 'the payment was made' };
  }
  if (!lookUps.every(isNotFound)) return unknown(seen, 'a look-up did not say "not found"');
  if (replies.some(({ status }) => status === null)) return unknown(seen, 'a request was not answered');
  return trials.every(isAll401)
    ? { verdict: 'yes', seen, conclusion: '401, and nothing was paid' }
    : { verdict: 'no', seen, conclusion: 'another answer than 401; nothing was paid' };
}

export function judgeQuote({ lifeMs, hasEnd, skewMs }: QuoteSeen): Judgement {
  const skew = skewMs === null ? 'no Date' : describeSkew(skewMs);
  const life = lifeMs === null ? 'life not shown' : `life ${(lifeMs / 1000).toFixed(1)} s`;
  const seen = `${hasEnd ? 'expiresAt' : 'no expiresAt'}, ${life}, ${skew}`;
  if (lifeMs === null) return { verdict: 'no', seen, conclusion: 'the end of a quote is not known' };
  if (lifeMs <= 0) return { verdict: 'no', seen, conclusion: 'a fresh quote has ended by the Date of its own answer' };
  return { verdict: 'yes', seen, conclusion: `a quote lives ${(lifeMs / 1000).toFixed(1)} s` };
}

function describeSkew(skewMs: number): string {
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  return `Date ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} this machine’s clock`;
}

export function judgeCut(trials: readonly Trial[]): Judgement {
  const cut = trials.filter(({ replies }) => replies.every(({ status }) => status === null));
  const made = cut.filter((trial) => trial.lookUps.some(isFound));
  const seen = `${cut.length} of ${trials.length} cut before an answer, ${made.length} of them paid`;
  if (cut.length === 0) return unknown(seen, 'every answer came before the connection could be cut');
  if (made.length === 0) return { verdict: 'no', seen, conclusion: 'not paid, as far as look-ups show' };
  return { verdict: 'yes', seen, conclusion: made.length === cut.length ? 'paid' : 'sometimes paid' };
}
