import { type Mutation, named, replaced } from './mutation.ts';

const RECOVERY = 'src/ledger/scripts/recovery.ts';
const COMPARE = 'src/ledger/scripts/compare.ts';
const LATER_TESTS = 'test/runs/write-off-later.test.ts';
const TWICE_TESTS = 'test/runs/missed-twice.test.ts';
const KILLED = 'killed before its audit entry, is not forgotten by a restore';

/** What holds after a write-off, and what is on the audit log whoever dies. */
export const WRITE_OFF_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'a reference that came free is not paid unseen after a write-off',
    edits: replaced(
      'src/ledger/runs/recording.ts',
      'const freed = freedAtLoss(known.holders, rules.own);',
      "const freed = '' || undefined;",
    ),
    caughtBy: named(
      'test/runs/write-off.test.ts',
      'rows that come only after the write-off are held, where a payout gave their reference free before: the lost host may have paid a retry file',
    ),
  },
  {
    guard: 'a run that was there at a write-off is known as such, whenever it ends',
    edits: replaced(RECOVERY, `redis.call('HSET', runKey(run), 'atLoss', '1')`, ''),
    caughtBy: named(
      LATER_TESTS,
      'a reference that comes free only after the write-off nor where the clock of Redis stepped back between its end and the write-off',
    ),
  },
  {
    guard: 'a directory that an open season forgot is not retired without a doubt',
    edits: replaced(RECOVERY, `if isOpen and compared ~= '-' then`, 'if isOpen then'),
    caughtBy: named(
      LATER_TESTS,
      'a directory that an open season forgot and that is written off leaves in doubt what it may have sent',
    ),
  },
  {
    guard: 'a directory that comes with logs to an open season that does not know it is waited for',
    edits: replaced(
      'src/ledger/scripts/season.ts',
      `isLate and redis.call('HGET', HEAD, 'season') == serverNow() and '-' or ''`,
      `''`,
    ),
    caughtBy: named(
      LATER_TESTS,
      'a directory that an open season forgot is waited for, although it has just started too and is about to compare',
    ),
  },
  {
    guard: 'a directory that is back ends what people agreed on',
    edits: replaced(
      COMPARE,
      `redis.call('HDEL', HEAD, 'writeOff:' .. ARGV[1], 'late:' .. ARGV[1])`,
      `redis.call('HDEL', HEAD, 'late:' .. ARGV[1])`,
    ),
    caughtBy: named(
      LATER_TESTS,
      'a directory that came back is not written off by one person alone, by what two agreed on before',
    ),
  },
  {
    guard: 'each closing of the season is waited out',
    edits: replaced('src/ledger/season/season.ts', '`${season.server} ${season.name}`', 'season.server'),
    caughtBy: named(
      'test/ledger/season-waits.test.ts',
      'twice the arm deadline passes after each closing of the season, before its logs are compared',
    ),
  },
  {
    guard: "a run's move waits for its entry from the moment that it takes effect",
    edits: replaced(
      'src/ledger/scripts/runs.ts',
      `if ARGV[6] ~= '' then redis.call('RPUSH', AUDIT_WAITING, ARGV[6]) end\n`,
      '',
    ),
    caughtBy: named(TWICE_TESTS, `cancel of a run, ${KILLED}`, `pause of a run, ${KILLED}`),
  },
  {
    guard: 'a block waits for its entry from the moment that it takes effect',
    edits: replaced(
      'src/ledger/scripts/approval.ts',
      `if ARGV[5] ~= '' then redis.call('RPUSH', AUDIT_WAITING, ARGV[5]) end\n`,
      '',
    ),
    caughtBy: named(TWICE_TESTS, `a block, ${KILLED}`),
  },
  {
    guard: 'what people do to a payout waits for its entry from the moment that it takes effect',
    edits: replaced(
      'src/ledger/payouts/decide-move.ts',
      `{ ...change, operations: [...change.operations, ['act', act]] }`,
      'change',
    ),
    caughtBy: named(
      'test/audit/acts.test.ts',
      'what a command did before it was killed gets its entry from the worker, once',
    ),
  },
  {
    guard: 'an act has one entry',
    edits: replaced(
      'src/audit/audit-log.ts',
      `!(await isRecorded(store, copied, readWaiting(look.waiting, auditKeys)))`,
      'true',
    ),
    caughtBy: [
      ...named(TWICE_TESTS, 'an act has one entry in the log, although a copy in which it waited was put back'),
      ...named(
        'test/audit/replayed-act.test.ts',
        'nobody gets an entry signed by writing an act to Redis that waited there before',
      ),
    ],
  },
  {
    guard: 'an act is known again by its time',
    edits: replaced('src/audit/entry.ts', 'entryText({ ...record, ...act, at })', 'entryText({ ...record, ...act })'),
    caughtBy: named(
      TWICE_TESTS,
      'a decision that is made again after a restore has an entry of its own, although the lost one says the same',
    ),
  },
  {
    guard: 'a season that is closed for fewer armings is closed again',
    edits: replaced('src/ledger/scripts/prelude.ts', `tonumber(f[2] or '0') >= tonumber(seen)`, 'true'),
    caughtBy: named(
      'test/ledger/season-waits.test.ts',
      'a comparison of logs that were read in a closed season, and somebody looks before it comes does not count where Redis goes back to that',
    ),
  },
  {
    guard: 'a comparison notices that Redis went back, as an arming does',
    edits: replaced(COMPARE, 'noteCounter(ARGV[6])\n', ''),
    caughtBy: named(
      'test/ledger/season-waits.test.ts',
      'a comparison of logs that were read in a closed season does not count where Redis goes back to that',
      'a comparison of logs that were read in an open season does not count where Redis goes back to that',
    ),
  },
  {
    guard: 'an act is signed only if its writer had the key',
    edits: replaced('src/audit/audit-log.ts', 'const code = isProven && auditKeys', 'const code = auditKeys'),
    caughtBy: named(
      'test/audit/codes.test.ts',
      'an act that waited is signed by whoever appends it only if its writer had the key',
    ),
  },
  {
    guard: 'who allows a payout is shown that it was given up',
    edits: replaced('src/runs/decide/evidence.ts', 'payout.givenUp ? [GIVEN_UP]', 'payout.line < 0 ? [GIVEN_UP]'),
    caughtBy: named(TWICE_TESTS, 'what two people dropped after the copy is not let go together with others, unseen'),
  },
  {
    guard: 'a payout is looked up again at the time that its look-up says',
    edits: replaced(
      'src/ledger/due-payouts.ts',
      'return out?.dueAt === dueAt ? out.until : undefined;',
      'return dueAt === 0 ? undefined : out?.until;',
    ),
    caughtBy: named(
      'test/ledger/slices.test.ts',
      'due payouts are taken again as soon as a look-up of them said so, and not before',
    ),
  },
];
