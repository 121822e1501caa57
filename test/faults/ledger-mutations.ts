import { type Mutation, named, replaced } from './mutation.ts';

const COMMIT = 'src/ledger/scripts/commit.ts';
const DECIDE = 'src/ledger/payouts/decide-move.ts';
const DECIDE_ARMING = 'src/ledger/payouts/decide-arming.ts';
const COMPARE = 'src/ledger/scripts/compare.ts';
const RUNS = 'src/ledger/scripts/runs.ts';
const SEASON = 'src/ledger/season/season.ts';
const MISSED = 'src/runs/safety/missed-decisions.ts';

const ARMING_TESTS = 'test/ledger/arming.test.ts';
const GUARD_TESTS = 'test/ledger/arming-guards.test.ts';
const MOVE_TESTS = 'test/ledger/moves.test.ts';
const SEASON_TESTS = 'test/ledger/season.test.ts';
const ROLLBACK_TESTS = 'test/ledger/rollback.test.ts';
const RECORDING_TESTS = 'test/ledger/recording.test.ts';
const RUN_TESTS = 'test/ledger/runs.test.ts';
const MISSED_TESTS = 'test/runs/missed-decisions.test.ts';

const NOT_ARMED = 'a payout is not armed, and nothing changes, when';
const RESTORED = 'a Redis that was restored from an older copy';
const FORGOT = 'a Redis that forgot what people decided';

/** What the arming script looks at. */
const ARMING: readonly Mutation[] = [
  {
    guard: 'an arming compares the version that was read',
    edits: replaced(DECIDE_ARMING, ' || record.version !== arming.version', ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'the payout has another version': 'changed'`),
    quick: true,
  },
  {
    guard: 'an arming looks at the state',
    edits: replaced(
      DECIDE_ARMING,
      "if (!mayMove({ from: record.state, to: 'armed', sent: record.values.has('q') })) return refuse('changed');",
      '',
    ),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} it is unknown: changed`, `${NOT_ARMED} it is accepted: changed`),
  },
  {
    guard: 'an arming compares and sets',
    edits: replaced(COMMIT, "(there or '') == was", 'true'),
    caughtBy: named(ARMING_TESTS, 'a payout is armed once in each of 1,000 races of two connections'),
  },
  {
    guard: 'an arming compares the hash of the row',
    edits: replaced(DECIDE_ARMING, "if (record.values.get('rh') !== arming.rowSeal) return refuse('row');", ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'the row is not the one that was seen': 'row'`),
  },
  {
    guard: 'an arming compares whose the reference is',
    edits: replaced(COMMIT, `if holder ~= item.id then return { 'reference', holder } end`, ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'its reference belongs to another payo…': 'reference'`),
  },
  {
    guard: 'nothing is armed while everything is halted',
    edits: replaced(COMMIT, 'elseif head[2] then', 'elseif false then'),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'everything is halted': 'halted'`),
  },
  {
    guard: 'nothing is armed while the service wants to be left alone',
    edits: replaced(COMMIT, `elseif redis.call('EXISTS', WAIT) == 1 then`, 'elseif false then'),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'the service asked to wait': 'wait'`),
  },
  {
    guard: 'nothing is armed in a run that is not being paid',
    edits: replaced(COMMIT, `runState(b.run) ~= 'paying' or `, ''),
    caughtBy: named(
      ARMING_TESTS,
      `${NOT_ARMED} 'the run is paused': 'run'`,
      `${NOT_ARMED} its run is still being recorded: run`,
    ),
  },
  {
    guard: 'no two payouts are armed with one quote, nor one payout again with a dead one',
    edits: replaced(COMMIT, `if (redis.call('HGET', quotesKey(id), id) or UNSENT) ~= UNSENT then`, 'if false then'),
    caughtBy: named(
      ARMING_TESTS,
      `${NOT_ARMED} 'another payout holds the quote': 'quote-taken'`,
      `${NOT_ARMED} the quote is its own earlier one, which is proven dead: quote-taken`,
    ),
  },
  {
    guard: 'a spent quote is armed again, not another one beside it',
    edits: replaced(DECIDE_ARMING, "values.get('q') !== arming.quoteId || ", ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'the quoted payout has another quote': 'changed'`),
  },
  {
    guard: 'a quote is armed again under its own credentials alone',
    edits: replaced(DECIDE_ARMING, " || values.get('cf') !== arming.credentials", ''),
    caughtBy: named(
      GUARD_TESTS,
      'a payout is not armed again under other credentials: who armed it first may be the only one who can see its payment',
    ),
  },
  {
    guard: 'a quote is armed five times at most',
    edits: replaced(DECIDE_ARMING, "if (numberOf(record, 'ar') >= ARMINGS_PER_QUOTE_MAX)", 'if (false)'),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'its quote was armed as often as is al…': 'armings'`),
  },
  {
    guard: 'a payout is armed with five quotes at most',
    edits: replaced(DECIDE_ARMING, "if (numberOf(record, 'qn') >= QUOTES_PER_PAYOUT_MAX)", 'if (false)'),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'it had as many quotes as are allowed': 'quotes'`),
  },
  {
    guard: 'an older payrun arms nothing on the ledger of a newer one',
    edits: replaced(COMMIT, 'elseif tonumber(head[3]) > tonumber(ARGV[3]) then', 'elseif false then'),
    caughtBy: named(GUARD_TESTS, 'a payout is not armed by an older payrun on a ledger that a newer one has written'),
  },
];

/** Rule 4 of the design, section 3. */
const SEASONS: readonly Mutation[] = [
  {
    guard: 'nothing is armed in a closed season',
    edits: replaced(COMMIT, 'head[1] ~= server or ', ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'the season is another server run': 'season'`),
  },
  {
    guard: 'nothing is armed on another server than the one to which all other commands lead',
    edits: replaced(COMMIT, 'isElsewhere or ', ''),
    caughtBy: named(
      'test/ledger/two-primaries.test.ts',
      'of two primaries after a failover the old one arms nothing for a process whose other commands lead to the new one',
    ),
  },
  {
    guard: 'nothing is armed from a copy of a data directory that another host uses',
    edits: replaced(COMMIT, 'isCopied or ', ''),
    caughtBy: named(GUARD_TESTS, 'a payout is not armed while another host holds the id of the data directory'),
  },
  {
    guard: 'nothing is armed from a data directory whose logs were not compared',
    edits: replaced(COMMIT, ` or redis.call('HGET', DIRS, ARGV[2]) ~= server`, ''),
    caughtBy: named(ARMING_TESTS, `${NOT_ARMED} 'its data directory has not compared i…': 'season'`),
  },
  {
    guard: 'a Redis whose arming counter went back is found out by it',
    edits: replaced(COMMIT, 'noteCounter(ARGV[4])\n', ''),
    caughtBy: named(
      ROLLBACK_TESTS,
      'a Redis that goes back under a running server, with the ids that it had is found out by the next arming of who armed meanwhile: the season closes, and the logs are compared',
    ),
  },
  {
    guard: 'the lines of the intent logs are compared',
    edits: replaced(SEASON, '      part.push(line);\n', ''),
    caughtBy: named(
      ROLLBACK_TESTS,
      `${RESTORED} gets back as unknown what it lost, with its quotes, counters and attempts`,
    ),
  },
  {
    guard: 'a line above the ledger’s counter is restored',
    edits: replaced(COMPARE, `return tonumber(get(p, 'ct') or '0') >= e.c`, 'return true'),
    caughtBy: named(
      ROLLBACK_TESTS,
      `${RESTORED} gets back as unknown what it lost, with its quotes, counters and attempts`,
    ),
  },
  {
    guard: 'a comparison raises the arming counter',
    edits: replaced(COMPARE, 'if e.c > highest then highest = e.c end', ''),
    caughtBy: named(
      ROLLBACK_TESTS,
      `${RESTORED} gets back as unknown what it lost, with its quotes, counters and attempts`,
    ),
  },
  {
    guard: 'a damaged intent log keeps the season closed',
    edits: replaced(SEASON, `if (line === 'damaged') throw refuseDamaged(file);`, `if (line === 'damaged') continue;`),
    caughtBy: named(
      SEASON_TESTS,
      'comparing intent logs keeps the season closed while a line other than the last is damaged, and says which file',
    ),
  },
  {
    guard: 'no season opens before twice the arm deadline',
    edits: replaced(SEASON, 'clock.sleep(2 * armDeadlineMs, signal)', 'clock.sleep(0, signal)'),
    caughtBy: named(
      SEASON_TESTS,
      'a season closes when Redis is restarted by SIGTERM, until twice the arm deadline is over and the logs were compared',
    ),
  },
  {
    guard: 'no season opens before each data directory has compared its logs',
    edits: replaced(COMPARE, 'if compared ~= server then return', 'if false then return'),
    caughtBy: named(
      SEASON_TESTS,
      'a season does not open before each directory that may arm has compared, also one that never armed anything',
    ),
  },
  {
    guard: 'no season opens by a comparison for another run of the server',
    edits: replaced(COMPARE, 'if server ~= ARGV[2] then return', 'if false then return'),
    caughtBy: named(SEASON_TESTS, 'a season is not opened by a comparison for another run of the server'),
  },
  {
    guard: 'a data directory arms only once each other one has noted it',
    edits: replaced(
      'src/ledger/scripts/season.ts',
      `if other ~= dir and dirs[i + 1] ~= ''`,
      `if false and dirs[i + 1] ~= ''`,
    ),
    caughtBy: named(
      SEASON_TESTS,
      'a data directory that joins an open season may not arm before each other one has noted it on its disk',
    ),
  },
  {
    guard: 'everything is halted when a line was restored',
    edits: replaced(COMPARE, 'if restored > 0 then', 'if false then'),
    caughtBy: named(ROLLBACK_TESTS, `${RESTORED} is halted, its runs are paused, and only two people let them go on`),
  },
];

/** What is done again, or doubted, for people. */
const PEOPLE: readonly Mutation[] = [
  {
    guard: 'a block that Redis forgot is done again',
    edits: replaced(MISSED, 'blockBeneficiary(deps, target, control)', 'Promise.resolve()'),
    caughtBy: named(MISSED_TESTS, `${FORGOT} is halted with what is missing, and blocks and cancels are done again`),
  },
  {
    guard: 'a cancel that Redis forgot is done again',
    edits: replaced(MISSED, 'cancelRun({ ledger, wake: async () => {} }, target, control)', 'ledger.state.read()'),
    caughtBy: named(MISSED_TESTS, `${FORGOT} is halted with what is missing, and blocks and cancels are done again`),
  },
  {
    guard: 'a pause that cannot be done again stops nothing else',
    edits: replaced(MISSED, 'if (!isListFault && !(error instanceof Refusal)) throw error;', 'throw error;'),
    caughtBy: named(
      MISSED_TESTS,
      `${FORGOT} does the others again where a run in the copy is over, and so cannot be paused`,
    ),
  },
  {
    guard: 'a Redis that forgot what people decided is halted',
    edits: replaced(MISSED, 'await haltAll({ ledger }, { actor: ACTOR, reason })', 'undefined'),
    caughtBy: named(MISSED_TESTS, `${FORGOT} is halted with what is missing, and blocks and cancels are done again`),
  },
  {
    guard: 'each branch of the audit log is compared',
    edits: replaced('src/audit/missed.ts', "missing.delete(readEntry(line)?.hash ?? '')", 'missing.clear()'),
    caughtBy: named(
      MISSED_TESTS,
      `${FORGOT} is halted for a decision between others that it has, where another directory wrote on before`,
    ),
  },
  {
    guard: 'a run that was handed in since is known again',
    edits: replaced(
      MISSED,
      'await recovery.restoreRun({ id: target, fileSha256, contentHash, seenAt, ...handedIn });',
      '',
    ),
    caughtBy: named(
      MISSED_TESTS,
      `${FORGOT} knows the file of a run again that was handed in, with the rows in any spelling, and nothing of it looks new`,
    ),
  },
  {
    guard: 'in a closed season no payout ends free',
    edits: replaced(COMMIT, "return not isSeasonOpen() and { 'season' }", 'return false'),
    caughtBy: named(
      'test/runs/write-off.test.ts',
      'a data directory that two people write off doubts what people cancelled since the restart: nothing is given up before it is known who sent it',
    ),
  },
  {
    guard: 'people allow only what they saw',
    edits: replaced(DECIDE, 'if (!isAsSeen(move, context.holders)) {', 'if (false) {'),
    caughtBy: named(
      'test/ledger/recording.test.ts',
      'a reference is not given to one that people allowed while the other one moved on',
    ),
  },
  {
    guard: 'each quote of a directory that comes back is asked for',
    edits: replaced(COMPARE, 'if hasOther then noteQuote(p, quote) end', ''),
    caughtBy: named(
      'test/runs/write-off.test.ts',
      'a data directory that two people write off asks for each quote of a directory that comes back after all',
    ),
  },
  {
    guard: 'a restored file is told by its birth',
    edits: replaced(
      'src/ledger/intents/data-dir.ts',
      " && (born === '' || birthtimeNs === 0n || born === String(birthtimeNs))",
      '',
    ),
    caughtBy: named(
      'test/ledger/dir-lease.test.ts',
      'a data directory that was restored in its place, where the file system gave the copy the inode that had become free, has an id of its own',
    ),
  },
  {
    guard: 'a write-off doubts what is held',
    edits: replaced('src/runs/safety/write-off.ts', `'ready', 'held'] as const`, `'ready'] as const`),
    caughtBy: named(
      'test/runs/write-off.test.ts',
      'a data directory that two people write off doubts what is held here and was never sent: people may have allowed it since, and it was sent from there',
    ),
  },
];

const MOVES: readonly Mutation[] = [
  {
    guard: 'a move compares the version that was read',
    edits: replaced(DECIDE, 'move.version !== undefined && move.version !== record.version', 'false'),
    caughtBy: named(
      MOVE_TESTS,
      'a refused move for another version, another quote or a payout that is not there changes nothing, not even the count',
    ),
  },
  {
    guard: 'a move compares the quote',
    edits: replaced(DECIDE, "record.values.get('q') !== move.quoteId", 'false'),
    caughtBy: named(
      MOVE_TESTS,
      'a refused move for another version, another quote or a payout that is not there changes nothing, not even the count',
    ),
  },
  {
    guard: 'only the moves of the table are made',
    edits: replaced(DECIDE, '!isAllowed(record, move, to)', 'false'),
    caughtBy: named(
      MOVE_TESTS,
      'the ledger makes exactly the moves of the table, for every pair of states: sent true, breach false, drop undefined',
    ),
  },
  {
    guard: 'a quote that an earlier request spent is not dropped as never sent',
    edits: replaced(DECIDE, "return dropQuote !== 'not-sent' || numberOf(record, 'ar') <= 1;", 'return true;'),
    caughtBy: named(MOVE_TESTS, 'a dropped quote is never one of which an earlier request may have left'),
  },
  {
    guard: 'a payment belongs to one payout',
    edits: replaced(COMMIT, 'if owner and owner ~= UNSENT then', 'if false then'),
    caughtBy: named(
      MOVE_TESTS,
      'a payment belongs to one payout: another one cannot be accepted with it, whether it is its quote or not',
    ),
  },
  {
    guard: 'a reference that was used holds the next payout',
    edits: replaced(
      'src/ledger/runs/recording.ts',
      'if (earlier !== undefined) return held(',
      'if (false) return held(',
    ),
    caughtBy: named(
      RECORDING_TESTS,
      'a reference of a payout that is accepted holds the next payout, with a link to the earlier one',
    ),
  },
  {
    guard: 'a file makes one run',
    edits: replaced(
      'src/ledger/scripts/hand-in.ts',
      'if known and (isAwaited and key or not (',
      'if false and (isAwaited and key or not (',
    ),
    caughtBy: named(
      RECORDING_TESTS,
      'submitting a file 20 times at once makes one run with each row once, and wakes the workers',
    ),
  },
  {
    guard: 'a run is not paid before each row of its file is recorded',
    edits: replaced(
      RUNS,
      `return { 'season', from } end\n  if not hasAllRows(run) then`,
      `return { 'season', from } end\n  if false then`,
    ),
    caughtBy: named(
      RECORDING_TESTS,
      'recording does not end before each row of the file has a record: a run without some goes not to paying',
    ),
  },
  {
    guard: 'a run is not finished while a payout is open',
    edits: replaced(
      RUNS,
      `or '0') > 0 then return { 'open', from } end`,
      `or '0') < 0 then return { 'open', from } end`,
    ),
    caughtBy: named(RUN_TESTS, 'a run is finished never while a payout is unknown'),
  },
  {
    guard: 'no run goes on while everything is halted',
    edits: replaced(RUNS, `if to == 'paying' and redis.call('HEXISTS', HEAD, 'halt') == 1 then`, 'if false then'),
    caughtBy: named(RUN_TESTS, 'a pause is not ended while everything is halted, nor by one person'),
  },
];

export const LEDGER_MUTATIONS: readonly Mutation[] = [...ARMING, ...SEASONS, ...PEOPLE, ...MOVES];
