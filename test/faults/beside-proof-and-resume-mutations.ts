import { type Mutation, named, replaced } from './mutation.ts';

const BESIDE = 'test/runs/beside-quotes.test.ts';
const SETTLED = 'test/runs/settled-by-another.test.ts';
const STAGES = 'test/runs/stages.test.ts';

/** The proof that a quote beside a failed payment is over, and what a resume undoes. */
export const BESIDE_PROOF_AND_RESUME_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a payment that fails beside another quote comes before people',
    edits: replaced(
      'src/pay/track/track.ts',
      '!isOver || !(await hasOthers(deps, payout))',
      '!isOver || payout.row.line > 0',
    ),
    caughtBy: named(
      BESIDE,
      'a payment that fails beside another quote that is not found frees no reference: people decide',
      'a payment that comes back beside another quote comes before people',
    ),
  },
  {
    guard: 'a failed payment that people settled as not paid is not followed again',
    edits: replaced('src/pay/look-up/look-up.ts', 'isKnownToHaveFailed(payout, found.payment)', 'payout.row.line < 0'),
    caughtBy: named(
      BESIDE,
      'two people can settle such a payout as not paid, once they read what speaks against it, and that stands',
    ),
  },
  {
    guard: 'the other quotes of a payout that people settled as not paid are asked for',
    edits: replaced(
      'src/pay/look-up/look-up.ts',
      "payout.state !== 'unknown' && (await isPaidBeside(",
      'payout.row.line < 0 && (await isPaidBeside(',
    ),
    caughtBy: named(
      BESIDE,
      'a payment of the other quote that appears after two people settled the payout as not paid stops the row of its retry file',
    ),
  },
  {
    guard: 'a yes to a quote that was proven dead is told, whatever its payout was held for before',
    edits: replaced(
      'src/ledger/scripts/compare.ts',
      'if isTold or',
      "if redis.call('HEXISTS', runKey(p.run), 'state') == 1 or",
    ),
    caughtBy: named(
      BESIDE,
      'a yes of the service to a quote that was proven dead holds its payout, whatever it was held for before',
    ),
  },
  {
    guard: 'a payout that is held for a breach is not sent again because of a later line of a log',
    edits: replaced('src/ledger/scripts/compare.ts', '(isPaid or isBreach or saidYes', '(isPaid or saidYes'),
    caughtBy: named(
      BESIDE,
      'a payout that a late host holds as a breach stays held when a later line of another host is compared after it',
    ),
  },
  {
    guard: 'a payout with another quote gets no new one',
    edits: replaced(
      'src/pay/look-up/look-up.ts',
      "if (payout.reasonCode === 'E_BREACH' || (await hasOthers(deps, payout)))",
      "if (payout.reasonCode === 'E_BREACH')",
    ),
    caughtBy: named(BESIDE, 'a payout gets no new quote while another quote of it cannot be asked for: people decide'),
  },
  {
    guard: 'what was found to be paid is told once, and the others are asked for all the same',
    edits: replaced('src/runs/after/finish.ts', '.filter(({ quoteId }) => !told.has(quoteId))', ''),
    caughtBy: named(
      BESIDE,
      'a quote that may be paid is asked for until it cannot be, also once another row of its run was a breach',
    ),
  },
  {
    guard: 'a payment that is completed late is watched for returns',
    edits: replaced('src/ledger/scripts/commit.ts', "if STATE[to] == 'completed' then watchOn(b.run) end", ''),
    caughtBy: named(
      'test/ledger/runs.test.ts',
      'watching for returns begins anew with a payment that is completed long after the end of its run',
    ),
  },
  {
    guard: 'a quote beside a payment is asked for until it can be paid no more',
    edits: replaced(
      'src/runs/after/finish.ts',
      "if (reading.kind === 'not-found') return !mayBePaid(deps,",
      "if (reading.kind === 'not-found') return now > 0 || !mayBePaid(deps,",
    ),
    caughtBy: named(BESIDE, 'another quote of a payout that is paid is asked for until that can be paid no more'),
  },
  {
    guard: 'a settlement that logs tell of leaves the own quote beside it',
    edits: replaced('src/ledger/scripts/compare.ts', 'if isNamed then leaveBeside(p, quote) end', ''),
    caughtBy: named(
      SETTLED,
      'a settlement by another payment that Redis forgot leaves the own quote beside it when logs tell of it',
    ),
  },
  {
    guard: 'a settlement that logs tell of leaves the named payment beside an accepted payout',
    edits: replaced(
      'src/ledger/scripts/compare.ts',
      "if e.n and e.p ~= e.y and get(p, 'pid') ~= e.p then leaveBeside(p, e.p) end",
      '',
    ),
    caughtBy: named(
      SETTLED,
      'it leaves the named payment beside the own one where the copy has the payout as accepted',
    ),
  },
  {
    guard: 'a payment in whose place another one counts stays beside',
    edits: replaced('src/ledger/payouts/decide-move.ts', "return [['beside', former]];", 'return [];'),
    caughtBy: named(
      SETTLED,
      'a payment by which people settled a payout before, and that shows our reference, still counts when that of its own quote comes back',
    ),
  },
  {
    guard: 'a payment that people name beside a payout that is paid already stays beside it',
    edits: replaced('src/ledger/payouts/decide-move.ts', 'other === undefined || other === known ?', 'true ?'),
    caughtBy: named(SETTLED, 'a payment that people name while a look-up finds its own one counts beside it'),
  },
  {
    guard: 'each answer for a quote is kept until its arming is compared',
    edits: replaced('src/ledger/scripts/compare.ts', "(kept and kept .. '|' or '') .. said", 'said'),
    caughtBy: named(
      SETTLED,
      'after a restore, each payment by which people settled a payout counts, in whatever order logs tell of them',
    ),
  },
  {
    guard: 'a payout that its own quote settles forgets the payment that had settled it',
    edits: replaced('src/pay/facts.ts', '{ paymentId: null }', '{}'),
    caughtBy: named(
      SETTLED,
      'a payout that a failed payment had settled is settled by its own quote, once and for all',
    ),
  },
  {
    guard: 'a resume releases no stage that its user did not see',
    edits: replaced('src/runs/decide/control.ts', 'stage - 1 !== run.stages?.at', 'false'),
    caughtBy: named(STAGES, 'a run with stages is not released further by whoever saw an earlier stage'),
  },
  {
    guard: 'a resume undoes no pause that its user did not see',
    edits: replaced('src/ledger/scripts/runs.ts', "if seen ~= '' and", 'if false and'),
    caughtBy: named(
      'test/runs/control.test.ts',
      'a resume that stood still does not undo a pause that its user never saw',
      'a resume of a run that is being paid undoes no pause that comes meanwhile',
    ),
  },
  {
    guard: 'a further reason for a pause counts as one that nobody saw',
    edits: replaced('src/ledger/scripts/runs.ts', "if known == '' then", "if known ~= '#' then"),
    caughtBy: named(
      'test/runs/control.test.ts',
      'a pause of a run that is paused at the end of a stage counts: whoever saw the stage alone does not release the next',
    ),
  },
  {
    guard: 'a time that somebody says while another person records holds',
    edits: replaced(
      'src/runs/hand-in/submit.ts',
      'const now = asClaimed(submission, await readRun(deps, id));',
      'const now = asked;',
    ),
    caughtBy: named(
      'test/runs/carried-on.test.ts',
      'a time that somebody says while another person records slowly holds',
    ),
  },
  {
    guard: 'what was accepted is what the ledger has',
    edits: replaced('src/runs/hand-in/submit.ts', 'isFresh ? recorded : await acceptedOnRecord(deps, id)', 'recorded'),
    caughtBy: named(
      'test/runs/accepted-rows.test.ts',
      'a run ties whose rows the service refused in part before a kill, and no more after it',
    ),
  },
  {
    guard: 'nobody asks for more of a hand-in beside somebody who records it',
    edits: replaced('src/ledger/scripts/hand-in.ts', 'if isMore and isBusy then', 'if false then'),
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
  {
    guard: 'nobody else is sent by a reference that a lost host may have paid',
    edits: replaced('src/ledger/runs/recording.ts', "isDoubted ? [['refback', hash]] : []", '[]'),
    caughtBy: named(
      'test/ledger/recording.test.ts',
      'recording of a run that a lost host may have paid keeps the same reference of another run from being sent',
    ),
  },
  {
    guard: 'a payment beside that of a retry is a breach, whoever finds it',
    edits: replaced('src/pay/facts.ts', 'isAlone: isFact(found)', 'isAlone: false'),
    caughtBy: named(
      'test/runs/paid-beside-its-retry.test.ts',
      'a payment of a retry whose answer comes in after the first one was found is a breach',
    ),
  },
];
