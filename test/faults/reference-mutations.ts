import { type Mutation, named, replaced } from './mutation.ts';

const COMPARE = 'src/ledger/scripts/compare.ts';

/** Whose a reference is, which payments are known, and what a restore forgot of hand-ins. */
export const REFERENCE_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a reference keeps who had it before people allowed another row',
    edits: replaced(
      'src/ledger/scripts/duplicates.ts',
      "(holders[1] or '') .. ' ' .. (holders[2] or '')",
      "(holders[1] or '')",
    ),
    caughtBy: named(
      'test/runs/allowed-and-cancelled.test.ts',
      'a row that people allow beside one that may have been paid does not give their reference free, once that one was paid',
    ),
  },
  {
    guard: 'a paused run is not over while rows of it are held',
    edits: replaced('src/ledger/scripts/runs.ts', "from == 'paused' and held > 0", 'false'),
    caughtBy: named(
      'test/runs/paused-with-held-rows.test.ts',
      'a run that people paused stays so when its last open row ends and one that was held is allowed',
      'a run that waits for its time, and of which all rows are held, is not paid before it when one is allowed',
    ),
  },
  {
    guard: 'a step of a history has the time that Redis told',
    edits: replaced('src/ledger/scripts/commit.ts', 'text(at - tonumber(ms))', 'text(math.max(0, at - tonumber(ms)))'),
    caughtBy: named(
      'test/ledger/late-copy.test.ts',
      'an arming that the ledger knows is no breach when a copy of its directory joins, although the clock of Redis stepped back before it',
    ),
  },
  {
    guard: 'a reference that is taken back stands for its new holder too',
    edits: replaced(
      'src/ledger/scripts/commit.ts',
      "redis.call('HSET', referencesKey(hash), hash, found == '' and item.id or item.id .. ' ' .. found)",
      "redis.call('HSET', referencesKey(hash), hash, item.id)",
    ),
    caughtBy: named(
      'test/runs/found-and-failed.test.ts',
      'a payment that is found after all, and that fails then, does not give free the reference by which another row was paid',
    ),
  },
  {
    guard: 'an answer in the intent log takes the reference back',
    edits: replaced(
      COMPARE,
      'if isRejected then\n    if e.h and hasGivenReferenceFree(p) then claimReference(e, p) end',
      'if isRejected then',
    ),
    caughtBy: named(
      'test/runs/found-after-all-restored.test.ts',
      'a payout whose rejection was confirmed, and of whose payment the intent log alone still knows, takes its reference back from one that waits',
    ),
  },
  {
    guard: 'what a late host had armed takes its reference back',
    edits: replaced(
      COMPARE,
      'if hasGivenReferenceFree(p) then claimReference(e, p) end\n    if not isHeld',
      'if not isHeld',
    ),
    caughtBy: named(
      'test/runs/late-quote-reference.test.ts',
      'a payout that gave its reference free, and that a late host had armed too, takes it back from one that waits',
    ),
  },
  {
    guard: 'the only known payment is not forgotten by itself',
    edits: replaced('src/pay/track/track.ts', "isPaymentGone: song === 'payment',", 'isPaymentGone: true,'),
    caughtBy: named(
      'test/pay/forgotten-canary.test.ts',
      'a gateway that shows no payment, and answers all else, does not talk payrun out of the one that must be found',
    ),
  },
  {
    guard: 'a purge leaves the mark that payments were made',
    edits: replaced('src/ledger/scripts/purge.ts', "redis.call('RPUSH', known, '')", 'local _ = 0'),
    caughtBy: named(
      'test/ledger/purged-known-payment.test.ts',
      'a gateway that shows no payment, and answers all else, is not believed either once all that was paid is purged',
    ),
  },
  {
    guard: 'nobody takes over what people stopped',
    edits: replaced(
      'src/runs/hand-in/submit.ts',
      'if (await deps.ledger.recovery.isStoppedAhead(run.id)) throw refuseInterrupted(run);',
      '',
    ),
    caughtBy: named(
      'test/runs/paused-and-taken-over.test.ts',
      'a run that people paused after the copy, in which it was being recorded, is not paid because other bytes of its rows take it over',
    ),
  },
  {
    guard: 'a key is noted whoever made the stub',
    edits: replaced(
      'src/ledger/scripts/recovery.ts',
      "redis.call('HSETNX', runKey(run), 'onRecord', ARGV[4])\n  noteKey(run)",
      "redis.call('HSETNX', runKey(run), 'onRecord', ARGV[4])",
    ),
    caughtBy: named(
      'test/runs/key-of-a-stub.test.ts',
      'a hand-in under a key is carried on in its run, also where the intent log of another host had that before the audit log',
    ),
  },
  {
    guard: "a payment that shows another row's reference is not taken for this one's",
    edits: replaced('src/runs/decide/same-reference.ts', 'return other;', "return '';"),
    caughtBy: named(
      'test/runs/other-reference.test.ts',
      'a payout whose payment shows another reference is not settled as paid by a payment that shows the reference of another row and all that was asked for, and can be settled otherwise',
      'a payout whose payment shows another reference is not settled as paid by a payment that shows the reference of another row and another beneficiary, and can be settled otherwise',
    ),
  },
];
