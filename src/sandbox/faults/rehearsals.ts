import type { SwitchSettings } from './switches.ts';

/** A mix of switches under which a finance team rehearses its own file. */
export interface Rehearsal {
  readonly meaning: string;
  readonly switches: SwitchSettings;
}

/** Short, so that a payout of which nobody knows whether it was paid is soon decided. */
const SHORT_QUOTES = { quoteLifeMs: 4000 };
/** After the request time-out of a rehearsal (3 s), and while such a quote still lives. */
const LATE = { lateCommitMs: 3300 };

/** Paid, but the answer never arrives whole. */
const LOST_ANSWERS = {
  dropAfterCommit: 0.02,
  halfOpenAfterCommit: 0.01,
  timeoutAfterCommit: 0.01,
  error500AfterCommit: 0.01,
  error502AfterCommit: 0.01,
  error503AfterCommit: 0.01,
  error504AfterCommit: 0.01,
  html502AfterCommit: 0.01,
  html200AfterCommit: 0.01,
  emptyAfterCommit: 0.01,
  cutLengthAfterCommit: 0.01,
  cutChunkedAfterCommit: 0.01,
  cutCloseAfterCommit: 0.01,
  dripAfterCommit: 0.01,
};

export const REHEARSALS = {
  calm: { meaning: 'Nothing goes wrong: the shortest way to see a run and its report.', switches: {} },
  slow: {
    meaning: 'Every answer takes its time, and payments take seconds to complete.',
    switches: {
      tokenDelayMs: 1000,
      answerDelayMs: { quotes: 500, payments: 1500, payment: 300 },
      completesAfterMs: 4000,
    },
  },
  storm: {
    meaning:
      'Everything at once: lost, cut, late and wrong answers, refused and revoked tokens, empty quotes, slow look-ups.',
    switches: {
      ...SHORT_QUOTES,
      ...LATE,
      ...LOST_ANSWERS,
      dropBeforeCommit: 0.02,
      halfOpenBeforeCommit: 0.01,
      timeoutBeforeCommit: 0.01,
      error500BeforeCommit: 0.01,
      error502BeforeCommit: 0.01,
      error503BeforeCommit: 0.01,
      error504BeforeCommit: 0.01,
      html502BeforeCommit: 0.01,
      lateCommit: 0.01,
      lateCommitAfterDrop: 0.01,
      gatewayDoubles: 0.01,
      tooMany: 0.005,
      unauthorised: 0.01,
      quoteFails: 0.01,
      quoteEmpty: 0.02,
      quoteDrop: 0.01,
      quoteHtml: 0.01,
      quoteCut: 0.01,
      lookUpDrop: 0.02,
      lookUpError500: 0.02,
      lookUpBareNotFound: 0.02,
      lookUpHtml: 0.02,
      lookUpCut: 0.02,
      tokenFails: 0.1,
      revokeTokensEveryMs: 3000,
      visibilityDelayMs: 500,
      dripMs: 200,
    },
  },
  'lost-answers': {
    meaning: 'A third of the payments are made without their answers arriving: each has to be looked up.',
    switches: {
      ...SHORT_QUOTES,
      ...LATE,
      ...LOST_ANSWERS,
      dropAfterCommit: 0.15,
      timeoutAfterCommit: 0.03,
      cutLengthAfterCommit: 0.05,
      lateCommitAfterDrop: 0.05,
      visibilityDelayMs: 500,
    },
  },
  outage: {
    meaning: 'The service is down for 3 of every 10 seconds, and refuses some requests in between.',
    switches: {
      ...SHORT_QUOTES,
      outageEveryMs: 10_000,
      outageLastsMs: 3000,
      error503BeforeCommit: 0.05,
      quoteError503: 0.05,
      lookUpError503: 0.1,
    },
  },
  limits: {
    meaning:
      'The service often asks to wait, with every kind of Retry-After: seconds, dates, none, and what cannot be read.',
    switches: {
      tooMany: 0.01,
      quoteTooMany: 0.005,
      lookUpTooMany: 0.005,
      retryAfter: '1|2|date+2|date-60||soon',
    },
  },
  refusals: {
    meaning:
      'Some rows are refused for good, some payments fail or come back: what the report and the retry file look like then.',
    switches: {
      quoteLifeMs: 12_000,
      refused: 0.08,
      quoteRefused: 0.04,
      endsFailed: 0.06,
      endsReturned: 0.04,
    },
  },
  'no-funds': {
    meaning: 'The balance runs out in the middle: the run pauses and says why.',
    switches: { ...SHORT_QUOTES, paymentRequired: 0.05 },
  },
} as const satisfies Readonly<Record<string, Rehearsal>>;

export type RehearsalName = keyof typeof REHEARSALS;

/** The names in the order of their table. */
export const REHEARSAL_NAMES = Object.keys(REHEARSALS).filter((name): name is RehearsalName =>
  Object.hasOwn(REHEARSALS, name),
);
