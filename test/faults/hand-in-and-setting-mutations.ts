import { type Mutation, named, replaced } from './mutation.ts';

const PAYMENT_AND_HAND_IN_TESTS = 'test/restore/payments-and-killed-hand-ins.test.ts';

/** Hand-ins that were cut short, safety settings, and payments that people settle. */
export const HAND_IN_AND_SETTING_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a purged run keeps its reference when logs are compared',
    edits: replaced('src/ledger/scripts/compare.ts', 'if holder ~= id and not other and isPurged(run)', 'if false'),
    caughtBy: named(
      'test/runs/purged-and-allowed.test.ts',
      'a reference that a purged run was paid by, and that people allowed once more, is not free when the second row failed and a restore forgot it',
    ),
  },
  {
    guard: 'a failed payment does not settle a row that has another one',
    edits: replaced(
      'src/runs/decide/evidence.ts',
      'if (hasFailed(named)) return { words, caveats, contradiction:',
      'if (false) return { words, caveats, contradiction:',
    ),
    caughtBy: named(
      PAYMENT_AND_HAND_IN_TESTS,
      'after a restore, a payment that was made beside a failed one is never called dead, and the failed one does not settle its row',
    ),
  },
  {
    guard: 'people decide nothing before all have compared',
    edits: replaced('src/runs/decide/decide.ts', '(await ensureSeason()).length > 0', 'false'),
    caughtBy: named(
      PAYMENT_AND_HAND_IN_TESTS,
      'what a host that has yet to compare, or was written off, may have sent is not called never sent',
    ),
  },
  {
    guard: 'the time of a hand-in that was cut short holds for whoever carries it on',
    edits: replaced(
      'src/runs/hand-in/submit.ts',
      'askedStart: by.askedStart ?? claimed.askedStart,',
      'askedStart: null,',
    ),
    caughtBy: named(
      PAYMENT_AND_HAND_IN_TESTS,
      'a hand-in that was killed while it recorded keeps its time when somebody else carries it on',
    ),
  },
  {
    guard: 'what was said of a file that was cut short holds for its rows in another one',
    edits: replaced(
      'src/ledger/scripts/hand-in.ts',
      "fields[name] = redis.call('HGET', runKey(known), name) or fields[name]",
      'fields[name] = fields[name]',
    ),
    caughtBy: named(
      PAYMENT_AND_HAND_IN_TESTS,
      'a hand-in that was killed while it recorded keeps its time and its stages when the same rows in other bytes take it over',
    ),
  },
  {
    guard: 'a payment that people settle as it is shown is followed to its end',
    edits: replaced('src/runs/decide/decide.ts', "finalState(found.payment.paymentState) === 'completed'", 'true'),
    caughtBy: named(
      'test/runs/decide.test.ts',
      'a payment that shows another amount than ours and is VALIDATING is settled as it is shown by two people who name it: it is accepted, and nothing is halted again',
    ),
  },
  {
    guard: 'one person changes only the settings that they saw',
    edits: replaced(
      'src/ledger/scripts/head.ts',
      "if redis.call('HGET', HEAD, 'safety') ~= ARGV[2] then return 0 end",
      '',
    ),
    caughtBy: named(
      'test/ledger/head.test.ts',
      'opening a ledger adopts no safety settings in place of others than those that were seen',
    ),
  },
  {
    guard: 'whoever hands in cannot make a reference free sooner than the ledger does',
    edits: replaced(
      'src/runs/hand-in/agreed-rules.ts',
      "Math.max(rememberMs, agreed('references', REMEMBER_MS))",
      'rememberMs',
    ),
    caughtBy: named(
      'test/runs/remembered.test.ts',
      'whoever hands in cannot make a reference free sooner than the ledger does',
    ),
  },
  {
    guard: 'a clock of Redis that is ahead alone ends no watch for returns',
    edits: replaced('src/ledger/scripts/runs.ts', 'math.min(at, tonumber(ARGV[2]))', 'at'),
    caughtBy: named(
      'test/ledger/runs.test.ts',
      'watching for returns does not end because the clock of Redis is ahead of all others',
    ),
  },
  {
    guard: 'an arming compares the safety settings of its process',
    edits: replaced('src/ledger/scripts/commit.ts', "ARGV[7] ~= '' and head[4] ~= ARGV[7]", 'false'),
    caughtBy: named(
      'test/ledger/arming.test.ts',
      "a payout is not armed, and nothing changes, when 'other safety settings were adopted': 'settings'",
    ),
  },
];
