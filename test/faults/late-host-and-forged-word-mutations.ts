import { type Mutation, named, replaced } from './mutation.ts';

const COMPARE = 'src/ledger/scripts/compare.ts';
const WORD = 'src/ledger/people/word.ts';
const RECOVERY = 'src/ledger/season/recovery.ts';
const TESTS = 'test/runs/write-off-and-late-hosts.test.ts';
const WRITER_TESTS = 'test/attack/redis-writer.test.ts';
const WORD_TESTS = 'test/attack/forged-words.test.ts';
const REPLAY_TESTS = 'test/attack/replayed-lists.test.ts';
const INSIDER_TESTS = 'test/attack/insider.test.ts';
const LATE_HOST = 'a host that was written off and comes back while Redis is being restarted';
const DISABLED = 'the word of an admin who was found out and disabled';

/** Hosts that come late or were written off, and words and records of people that somebody forged in Redis. */
export const LATE_HOST_AND_FORGED_WORD_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'the counters of a directory without which others armed say nothing beside theirs',
    edits: replaced(
      'src/ledger/scripts/season.ts',
      `if isLate then redis.call('HSET', HEAD, 'late:' .. ARGV[1], '1') end`,
      '',
    ),
    caughtBy: named(
      TESTS,
      `${LATE_HOST} does not make a row that is under way when Redis ended unknown under its own quote, so that it is sent once more`,
      'a host that was written off, paid a row that was paid again, and comes back while Redis is being restarted, shows a breach',
    ),
  },
  {
    guard: 'what comes after a late directory is not compared with its counters',
    edits: replaced(COMPARE, 'wasMissing or (p and isOfLate(p))', 'wasMissing'),
    caughtBy: named(
      'test/ledger/season.test.ts',
      'comparing intent logs of a late directory, which comes first, and of another hides neither quote of a payout',
    ),
  },
  {
    guard: 'a block does not end on the word of somebody who was disabled',
    edits: replaced('src/ledger/people/approvals.ts', ' || isAnyBehind(disabled, before.unblockBy)', ''),
    caughtBy: named('test/runs/decide.test.ts', 'a block does not end on the word of somebody who was disabled since'),
  },
  {
    guard: 'a yes outlives a later attempt with the same quote',
    edits: [
      ...replaced(COMPARE, `  keepAnswer(e)\n  noteYes(p`, '  noteYes(p'),
      ...replaced(COMPARE, "    set(p, 'z2', 0)\n  end\n", "  end\n  set(p, 'z2', 0)\n"),
    ],
    caughtBy: named(
      TESTS,
      'a yes of the service to a quote that two hosts sent is kept, where a host that sent it first learned of it and compares before the one that sent it last',
    ),
  },
  {
    guard: 'a season that opened is not closed again for what all have compared for',
    edits: replaced(
      'src/ledger/scripts/prelude.ts',
      `math.max(tonumber(f[1] or '0'), tonumber(f[2] or '0'))`,
      `tonumber(f[1] or '0')`,
    ),
    caughtBy: named(
      TESTS,
      'a host that was cut off, is written off and goes on running, closes the season of all others once, not again and again',
    ),
  },
  {
    guard: 'a file that is known again while a host is written off is in doubt',
    edits: replaced(
      'src/ledger/scripts/recovery.ts',
      `    redis.call('HSET', runKey(run), 'atLoss', '1')\n    doubtUnrecorded(run)`,
      `    redis.call('HSET', runKey(run), 'atLoss', '1')`,
    ),
    caughtBy: named(
      TESTS,
      'a row of a file that a lost host may have sent is held, although its file is known again between the holding and the end of the write-off',
    ),
  },
  {
    guard: 'a row of a run in doubt that intake refuses now is held',
    edits: replaced(
      'src/ledger/runs/recording.ts',
      `row.state === 'refused' && judging.isDoubted && row.sound !== undefined`,
      `row.state === 'refused' && judging.isDoubted && row.sound === null`,
    ),
    caughtBy: named(
      TESTS,
      'a row of a file that a lost host may have sent is held, and its reference is taken, although intake refuses it now: its beneficiary is not on the list any more',
    ),
  },
  {
    guard: 'a reference that a lost host may have used is not forgotten by a purge',
    edits: replaced('src/ledger/scripts/purge.ts', `hash ~= '' and isFree and not mayBePaid`, `hash ~= ''`),
    caughtBy: named(
      TESTS,
      'a reference that came free before a write-off is held although the rows that freed it were removed since',
    ),
  },
  {
    guard: 'nobody confirms a release that nobody proposed',
    edits: replaced(WORD, `return verdict === 'true' && `, 'return '),
    caughtBy: named(
      WRITER_TESTS,
      'a release that nobody proposed a maker who can write to Redis does not make an admin by "confirming" it',
      'a release that nobody proposed a maker who can write to Redis does not end a block by "confirming" it',
    ),
  },
  {
    guard: 'a former list of users with its seal is false, also to who starts later',
    edits: replaced('src/ledger/people/people-list.ts', `version < seen.highest('people')`, 'version < 0'),
    caughtBy: named(
      REPLAY_TESTS,
      'a former list of users, with its admin who was disabled since, lets nobody in who starts later; two people look at it, and release',
    ),
  },
  {
    guard: 'what was seen of lists outlives the process',
    edits: replaced('src/app.ts', 'await openSeenVersions(instance, { dataDir: dataDir.path, log })', 'undefined'),
    caughtBy: named(
      REPLAY_TESTS,
      'a former block list is none to a worker that starts after one that saw a later list',
    ),
  },
  {
    guard: 'the word of somebody who was disabled about the ledger does not count',
    edits: replaced(WORD, ' && !isAnyBehind(await people.disabled(), word.by)', ''),
    caughtBy: named(
      WORD_TESTS,
      'the word of somebody who was disabled since adopts no settings',
      'the word of somebody who was disabled since writes off no data directory',
    ),
  },
  {
    guard: 'settings that nobody proposed are not adopted',
    edits: replaced(
      'src/runs/safety/adopt-settings.ts',
      'proposed?.safety === safety && (await wordStands(ledger, proposed.seal, wordBy(proposed.by)))',
      'proposed?.safety === safety',
    ),
    caughtBy: named(
      WORD_TESTS,
      'who can write to Redis, with one person does not make other settings those of the ledger',
    ),
  },
  {
    guard: 'a data directory is not written off on a word that nobody gave',
    edits: replaced(
      RECOVERY,
      'const isProposed = await wordStands(judge, seal, writeOffWord(by, about));',
      'const isProposed = seal === seal;',
    ),
    caughtBy: named(
      WORD_TESTS,
      'who can write to Redis, with one person does not write off a data directory of which Redis says that others proposed it',
    ),
  },
  {
    guard: 'a data directory is not written off on an agreement that nobody gave',
    edits: replaced(RECOVERY, ' && (await wordStands(judge, agreedSeal, agreementWord(agreed, about)))', ''),
    caughtBy: named(
      WORD_TESTS,
      'who can write to Redis, with one person does not write off another data directory beside the one on which two people agreed',
    ),
  },
  {
    guard: 'a ledger is not adopted on a word that nobody gave, or that was changed',
    edits: replaced(
      RECOVERY,
      `seal !== '' && (await wordStands(judge, seal, { act: 'adopt ledger', by, about: proposed }))`,
      `by !== ''`,
    ),
    caughtBy: named(
      WORD_TESTS,
      'an adoption that nobody proposed, or that was proposed for more data directories, is not confirmed by one person',
    ),
  },
  {
    guard: 'a data directory does not follow Redis to a ledger that nobody adopted for it',
    edits: replaced(
      'src/app.ts',
      `adoption !== null && seals.judgeWord(adoption.seal, adoptedWord(adoption)) === 'true'`,
      'adoption !== null',
    ),
    caughtBy: named(
      WORD_TESTS,
      'an adoption of which only Redis says that there was one does not lead a data directory to another ledger',
    ),
  },
  {
    guard: 'a proposal is void after a move, although somebody puts it back',
    edits: replaced(
      'src/ledger/seals.ts',
      'const moves = String(history.length);',
      `const moves = String(history.length * 0);`,
    ),
    caughtBy: named(
      WRITER_TESTS,
      'a word that does not stand any more what one person proposed and took back with another proposal is not put back and confirmed by one other',
    ),
  },
  {
    guard: 'seals belong to one ledger',
    edits: replaced(
      'src/ledger-key.ts',
      `ledger === '' ? purpose : \`\${purpose} of \${ledger}\``,
      `ledger === '' ? purpose : purpose`,
    ),
    caughtBy: named(
      WRITER_TESTS,
      'seals of another ledger users of another ledger under the same key are no users of this one',
    ),
  },
  {
    guard: 'a proposal of somebody who was disabled is none',
    edits: replaced('src/people/change.ts', ' && mayStillPropose(people, one.by)', ''),
    caughtBy: named(
      INSIDER_TESTS,
      `${DISABLED} does not make another admin the second one of a reset: whoever was shown the secret signs in`,
      `${DISABLED} does not make a key that only they know`,
    ),
  },
  {
    guard: 'an approval of somebody who was disabled is none',
    edits: replaced('src/runs/decide/approve.ts', 'isAnyBehind(disabled, one.by)', 'disabled.length < 0'),
    caughtBy: named(INSIDER_TESTS, `${DISABLED} is no approval any more`),
  },
];
