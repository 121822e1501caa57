import { type Mutation, named, replaced } from './mutation.ts';

const BESIDE = 'test/runs/beside-quotes.test.ts';
const STAGES = 'test/runs/stages.test.ts';

/** The proof that a quote beside a failed payment is over, and what a resume undoes. */
export const BESIDE_PROOF_AND_RESUME_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a quote beside a failed payment is over only by a proof of death',
    edits: replaced('src/pay/track/beside.ts', "if (!canBeProvenDead(payout, rules)) return 'never';", ''),
    caughtBy: named(
      BESIDE,
      'where the service said yes to the first one, a payment that fails beside another quote is held for people',
    ),
  },
  {
    guard: 'one "not found" of a quote beside a failed payment does not count alone',
    edits: replaced('src/pay/track/beside.ts', 'rules.now - payout.notFoundAt >= rules.notFoundGapMs', 'true'),
    caughtBy: named(
      BESIDE,
      'one "not found" of another quote does not end a payout, nor do two without the gap between them',
    ),
  },
  {
    guard: 'a settlement that logs tell of leaves the own quote beside it',
    edits: replaced('src/ledger/scripts/compare.ts', 'if isNamed and not isFormerQuote(p, quote)', 'if false'),
    caughtBy: named(
      BESIDE,
      'a settlement by another payment that Redis forgot leaves the own quote beside it when logs tell of it',
    ),
  },
  {
    guard: 'a payout that its own quote settles forgets the payment that had settled it',
    edits: replaced('src/pay/facts.ts', '{ paymentId: null }', '{}'),
    caughtBy: named(BESIDE, 'a payout that a failed payment had settled is settled by its own quote, once and for all'),
  },
  {
    guard: 'a resume releases no stage that its user did not see',
    edits: replaced('src/runs/decide/control.ts', 'stage !== run.stages.at + 1', 'false'),
    caughtBy: named(STAGES, 'a run with stages is not released further by whoever saw an earlier stage'),
  },
  {
    guard: 'a resume undoes no pause that its user did not see',
    edits: replaced('src/ledger/scripts/runs.ts', 'pause and pause ~= ARGV[11]', 'false'),
    caughtBy: named(
      'test/runs/control.test.ts',
      'a resume that stood still does not undo a pause that its user never saw',
    ),
  },
  {
    guard: 'nobody asks for more of a hand-in beside somebody who records it',
    edits: replaced('src/ledger/scripts/runs.ts', 'if isMore and isBusy then', 'if false then'),
    caughtBy: named(
      'test/runs/carried-on.test.ts',
      'whoever asks for stages while somebody records the rows without it is refused, and changes nothing',
    ),
  },
  {
    guard: 'a row is compared in all that it says',
    edits: replaced('src/ledger/runs/recording.ts', 'ROW_PLACES.some(', "['ref'].some("),
    caughtBy: named(
      'test/ledger/recording.test.ts',
      'recording of a file that had another originator while it was recorded is refused',
    ),
  },
  {
    guard: 'a late tick starts only runs that waited when its time came',
    edits: replaced('src/runs/hand-in/start.ts', 'waitsSince(run) <= plannedMs', 'true'),
    caughtBy: named(
      'test/runs/start.test.ts',
      'a run that waits for a schedule is not started by a tick whose time had come before it was handed in',
    ),
  },
];
