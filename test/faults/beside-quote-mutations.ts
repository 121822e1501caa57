import { type Mutation, named, replaced } from './mutation.ts';

const BESIDE = 'test/runs/beside-quotes.test.ts';
const CARRIED_ON = 'test/runs/carried-on.test.ts';
const KNOWN_AS = 'test/runs/known-as.test.ts';

/** Quotes beside the one that settles a row, and hand-ins that somebody carries on. */
export const BESIDE_QUOTE_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'the payment that settled a payout is no breach at its run end',
    edits: replaced('src/runs/after/finish.ts', 'if (quoteId === payout.paymentId)', 'if (false)'),
    caughtBy: named(
      BESIDE,
      'the right settlement by a payment beside stands at the end of the run, also made twice, and says nothing of the service',
    ),
  },
  {
    guard: 'the own quote of a payout that another payment settled is looked up',
    edits: replaced('src/ledger/payouts/decide-move.ts', 'leavesQuote === true', 'false'),
    caughtBy: named(
      'test/runs/settled-by-another.test.ts',
      'the own quote of a payout that another payment settled is asked for at the end of the run and whenever payments are read back',
    ),
  },
  {
    guard: 'as which run one is known stays',
    edits: replaced('src/ledger/scripts/compare.ts', "redis.call('HGET', KNOWN_AS, e.r) or ''", "''"),
    caughtBy: named(
      KNOWN_AS,
      'a run that is known as another one stays known as that one after a plain restart, though its file was handed in once more',
    ),
  },
  {
    guard: 'what whoever carries a hand-in on says is kept',
    edits: replaced('src/ledger/scripts/hand-in.ts', "if f[1] == 'recording' and not f[2] then", 'if false then'),
    caughtBy: named(CARRIED_ON, 'the time that whoever carries a hand-in on says holds after a second kill'),
  },
  {
    guard: 'nobody switches off alone that likely duplicates are held',
    edits: replaced(
      'src/runs/hand-in/agreed-rules.ts',
      "Math.max(duplicatesWithinMs, agreed('likely duplicates', LIKELY_MS))",
      'duplicatesWithinMs',
    ),
    caughtBy: named(
      'test/runs/remembered.test.ts',
      'whoever hands in cannot switch off alone that likely duplicates are held',
    ),
  },
];
