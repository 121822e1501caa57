import { type Mutation, named, replaced } from './mutation.ts';

const COMMIT = 'src/ledger/scripts/commit.ts';
const HAND_IN_TESTS = 'test/runs/stops-of-hand-ins.test.ts';
const REFERENCE_TESTS = 'test/runs/other-reference.test.ts';

/** Pauses, approvals and stages that hold, and payments that are known. */
export const STOP_AND_KNOWN_PAYMENT_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'an approval lets only a run go that waits for it',
    edits: replaced(
      'src/runs/decide/approve.ts',
      "const move = { from: 'awaiting-approval', to: 'paying',",
      "const move = { to: 'paying',",
    ),
    caughtBy: named(
      'test/runs/frozen-approval.test.ts',
      'an approval that was frozen right before it let its run go does not let a run go that a person has paused since',
      'an approval that was frozen right before it let its run go releases no stage that nobody has released',
    ),
  },
  {
    guard: 'a run that people paused in the lost time begins paused',
    edits: replaced('src/ledger/scripts/runs.ts', 'elseif stopAhead then', 'elseif false then'),
    caughtBy: named(
      HAND_IN_TESTS,
      'a run that people paused after the copy, in which it was being recorded, is paused when its file comes again',
    ),
  },
  {
    guard: 'the key of a hand-in that Redis forgot leads to its run',
    edits: replaced(
      'src/runs/safety/missed-decisions.ts',
      '{ onRecord: writeEntry(entry), key }',
      '{ onRecord: writeEntry(entry) }',
    ),
    caughtBy: named(
      HAND_IN_TESTS,
      'a hand-in under a key of which Redis forgot is carried on in its run, also where people cancelled that meanwhile',
    ),
  },
  {
    guard: 'a payment that was made is known from then on',
    edits: replaced(
      'src/ledger/payouts/decide-move.ts',
      "return isMade && !isOneOf(PAYMENT_STATES, record.state) ? [['known', credentials, paymentId]] : [];",
      'return [];',
    ),
    caughtBy: named(
      'test/ledger/known-payments.test.ts',
      'a payment that is known to exist is found whatever became of it, and however many runs of which nothing was paid came later',
    ),
  },
  {
    guard: 'a payment is followed whatever its reference looks like',
    edits: replaced(
      'src/pay/track/track.ts',
      "'payment' in reading",
      "'payment' in reading && reading.kind !== 'other-reference'",
    ),
    caughtBy: named(REFERENCE_TESTS, 'a payout whose payment shows another reference does not stay accepted for ever'),
  },
  {
    guard: 'whoever gives a time notes the clock that it goes by',
    edits: replaced(
      'src/ledger/scripts/prelude.ts',
      "if f[1] and at - tonumber(f[2] or '0') > ${STEP_MS_MIN} then",
      'if false then',
    ),
    caughtBy: named(
      'test/ledger/clock-step.test.ts',
      'a clock of Redis that steps back by an hour keeps nothing waiting either when nobody looked at the clock while it was ahead',
    ),
  },
  {
    guard: 'nothing of a stage that is not released is armed',
    edits: replaced(COMMIT, ' or not isReleased(b.run, line)', ''),
    caughtBy: named(
      'test/runs/stages.test.ts',
      'a row of a stage that is not released is not armed, whoever still holds its slice',
    ),
  },
  {
    guard: 'a payout that is found after all takes its reference back',
    edits: replaced(
      'src/ledger/payouts/decide-move.ts',
      "if (isFoundAfterAll(record, to) && move.referenceHash !== undefined) all.push(['refback'",
      "if (move.referenceHash === undefined) all.push(['refback'",
    ),
    caughtBy: named(
      'test/runs/found-after-all.test.ts',
      'a payout whose rejection was confirmed, and that was paid after all, takes its reference back from one that waits',
    ),
  },
  {
    guard: 'a directory that was given up in the lost time is waited for again',
    edits: replaced('src/runs/safety/missed-decisions.ts', 'await ledger.state.enterDir(dataDirId, true);', ''),
    caughtBy: named(
      HAND_IN_TESTS,
      'a directory of which Redis forgot that people gave it up (data-dir.retired) keeps the season closed',
    ),
  },
  {
    guard: 'a pause gives no row up',
    edits: replaced(
      'src/ledger/scripts/duplicates.ts',
      "(redis.call('HGET', STOPS_AHEAD, run) or 'run.paused') ~= 'run.paused'",
      "redis.call('HEXISTS', STOPS_AHEAD, run) == 1",
    ),
    caughtBy: named(
      'test/runs/paused-and-forgotten.test.ts',
      'a run of which Redis forgot, with the pause of it, comes back paused, and its rows as they were',
    ),
  },
];
