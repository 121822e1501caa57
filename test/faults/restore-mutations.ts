import { type Mutation, named, replaced } from './mutation.ts';

const COMMIT = 'src/ledger/scripts/commit.ts';
const COMPARE = 'src/ledger/scripts/compare.ts';
const LOST_TIMES_TESTS = 'test/ledger/lost-times.test.ts';
const MISSED_TESTS = 'test/runs/missed-decisions.test.ts';
const FORGOT = 'a Redis that forgot what people decided';
const ARMED_TWICE =
  "a reference that was armed in two files in two lost times is paid in neither before people decide: 'the first' had the higher counter";
const GIVEN_UP = `${FORGOT} holds what people gave up once it is known not to have been sent, where it may have been sent in the copy`;

/** What holds after Redis went back, and what the commit makes of a change. */
export const RESTORE_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'an id that was written off is never used again',
    edits: replaced(
      'src/ledger/scripts/season.ts',
      `return redis.call('HEXISTS', HEAD, 'writtenOff:' .. dir) == 1`,
      'return false',
    ),
    caughtBy: [
      ...named(
        'test/ledger/dir-lease.test.ts',
        'a data directory that two people wrote off has an id of its own when payrun starts there again: nobody waits for the former one',
      ),
      ...named(
        'test/runs/write-off.test.ts',
        'a data directory that two people write off arms nothing under its former id: those that noted it do not wait for that one any more',
      ),
    ],
  },
  {
    guard: 'a comparison counts only for the closing before which its logs were read',
    edits: replaced(
      COMPARE,
      `if season ~= server and ARGV[7] ~= '' and season ~= ARGV[7] then return { 'changed', 0 } end`,
      '',
    ),
    caughtBy: named(
      'test/ledger/season.test.ts',
      'a season whose logs were read before the season was closed opens nothing: what was armed since is not in them',
    ),
  },
  {
    guard: 'a reference that was armed in two lost times stands for both payouts',
    edits: replaced(COMPARE, `if get(other, 'ct') then claimants[#claimants + 1] = holder end`, ''),
    caughtBy: named(LOST_TIMES_TESTS, ARMED_TWICE),
  },
  {
    guard: 'what people gave up is not armed',
    edits: replaced(
      'src/ledger/payouts/decide-arming.ts',
      `if (record.values.has('gu')) return refuse('given-up');`,
      '',
    ),
    caughtBy: named(MISSED_TESTS, GIVEN_UP),
  },
  {
    guard: 'what people gave up is noted whatever state the copy has it in',
    edits: replaced('src/runs/safety/missed-decisions.ts', 'givenUp: true, ', ''),
    caughtBy: named(MISSED_TESTS, GIVEN_UP),
  },
  {
    guard: 'a reference is remembered from the end of its payout',
    edits: replaced('src/ledger/payouts/duplicates.ts', '?? finishedAt ?? at;', '* 0;'),
    caughtBy: named(
      'test/ledger/recording.test.ts',
      'a reference is free again when its payout ended as long ago as references are remembered, however long ago it was handed in',
    ),
  },
  {
    guard: 'decisions have the order in which they follow each other',
    edits: replaced('src/audit/missed.ts', 'Math.max(at, times.get(previous) ?? at)', 'at'),
    caughtBy: named(
      MISSED_TESTS,
      `${FORGOT} blocks a beneficiary again who was blocked last, though the clock of Redis stepped back before`,
    ),
  },
  {
    guard: 'an arming raises the counter',
    edits: replaced(
      COMMIT,
      `item.number = redis.call('HINCRBY', HEAD, 'armings', 1)`,
      `item.number = tonumber(redis.call('HGET', HEAD, 'armings') or '0')`,
    ),
    caughtBy: named('test/ledger/arming.test.ts', 'an arming gets a counter of its own, which only grows'),
  },
  {
    guard: 'an arming claims its quote',
    edits: replaced(
      COMMIT,
      `redis.call('HSET', quotesKey(id), id, item.id)\n    return false\n  end },\n  -- A payment that`,
      'return false\n  end },\n  -- A payment that',
    ),
    caughtBy: named(
      'test/ledger/arming.test.ts',
      'a payout is armed once when one batch has one quote for two payouts',
    ),
  },
  {
    guard: 'a block with a payout that wants something is due',
    edits: replaced(
      COMMIT,
      `for set, time in pairs(b.due) do redis.call('ZADD', set, 'LT', text(time), b.run .. ':' .. b.block) end`,
      '',
    ),
    caughtBy: named('test/ledger/slices.test.ts', 'due payouts are taken at the time that their move gave them'),
  },
];
