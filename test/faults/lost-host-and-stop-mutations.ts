import { type Mutation, named, replaced } from './mutation.ts';

const COMPARE = 'src/ledger/scripts/compare.ts';
const PRELUDE = 'src/ledger/scripts/prelude.ts';
const RUNS = 'src/ledger/scripts/runs.ts';
const SUBMIT = 'src/runs/hand-in/submit.ts';
const LOST_HOST_TESTS = 'test/runs/lost-host.test.ts';
const STOP_TESTS = 'test/runs/stops-after-a-restore.test.ts';
const AGAIN_TESTS = 'test/runs/cancelled-rows-again.test.ts';

/** Hosts that were lost, what people had stopped before a restore, and which run a hand-in leads to. */
export const LOST_HOST_AND_STOP_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'nothing is purged in a closed season',
    edits: replaced(
      'src/ledger/scripts/purge.ts',
      "if redis.call('HGET', HEAD, 'season') ~= serverNow() then return 'the season is closed' end",
      '',
    ),
    caughtBy: named(
      LOST_HOST_TESTS,
      'a purge while the season is closed does not free a reference that the host which is written off afterwards may have used',
    ),
  },
  {
    guard: 'a forgotten file is as old as the id of its run',
    edits: replaced(
      PRELUDE,
      "local day = run and string.match(run, '^(%d%d%d%d%d%d%d%d)%-')",
      "local day = run and '99991231'",
    ),
    caughtBy: named(
      LOST_HOST_TESTS,
      'a file that the lost host had, and that was handed in again more than a week after the loss, is in doubt after one more restore',
    ),
  },
  {
    guard: 'what people gave up is not sent because a lost host comes back',
    edits: replaced(COMPARE, "if p.state == 'cancelled' or p.state == 'rejected' then set(p, 'gu', 1) end", ''),
    caughtBy: named(
      LOST_HOST_TESTS,
      'what two people settled as not paid after a write-off is not sent because the lost host comes back into an open season',
    ),
  },
  {
    guard: 'a yes to a quote that nobody knows is kept while a lost host may come back',
    edits: replaced(COMPARE, 'if not mayHaveLost() then', 'if true then'),
    caughtBy: named(
      LOST_HOST_TESTS,
      'a quote to which the service said yes is never proven dead, as people who settled it as paid learned, where the host that sent it was written off and comes back after a restart of Redis',
    ),
  },
  {
    guard: 'a yes to a quote that was proven dead holds its payout',
    edits: replaced(COMPARE, 'return p and holdLeftBehind(p, e)', 'return'),
    caughtBy: named(
      LOST_HOST_TESTS,
      'a yes of the service to a quote that was proven dead before the copy holds its payout again, which the copy has as one that waits',
    ),
  },
  {
    guard: 'a "not found" from a cache proves nothing',
    edits: replaced('src/pay/look-up/look-up-answer.ts', 'status === 404 && isFromCache', 'false'),
    caughtBy: named(
      'test/pay/cached-not-found.test.ts',
      'a "not found" that a cache says is older than the end of the quote proves nothing',
    ),
  },
  {
    guard: 'the intent log is read back to its last arming',
    edits: replaced(
      'src/ledger/intents/intent-log.ts',
      'end = start === 0 || lineEnd === bytes.length ? start : start + lineEnd;',
      'end = 0;',
    ),
    caughtBy: named(
      'test/ledger/highest-counter.test.ts',
      'a fail-over back to a primary that slept is noticed by a worker that started again after it had found 600 payments',
    ),
  },
  {
    guard: 'a reference is free only by the days of both runs',
    edits: replaced('src/ledger/payouts/duplicates.ts', 'Math.min(at, dayOfRun(own, at) + DAY_MS)', 'at'),
    caughtBy: named(
      'test/ledger/reference-clock.test.ts',
      'the reference of a payout that was paid a minute ago is not free for a file that comes while the clock of Redis is ahead by more than PAYRUN_REMEMBER',
    ),
  },
  {
    guard: 'a stop that comes before its run is noted',
    edits: replaced(
      'src/runs/safety/missed-decisions.ts',
      'await ledger.recovery.stopAhead(target, action)',
      'undefined',
    ),
    caughtBy: named(
      STOP_TESTS,
      'a row that people cancelled after the copy is given up where the office alone knows so and compares first',
    ),
  },
  {
    guard: 'a stop falls on the run as which its rows are known',
    edits: replaced('src/runs/safety/missed-decisions.ts', 'payoutId({ runId: id, line })', 'target'),
    caughtBy: named(
      STOP_TESTS,
      'a row that people cancelled after the copy is not paid by the run that the copy has of the same file, which was over by then and handed in again',
    ),
  },
  {
    guard: 'a key leads to its run',
    edits: replaced(
      'src/ledger/scripts/hand-in.ts',
      "if own and redis.call('EXISTS', runKey(own)) == 1 and (not its or its == ARGV[2]) then",
      'if false then',
    ),
    caughtBy: named(
      AGAIN_TESTS,
      'a hand-in under a key that had its run makes no further one, also where another hand-in had the rows paid anew since',
    ),
  },
  {
    guard: 'a run that people cancelled is not taken over',
    edits: [
      ...replaced(SUBMIT, "if (run.state === 'cancelled' && !run.isTakenOver) throw refuseCancelled(run);", ''),
      ...replaced(SUBMIT, "if (result === 'there' && !run.isTakenOver) throw refuseCancelled(run);", ''),
    ],
    caughtBy: named(
      AGAIN_TESTS,
      'rows of a run that people cancelled (recorded in part) are not paid because they come again in other bytes',
    ),
  },
  {
    guard: 'Redis, too, says that the time has come',
    edits: replaced(RUNS, "tonumber(redis.call('HGET', rk, 'startAt')) > now()", 'false'),
    caughtBy: named(
      'test/runs/start-clock.test.ts',
      'a run does not start before its time because the clock of one worker, but not of Redis, is ahead',
    ),
  },
];
