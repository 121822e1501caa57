import {
  type Judgement,
  judgeAfterRest,
  judgeBadToken,
  judgeBurst,
  judgeCut,
  judgeLate,
  judgeOtherBeneficiary,
  judgeQuote,
  judgeRepeated,
  judgeSameReference,
  judgeVisible,
  type Measure,
  restedIn,
  unauthorisedTrials,
  type Verdict,
  visibleTrials,
} from './judgements.ts';
import type { Asked, Burst, Evidence, LateTrial, PaidTrial, QuoteSeen, Trial } from './seen.ts';

export type Question = 'P1' | 'P2' | 'P3' | 'P4' | 'P5' | 'P6' | 'P7' | 'P8' | 'P9' | 'P10' | 'P11' | 'P12';

/** A question's answer, for people. */
export interface Finding {
  readonly question: Question;
  readonly asked: string;
  readonly verdict: Verdict;
  readonly seen: string;
  readonly conclusion: string;
  /** For payrun. */
  readonly meaning: string;
}

interface Row<T> {
  readonly asked: string;
  readonly judge: (seen: T, measure: Measure) => Judgement;
  readonly yes: string;
  readonly no: string;
  readonly unknown: string;
}

const NO_CAPABILITY = 'A capability that rests on this does not hold until it is known: nothing is proven dead.';
const NOT_USED = 'payrun does not rely on it.';
const TWICE_IS_FATAL =
  'Sending a quote again after a 401 or 429 could pay twice: nothing is proven dead, people decide.';

/** Judges all twelve questions. */
export function answerQuestions(evidence: Evidence, measure: Measure): Finding[] {
  const answer = <T>(question: Question, asked: Asked<T>, row: Row<T>): Finding => {
    const judged: Judgement =
      'seen' in asked
        ? row.judge(asked.seen, measure)
        : { verdict: 'not known', seen: 'nothing', conclusion: asked.unanswered };
    const meaning = { yes: row.yes, no: row.no, 'not known': row.unknown }[judged.verdict];
    return { question, asked: row.asked, ...judged, meaning };
  };
  const { twice, failing, atOnce, late, cut, sameReference, quote, burst } = evidence;
  return [
    answer('P1', twice, REPEATED),
    answer('P2', atOnce, AT_ONCE),
    answer('P3', restedIn([twice, failing], 'COMPLETED'), AFTER_COMPLETED),
    answer('P4', restedIn([twice, failing], 'FAILED'), AFTER_FAILED),
    answer('P5', late, LATE),
    answer('P6', visibleTrials(evidence), VISIBLE),
    answer('P7', twice, OTHER_BENEFICIARY),
    answer('P8', sameReference, SAME_REFERENCE),
    answer('P9', unauthorisedTrials(evidence), BAD_TOKEN),
    answer('P10', quote, QUOTE),
    answer('P11', cut, CUT),
    answer('P12', burst, TOO_MANY),
  ];
}

const REPEATED: Row<PaidTrial> = {
  asked: 'The same quote is sent twice, one after the other: is it one payment?',
  judge: judgeRepeated,
  yes: 'A repeat after a 401 or 429 is harmless.',
  no: TWICE_IS_FATAL,
  unknown: NO_CAPABILITY,
};

const AT_ONCE: Row<Trial> = {
  asked: 'The same quote is sent ten times at once: is it one payment?',
  judge: judgeRepeated,
  yes: 'Two processes that sent one quote would still make one payment.',
  no: TWICE_IS_FATAL,
  unknown: NO_CAPABILITY,
};

const AFTER_COMPLETED: Row<PaidTrial> = {
  asked: 'The same quote is sent again after its payment was completed: is it one payment?',
  judge: judgeAfterRest,
  yes: 'A request that arrives very late pays nothing more.',
  no: TWICE_IS_FATAL,
  unknown: NO_CAPABILITY,
};

const AFTER_FAILED: Row<PaidTrial> = {
  asked: 'The same quote is sent again after its payment failed: does the payment stay failed?',
  judge: judgeAfterRest,
  yes: 'A row that failed is paid again by a new quote only.',
  no: 'A late request would bring a failed payment to life: do not hand in failed rows again before their quotes have ended.',
  unknown: 'payrun never sends the quote of a failed payment again.',
};

const LATE: Row<readonly LateTrial[]> = {
  asked: 'A quote is first sent after its end, and 1 s later: is it refused, and never paid?',
  judge: judgeLate,
  yes: 'A quote past its end and grace, twice looked up and not found, is dead: its payout may be paid by a new one.',
  no: 'A late request can still be paid: nothing is ever proven dead, people decide.',
  unknown: NO_CAPABILITY,
};

const VISIBLE: Row<readonly Trial[]> = {
  asked: 'How soon does the look-up by the quote’s id find a payment that was made?',
  judge: judgeVisible,
  yes: '"Not found" after the grace means that there is none.',
  no: '"Not found" may be said of a payment that was made: nothing is ever proven dead. A longer PAYRUN_QUOTE_GRACE may fix it.',
  unknown: NO_CAPABILITY,
};

const OTHER_BENEFICIARY: Row<PaidTrial> = {
  asked: 'The same quote is sent again for another beneficiary: is it one payment?',
  judge: judgeOtherBeneficiary,
  yes: 'A quote stays with the beneficiary whom it paid.',
  no: TWICE_IS_FATAL,
  unknown: NOT_USED,
};

const SAME_REFERENCE: Row<readonly Trial[]> = {
  asked: 'Two quotes are paid under one internalId: are both payments made?',
  judge: judgeSameReference,
  yes: 'As payrun assumes: internalId is no guard against paying twice. A filter by it is not on the interface page and was not asked.',
  no: 'A row that is paid by a second quote, or handed in again after a failure, may be refused: give it a new reference.',
  unknown: NOT_USED,
};

const BAD_TOKEN: Row<readonly Trial[]> = {
  asked: 'A payment request carries a bad token, then one long expired: is it 401, and is nothing paid?',
  judge: judgeBadToken,
  yes: 'As payrun assumes: after a 401 the same quote may be sent again.',
  no: 'A 401 is no refusal here, or bad tokens get no 401: a quote that met one is looked up; rely on one-payment-per-quote.',
  unknown: 'payrun assumes that 401 means that nothing was done.',
};

const QUOTE: Row<QuoteSeen> = {
  asked: 'How long does a quote live, does it show its end, and is the service’s clock right?',
  judge: judgeQuote,
  yes: 'expiresAt and the Date of answers show the end of a quote.',
  no: 'Nothing shows when a quote has ended: nothing is ever proven dead, people decide.',
  unknown: NO_CAPABILITY,
};

const CUT: Row<readonly Trial[]> = {
  asked: 'The connection is cut right after a payment request: is the payment made?',
  judge: judgeCut,
  yes: 'A lost answer says nothing about the payment: payrun looks it up, and finds it.',
  no: 'Requests of lost connections seem not to be carried out. payrun looks them up all the same.',
  unknown: 'payrun takes a lost answer for unknown and looks the payment up.',
};

const TOO_MANY: Row<Burst> = {
  asked: 'Are many reads at once answered with 429, and with Retry-After?',
  judge: judgeBurst,
  yes: 'PAYRUN_RATE and PAYRUN_TRACK_RATE need not be set for this.',
  no: 'payrun waits as long as the service says, else 5 s; keep below the limit with PAYRUN_RATE and PAYRUN_TRACK_RATE.',
  unknown: NOT_USED,
};
