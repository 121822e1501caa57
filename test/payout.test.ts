import { describe, expect, test } from 'vitest';
import { MOVES, mayMove } from '../src/moves.ts';
import {
  ARMINGS_PER_QUOTE_MAX,
  type DropReason,
  FREE_STATES,
  OPEN_STATES,
  OUTCOMES,
  type Outcome,
  outcomeOf,
  PAYMENT_STATES,
  PAYOUT_STATES,
  PAYOUT_TRIED_MS_MAX,
  type PayoutState,
  payoutId,
  QUOTES_PER_PAYOUT_MAX,
  RUN_MOVES,
  RUN_STATES,
  type RunState,
} from '../src/payout.ts';

type When = 'always' | 'sent' | 'never sent';

/** The table of states in architecture.md, row by row, and its rule 4 (quoted to held); apart from who causes the move. */
const TABLE: readonly (readonly [from: PayoutState, to: PayoutState, when: When])[] = [
  ['ready', 'armed', 'always'],
  ['ready', 'held', 'always'],
  ['ready', 'rejected', 'always'],
  ['ready', 'cancelled', 'always'],
  ['armed', 'accepted', 'always'],
  ['armed', 'quoted', 'always'],
  ['armed', 'ready', 'always'],
  ['armed', 'rejected', 'always'],
  ['armed', 'unknown', 'always'],
  ['quoted', 'armed', 'always'],
  ['quoted', 'unknown', 'always'],
  ['quoted', 'accepted', 'always'],
  ['quoted', 'held', 'always'],
  ['unknown', 'accepted', 'always'],
  ['unknown', 'ready', 'always'],
  ['unknown', 'cancelled', 'always'],
  ['unknown', 'held', 'always'],
  ['rejected', 'accepted', 'sent'],
  ['held', 'ready', 'never sent'],
  ['held', 'cancelled', 'never sent'],
  ['held', 'accepted', 'sent'],
  ['held', 'rejected', 'sent'],
  ['held', 'completed', 'sent'],
  ['accepted', 'completed', 'always'],
  ['accepted', 'failed', 'always'],
  ['accepted', 'returned', 'always'],
  ['accepted', 'held', 'always'],
  ['completed', 'returned', 'always'],
];

/** Rules 6 and 8 of architecture.md: a quote is dropped only when no byte left for it, or when it is proven dead. */
const DROPS: ReadonlyMap<string, DropReason> = new Map([
  ['armed>ready', 'not-sent'],
  ['unknown>ready', 'proven-dead'],
  ['unknown>cancelled', 'proven-dead'],
]);

const PAIRS = PAYOUT_STATES.flatMap((from) => PAYOUT_STATES.map((to) => [from, to] as const));

describe('the moves of a payout', () => {
  test.each(PAIRS)('%s to %s is allowed exactly when the design says so', (from, to) => {
    const when = TABLE.find((row) => row[0] === from && row[1] === to)?.[2];
    const dropQuote = DROPS.get(`${from}>${to}`);
    const drop = dropQuote === undefined ? {} : { dropQuote };
    expect(mayMove({ from, to, sent: true, ...drop })).toBe(when === 'always' || when === 'sent');
    expect(mayMove({ from, to, sent: false, ...drop })).toBe(when === 'always' || when === 'never sent');
  });

  test.each(PAIRS)('%s to %s drops a quote for no other reason than the design has', (from, to) => {
    for (const dropQuote of [undefined, 'not-sent', 'proven-dead'] as const) {
      if (dropQuote === DROPS.get(`${from}>${to}`)) continue;
      const drop = dropQuote === undefined ? {} : { dropQuote };
      expect(mayMove({ from, to, sent: true, ...drop })).toBe(false);
      expect(mayMove({ from, to, sent: true, breach: true, ...drop })).toBe(
        dropQuote === undefined && to === 'held' && from !== 'held',
      );
    }
  });

  test('stand in the table once each, with a reason', () => {
    const names = MOVES.map(({ from, to }) => `${from}>${to}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(TABLE.length);
    expect(MOVES.filter(({ by }) => by === '')).toEqual([]);
  });

  test('lead nowhere from failed, returned and cancelled: what the service gave back is never paid again', () => {
    const ends = PAYOUT_STATES.filter((state) => !MOVES.some(({ from }) => from === state));
    expect(ends).toEqual(['cancelled', 'failed', 'returned']);
  });

  test('reach every state from ready', () => {
    const reached = new Set<PayoutState>(['ready']);
    for (const state of reached) for (const { from, to } of MOVES) if (from === state) reached.add(to);
    expect([...reached].toSorted()).toEqual([...PAYOUT_STATES].toSorted());
  });

  test('never lead back to ready, nor to cancelled, once the service has made the payment', () => {
    const reached = new Set(PAYMENT_STATES);
    for (const state of reached) {
      for (const { from, to } of MOVES) if (from === state && mayMove({ from, to, sent: true })) reached.add(to);
    }
    // Held when the service does not know it any more; from there two people settle that it was not paid.
    expect([...reached].toSorted()).toEqual([...PAYMENT_STATES, 'held', 'rejected'].toSorted());
  });

  test('a fact beats a doubt: every state that a sent payout can be in without a payment leads to accepted', () => {
    const doubts: PayoutState[] = ['armed', 'quoted', 'unknown', 'held', 'rejected'];
    expect(doubts.filter((from) => !mayMove({ from, to: 'accepted', sent: true }))).toEqual([]);
  });

  test('a breach may hold a payout from any state, and do nothing else', () => {
    for (const [from, to] of PAIRS) {
      for (const sent of [true, false]) {
        const expected = to === 'held' && from !== 'held';
        expect([from, to, mayMove({ from, to, sent, breach: true })]).toEqual([from, to, expected]);
      }
    }
  });
});

describe('the outcome of a row', () => {
  test.each<[PayoutState | 'refused', Outcome]>([
    ['ready', 'waiting'],
    ['armed', 'unknown'],
    ['quoted', 'unknown'],
    ['unknown', 'unknown'],
    ['accepted', 'pending'],
    ['completed', 'paid'],
    ['failed', 'failed'],
    ['returned', 'returned'],
    ['rejected', 'rejected'],
    ['held', 'held'],
    ['cancelled', 'cancelled'],
    ['refused', 'refused'],
  ])('%s is %s', (state, outcome) => {
    expect(outcomeOf(state)).toBe(outcome);
  });

  test('is one of the ten of the report, and each of them has a state', () => {
    const had = new Set([...PAYOUT_STATES, 'refused' as const].map(outcomeOf));
    expect([...had].toSorted()).toEqual([...OUTCOMES].toSorted());
    expect(OUTCOMES).toHaveLength(10);
  });
});

describe('the groups of states', () => {
  test('a run is open while a payout is ready, armed, quoted or unknown', () => {
    expect(OPEN_STATES).toEqual(['ready', 'armed', 'quoted', 'unknown']);
  });

  test('there is a payment when it is accepted, completed, failed or returned', () => {
    expect([...PAYMENT_STATES].toSorted()).toEqual(['accepted', 'completed', 'failed', 'returned']);
  });

  test('a reference is free again after rejected, failed, returned and cancelled', () => {
    expect([...FREE_STATES].toSorted()).toEqual(['cancelled', 'failed', 'rejected', 'returned']);
  });
});

describe('the moves of a run', () => {
  test.each<[RunState, RunState[]]>([
    ['recording', ['awaiting-approval', 'paying', 'cancelled']],
    ['awaiting-approval', ['paying', 'cancelled']],
    ['paying', ['paused', 'finished', 'cancelled']],
    ['paused', ['paying', 'finished', 'cancelled']],
    ['finished', []],
    ['cancelled', []],
  ])('%s leads to %o and nowhere else', (from, to) => {
    expect([...RUN_MOVES[from]].toSorted()).toEqual(to.toSorted());
  });

  test('no run is paid that was not recorded whole', () => {
    expect(RUN_STATES.filter((state) => RUN_MOVES[state].includes('recording'))).toEqual([]);
    expect(RUN_STATES.filter((state) => RUN_MOVES[state].includes('paying'))).not.toContain('cancelled');
  });
});

test('a payout is tried with 5 quotes, 5 times each, for 24 hours at most', () => {
  expect(QUOTES_PER_PAYOUT_MAX).toBe(5);
  expect(ARMINGS_PER_QUOTE_MAX).toBe(5);
  expect(PAYOUT_TRIED_MS_MAX).toBe(86_400_000);
});

test('a payout id is the run id and the line', () => {
  expect(payoutId({ runId: '20260131-k3f9xq', line: 2 })).toBe('20260131-k3f9xq-2');
});
