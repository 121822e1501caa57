import { type Mutation, named, replaced } from './mutation.ts';

const COMPARE = 'src/ledger/scripts/compare.ts';
const SETTLED = 'test/runs/settled-and-found.test.ts';
const LATE = 'test/runs/late-quotes.test.ts';

/** What a comparison of logs tells people, once, and what they settled before it. */
export const TOLD_AND_OVERTURNED_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a yes to a quote beside is news until people were told of it',
    edits: replaced(COMPARE, "wasFound(p.run, e.y) and p.state ~= 'unknown'", "p.state ~= 'unknown'"),
    caughtBy: named(
      SETTLED,
      'a payment beside that was found is known again after a restore to a time when its payout was held already',
    ),
  },
  {
    guard: 'what people knew when they settled is no news',
    edits: replaced('src/runs/decide/decide.ts', '        ...knownYes(payout),\n', ''),
    caughtBy: named(
      SETTLED,
      'a restart of Redis that forgets nothing undoes nothing that two people settled as not paid: a payout whose payment the service made and forgot',
    ),
  },
  {
    guard: 'a payment that was found after a settlement overturns it',
    edits: replaced(COMPARE, '(not isTold or overturns(e, p))', 'not isTold'),
    caughtBy: named(
      SETTLED,
      'a payment that is found after two people settled its payout as not paid stops the retry also where a restore forgot it: one that the service had made and forgotten',
    ),
  },
  {
    guard: 'a confirmed rejection stays',
    edits: replaced('src/pay/look-up/look-up.ts', '!payout.rejectionConfirmed && isOver', 'isOver'),
    caughtBy: named(
      SETTLED,
      'what two people settled as not paid stays so, and in the retry file, where all is verified and another quote stands beside',
    ),
  },
  {
    guard: 'a quote that logs bring is asked for, also where the run has ended',
    edits: replaced('src/ledger/scripts/records.ts', "redis.call('HDEL', runKey(p.run), 'deadQuotesFound')", ''),
    caughtBy: named(
      LATE,
      'a quote that a late host brings to a run which had ended is asked for until it can be paid no more',
    ),
  },
  {
    guard: 'of several quotes the one that ends last decides',
    edits: replaced(
      COMPARE,
      "if quote and (p.state == 'held' or get(p, 'rc') == 'E_BREACH') then keepLaterEnd(p, e)",
      'if false then',
    ),
    caughtBy: named(
      LATE,
      'the day that people wait for a quote of a late host without an end outlasts one later line of its own quote',
    ),
  },
  {
    guard: 'a proposal from before a breach is void',
    edits: replaced(
      'src/ledger/payouts/decide-move.ts',
      "if (move.values?.reasonCode !== undefined) values.delete('pr');",
      '',
    ),
    caughtBy: [
      ...named(
        'test/runs/proposed-before-a-breach.test.ts',
        'a proposal from before a payment of another quote was found is void, and whoever settles the payout reads of that payment',
      ),
      ...named(
        'test/runs/write-off.test.ts',
        'a data directory that two people write off voids what was proposed before, on the words that it was never sent',
      ),
    ],
  },
  {
    guard: 'people read of every payout that has the reference',
    edits: replaced(
      'src/ledger/payouts/duplicates.ts',
      'return open.length > 0 ? open : others',
      'return open.length > 0 ? open.slice(0, 1) : others',
    ),
    caughtBy: named(
      'test/runs/allowed-beside-others.test.ts',
      'who allows the third row with a reference reads of both others: one waits, and one was paid',
      'a row whose reference two payouts were paid by can be allowed',
    ),
  },
  {
    guard: 'people read what became of the payout that one is like',
    edits: replaced('src/runs/decide/evidence.ts', '...others.words, ...like.caveats', '...others.words'),
    caughtBy: named(
      'test/runs/allowed-beside-others.test.ts',
      'who allows a likely duplicate reads what became of the payout that it is like, and allows it alone',
    ),
  },
  {
    guard: 'a payout that is like one that waits is held, however long that one waits',
    edits: replaced(
      'src/ledger/payouts/duplicates.ts',
      'if (record !== undefined && !DONE_STATES.includes(record.state)) return true;',
      '',
    ),
    caughtBy: named(
      'test/ledger/likely-duplicates.test.ts',
      'a payout with the beneficiary, amount and currency of an earlier one, under another reference is held however long ago the earlier one was handed in, while that is ready',
    ),
  },
  {
    guard: 'a payment that was missed for long is asked for once more',
    edits: replaced('src/pay/track/track.ts', 'song ? await look(deps, payout) : first;', 'first;'),
    caughtBy: named(
      'test/pay/track.test.ts',
      'an accepted payout whose payment a gateway hid for long is followed on where that gateway is gone before the service showed all else',
    ),
  },
  {
    guard: "the page's button confirms only what the page showed",
    edits: replaced('src/runs/decide/decide.ts', 'caveats.digest === digest', "caveats.digest !== ''"),
    caughtBy: named(
      'test/web/settle.test.ts',
      'a held payout that may have been sent is settled as not paid by two people, with what the service says',
    ),
  },
  {
    guard: 'nobody waits for ever for a command that was lost before its connection to Redis was ready',
    edits: replaced(
      'src/redis/connect.ts',
      'for (const { command } of forgotten) command.reject(new Error(LOST));',
      '',
    ),
    caughtBy: named(
      'test/redis/connect.test.ts',
      'a command that was sent before the connection was ready, and lost with it, is rejected: nobody waits for it for ever',
    ),
  },
];
