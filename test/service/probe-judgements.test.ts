import { describe, expect, test } from 'vitest';
import type { Capability } from '../../src/config/config.ts';
import type { Answer } from '../../src/service/answer.ts';
import { judgeCapabilities } from '../../src/service/probe/capabilities.ts';
import type { Verdict } from '../../src/service/probe/judgements.ts';
import { answerQuestions, type Question } from '../../src/service/probe/questions.ts';
import { type Evidence, type PaidTrial, type Seen, seenOf, type Trial } from '../../src/service/probe/seen.ts';

const QUOTE_ID = '11111111-2222-4333-8444-555555555555';
const OTHER_ID = '99999999-2222-4333-8444-555555555555';
const INITIATED_AT = '2026-03-01T10:00:00Z';

function answered(status: number, json: unknown): Answer {
  return { kind: 'answered', status, date: 0, retryAfter: null, json, requestId: null };
}

function payment(changes: object = {}, status = 201): Seen {
  const shown = { paymentId: QUOTE_ID, paymentState: 'INITIATED', initiatedAt: INITIATED_AT, ...changes };
  return seenOf(answered(status, shown));
}

function error(status: number, code = 'USR_003'): Seen {
  return seenOf(answered(status, { status, errors: [{ code, type: 'USER_ERROR', title: 'no' }] }));
}

const LOST = seenOf({ kind: 'lost', reason: 'time-out', status: null });

function trial(replies: readonly Seen[], changes: Partial<Trial> = {}): Trial {
  return { quoteId: QUOTE_ID, replies, lookUps: [payment({}, 200)], visibleAfterMs: 10, ...changes };
}

function paidTrial(replies: readonly Seen[], changes: Partial<PaidTrial> = {}): PaidTrial {
  const rest = { state: 'COMPLETED', again: payment({ paymentState: 'COMPLETED' }) };
  return { ...trial(replies), otherBeneficiary: error(400), rest, ...changes };
}

const DEAD = { lookUps: [error(404, 'USR_002'), error(404, 'USR_002')], visibleAfterMs: null };

/** Of a service that keeps its promises. */
const GOOD: Evidence = {
  quote: { seen: { lifeMs: 20_000, hasEnd: true, skewMs: 100 } },
  twice: { seen: paidTrial([payment(), payment()]) },
  failing: { unanswered: 'nobody is named' },
  atOnce: { seen: trial([payment(), error(409)]) },
  late: { seen: [{ ...trial([error(400)], DEAD), lateMs: 0 }] },
  cut: { seen: [trial([LOST])] },
  sameReference: { seen: [trial([payment()]), trial([payment()])] },
  badToken: { seen: trial([error(401), error(401)], DEAD) },
  burst: { seen: { requests: 20, retryAfters: [] } },
};

const MEASURE = { visibleMsMax: 1000 };

function judge(changes: Partial<Evidence>) {
  const evidence = { ...GOOD, ...changes };
  const findings = answerQuestions(evidence, MEASURE);
  const capabilities = judgeCapabilities(evidence, findings);
  return {
    verdict: (question: Question) => findings.find((finding) => finding.question === question)?.verdict,
    holding: Object.entries(capabilities).flatMap(([name, { holds }]) => (holds ? [name] : [])),
  };
}

interface Case {
  readonly changes: Partial<Evidence>;
  readonly question: Question;
  readonly verdict: Verdict;
  readonly lost: readonly Capability[];
}

const ONE: readonly Capability[] = ['one-payment-per-quote'];
const EXPIRED: readonly Capability[] = ['expired-quote-refused'];

const CASES: Readonly<Record<string, Case>> = {
  'two ids for one quote': {
    changes: { twice: { seen: paidTrial([payment(), payment({ paymentId: OTHER_ID })]) } },
    question: 'P1',
    verdict: 'no',
    lost: ['payment-id-is-quote-id', ...ONE],
  },
  'two times of initiation among ten': {
    changes: { atOnce: { seen: trial([payment(), payment({ initiatedAt: '2026-03-01T10:00:01Z' })]) } },
    question: 'P2',
    verdict: 'no',
    lost: ONE,
  },
  'a look-up that shows another payment than the answers did': {
    changes: {
      atOnce: {
        seen: trial([payment(), payment()], { lookUps: [payment({ initiatedAt: '2026-03-01T10:00:02Z' }, 200)] }),
      },
    },
    question: 'P2',
    verdict: 'no',
    lost: ONE,
  },
  'a completed payment that begins anew': {
    changes: {
      twice: { seen: paidTrial([payment(), payment()], { rest: { state: 'COMPLETED', again: payment() } }) },
    },
    question: 'P3',
    verdict: 'no',
    lost: ONE,
  },
  'a payment for the other beneficiary as well': {
    changes: { twice: { seen: paidTrial([payment(to(OTHER_ID))], { otherBeneficiary: payment(to(QUOTE_ID)) }) } },
    question: 'P7',
    verdict: 'no',
    lost: ONE,
  },
  'a repeat without an answer': {
    changes: { twice: { seen: paidTrial([payment(), LOST]) } },
    question: 'P1',
    verdict: 'not known',
    lost: ONE,
  },
  'a question that was not asked': {
    changes: { late: { unanswered: 'no time' } },
    question: 'P5',
    verdict: 'not known',
    lost: EXPIRED,
  },
  'an expired quote that met a server error': {
    changes: { late: { seen: [{ ...trial([error(500)], DEAD), lateMs: 0 }] } },
    question: 'P5',
    verdict: 'not known',
    lost: EXPIRED,
  },
  'an expired quote that was refused and is found all the same': {
    changes: { late: { seen: [{ ...trial([error(400)]), lateMs: 0 }] } },
    question: 'P5',
    verdict: 'no',
    lost: EXPIRED,
  },
  'a cut payment that is found only at the end': {
    changes: { cut: { seen: [trial([LOST], { visibleAfterMs: null })] } },
    question: 'P6',
    verdict: 'no',
    lost: ['payment-visible-in-time'],
  },
  'a reference that is refused the second time': {
    changes: { sameReference: { seen: [trial([payment()]), trial([error(409)])] } },
    question: 'P8',
    verdict: 'no',
    lost: [],
  },
  'a bad token that gets 403': {
    changes: { badToken: { seen: trial([error(403)], DEAD) } },
    question: 'P9',
    verdict: 'no',
    lost: [],
  },
  'a bad token that pays': {
    changes: { badToken: { seen: trial([error(401)]) } },
    question: 'P9',
    verdict: 'no',
    lost: [],
  },
  'answers that all came before the cut': {
    changes: { cut: { seen: [trial([payment()])] } },
    question: 'P11',
    verdict: 'not known',
    lost: [],
  },
  'a 429': {
    changes: { burst: { seen: { requests: 20, retryAfters: ['1'] } } },
    question: 'P12',
    verdict: 'no',
    lost: [],
  },
};

function to(beneficiaryIdentityId: string): object {
  return { destination: { beneficiaryIdentityId } };
}

describe('what was seen', () => {
  test('of a service that keeps its promises gives all four capabilities', () => {
    expect(judge({}).holding).toHaveLength(4);
  });

  test.each(Object.entries(CASES))('%s turns the answer', (_what, { changes, question, verdict, lost }) => {
    expect(judge({}).verdict(question)).toBe('yes');
    const judged = judge(changes);
    expect(judged.verdict(question)).toBe(verdict);
    expect(judged.holding).toEqual(judge({}).holding.filter((name) => !lost.some((one) => one === name)));
  });

  test('of a payment is its state too: a quote that can be read is no payment', () => {
    const quoted = trial([payment()], { lookUps: [payment({ paymentState: 'QUOTED' }, 200)], visibleAfterMs: null });
    expect(judge({ atOnce: { seen: quoted } }).holding).not.toContain('payment-visible-in-time');
  });
});
