import { STATE_LETTERS } from '../payouts/stored.ts';
import { LUA_COUNTED, LUA_PRELUDE, LUA_SUMS } from './prelude.ts';

/** Payouts that had a reference before people allowed another one: the last ones. */
const FORMER_MAX = 64;

const states = Object.entries(STATE_LETTERS).map(([state, letter]) => `${letter} = '${state}'`);

/**
 * Puts records in the place of those that the caller read. It compares and writes; what is a function of one record was decided
 * before (decide-move.ts, decide-arming.ts).
 *
 * KEYS[1] prefix
 * ARGV[1] 'arm', 'record' or 'move'
 *   to arm: ARGV[2] data directory; ARGV[3] schema version that the caller knows; ARGV[4] the highest arming counter that it ever
 *   saw; ARGV[5] server to which its other commands lead, or ''; ARGV[6] the host on which the directory's id is used, or '';
 *   ARGV[7] the caller's safety settings, or ''
 *   to record: ARGV[2] run id; ARGV[3] its state, and ARGV[4] whether it is doubted ('1' or ''), as the caller saw them
 * ARGV[8] number of blocks; ARGV[9...] of each its run id, block, number of lines, and those lines; then items: the number of its
 *   block, its line,
 *   the text that it replaces ('' for a record that must not be there; a version alone would not do, for a Redis that went back
 *   gives the same numbers again), the new text, both state letters, currency and amount in
 *   minor units (or ''), ms until it wants something ('' for nothing), the number of its operations, and these: a name of OPS with
 *   its arguments. Checks stand before claims, and those before all else.
 *   In the text, \2<ms>\2 stands for the present time less ms, and \1\1 for the arming counter.
 * Returns [time, replicas, 1 where ARGV[5] names another server | 0, answers]: of each item ['written', the arming counter or the bad
 *   ones among the run's last outcomes], or [why not, …]: 'again' when another record stands there.
 *
 * Invariant: an item is written as a whole or not at all. Nothing is armed but in an open season of this very server, which knows
 * of every arming that the caller knows, from a data directory whose intent logs were compared for it, under the ledger's safety
 * settings, with no halt and no wait.
 */
export const COMMIT = `${LUA_PRELUDE}${LUA_SUMS}${LUA_COUNTED}
local STATE = { ${states.join(', ')} }
local at = noteClock(now())
local mode = ARGV[1]
local server, replicas = '', 0
if mode == 'arm' then server, replicas = serverNow() end

local isOpen
local function isSeasonOpen()
  if isOpen == nil then isOpen = redis.call('HGET', HEAD, 'season') == serverNow() end
  return isOpen
end

-- Why nothing can be armed, or recorded, here and now.
local stop, isElsewhere = nil, false
if mode == 'arm' then
  noteCounter(ARGV[4])
  local head = redis.call('HMGET', HEAD, 'season', 'halt', 'schema', 'safety')
  -- Of two primaries after a failover, arming may still lead to the old one.
  isElsewhere = ARGV[5] ~= '' and ARGV[5] ~= server
  -- Another host uses a copy of this data directory.
  local isCopied = ARGV[6] ~= '' and (redis.call('GET', leaseKey(ARGV[2])) or ARGV[6]) ~= ARGV[6]
  if isElsewhere or isCopied or head[1] ~= server or redis.call('HGET', DIRS, ARGV[2]) ~= server then stop = 'season'
  elseif tonumber(head[3]) > tonumber(ARGV[3]) then stop = 'newer'
  elseif ARGV[7] ~= '' and head[4] ~= ARGV[7] then stop = 'settings'
  elseif head[2] then stop = 'halted'
  elseif redis.call('EXISTS', WAIT) == 1 then stop = 'wait' end
elseif mode == 'record' then
  local f = redis.call('HMGET', runKey(ARGV[2]), 'state', 'doubted', 'purgedAt')
  if not isSeasonOpen() then stop = 'season'
  elseif f[1] ~= ARGV[3] or (f[2] or '') ~= ARGV[4] or f[3] then stop = 'again' end
end

local runStates = {}
local function runState(run)
  if not runStates[run] then runStates[run] = redis.call('HGET', runKey(run), 'state') or 'none' end
  return runStates[run]
end

-- Whether the line is of a stage that was released.
local stageEnds = {}
local function isReleased(run, line)
  if stageEnds[run] == nil then stageEnds[run] = tonumber(redis.call('HGET', runKey(run), 'stageEnd') or '') or false end
  return not stageEnds[run] or tonumber(line) <= stageEnds[run]
end

local listSeal, hasBlocked
local function isBlocked(beneficiary)
  if hasBlocked == nil then hasBlocked = redis.call('EXISTS', BLOCKED) == 1 end
  return hasBlocked and redis.call('HEXISTS', BLOCKED, beneficiary) == 1
end

local lastOutcomes, knownPayments = {}, {}
local likelyKeys = {}

-- Each with the number of its arguments. A check answers why the item cannot be written.
local OPS = {
  -- The season is open: in a closed one no payout comes to an end that frees its reference (architecture.md, rule 4).
  open = { 0, function() return not isSeasonOpen() and { 'season' } end },
  -- The record itself says why not.
  refuse = { 1, function(_, word) return { word } end },
  -- The run is in one of the states.
  run = { 2, function(item, states, word)
    return not string.find(states, '|' .. runState(item.run) .. '|', 1, true) and { word }
  end },
  -- A reference stands for what the caller saw it to stand for, and the payout that has it stands as people saw it ('' for no
  -- such payout, or no record of it).
  sees = { 6, function(item, hash, claimants, holder, block, line, version)
    if (redis.call('HGET', referencesKey(hash), hash) or '') ~= claimants then return { 'again' } end
    if holder == '' then return false end
    local record = redis.call('HGET', rowsKey(string.match(holder, '^(.*)%-'), block), line) or ''
    return (string.match(record, '^%[(%d+),') or '') ~= version and { 'again' }
  end },
  -- The reference is the payout's own, and no other one's.
  mine = { 1, function(item, hash)
    for holder in string.gmatch(redis.call('HGET', referencesKey(hash), hash) or '', '%S+') do
      if holder ~= item.id then return { 'reference', holder } end
    end
    return false
  end },
  -- The reference is not shared; isBack is '1' for a payout that takes it back. People gave it to whoever has it alone.
  alone = { 2, function(item, hash, isBack)
    local found = redis.call('HGET', referencesKey(hash), hash) or item.id
    local isOwn = isBack == '1' or string.find(' ' .. found .. ' ', ' ' .. item.id .. ' ', 1, true)
    return found ~= item.id and isOwn and { 'shared' }
  end },
  -- A reference stands for what the caller saw it to stand for.
  refis = { 2, function(_, hash, seen) return (redis.call('HGET', referencesKey(hash), hash) or '') ~= seen and { 'again' } end },
  likelyis = { 3, function(_, period, hash, seen)
    return (redis.call('HGET', likelyKey(period, hash), hash) or '') ~= seen and { 'again' }
  end },
  -- People agreed to the run as it is, and their word holds.
  approval = { 1, function(item, digest)
    local f = redis.call('HMGET', runKey(item.run), 'approved', 'approvedUntil')
    return not (f[1] == digest and tonumber(f[2]) > at) and { 'approval' }
  end },
  blocklist = { 1, function(_, seen)
    listSeal = listSeal or redis.call('GET', BLOCKED_SEAL) or ''
    return seen ~= listSeal and { 'block-list' }
  end },
  unblocked = { 1, function(_, beneficiary) return isBlocked(beneficiary) and { 'blocked' } end },
  -- An amount passes no limit: that of a payout, of the run, of the day and of the beneficiary on it ('' for none).
  limit = { 8, function(item, day, beneficiary, currency, amount, payout, run, ofDay, ofBeneficiary)
    if amount == '' then return { 'limit', 'amount', currency } end
    local minor = tonumber(amount)
    local function breaks(most, key, field)
      return most ~= '' and tonumber(redis.call('HGET', key, field) or '0') + minor > tonumber(most)
    end
    if payout ~= '' and minor > tonumber(payout) then return { 'limit', 'payout', currency } end
    if breaks(run, runKey(item.run), 'sum:' .. currency) then return { 'limit', 'run', currency } end
    if breaks(ofDay, spentKey(day), currency) then return { 'limit', 'day', currency } end
    if breaks(ofBeneficiary, spentKey(day), currency .. ' ' .. beneficiary) then return { 'limit', 'beneficiary', currency } end
    return false
  end },
  -- A payment belongs to one payout; one whose id is its quote's was claimed when the quote was armed.
  payment = { 1, function(item, id)
    local owner = redis.call('HGET', quotesKey(id), id)
    if owner and owner ~= UNSENT then return owner ~= item.id and { 'payment-taken' } end
    redis.call('HSET', quotesKey(id), id, item.id)
    return false
  end },
  -- A quote that no payout armed before.
  quote = { 1, function(item, id)
    if (redis.call('HGET', quotesKey(id), id) or UNSENT) ~= UNSENT then return { 'quote-taken' } end
    redis.call('HSET', quotesKey(id), id, item.id)
    return false
  end },
  -- A payment that was made under some credentials.
  known = { 2, function(_, credentials, id)
    knownPayments[credentials] = knownPayments[credentials] or {}
    table.insert(knownPayments[credentials], id)
  end },
  gone = { 2, function(_, credentials, id) redis.call('LREM', knownPaymentsKey(credentials), 0, id) end },
  unsent = { 1, function(_, id) redis.call('HSET', quotesKey(id), id, UNSENT) end },
  dead = { 1, function(item, id)
    redis.call('RPUSH', deadKey(item.run), item.line .. ' ' .. id)
    redis.call('HDEL', runKey(item.run), 'deadQuotesFound')
  end },
  -- A quote beside the payment by which people settle the payout: it is looked up at each decision and at the run's end.
  beside = { 1, function(item, id)
    local entry = item.line .. ' ' .. id
    if not redis.call('LPOS', besideKey(item.run), entry) then redis.call('RPUSH', besideKey(item.run), entry) end
    redis.call('HDEL', runKey(item.run), 'deadQuotesFound')
  end },
  found = { 1, function(item, id) noteFound(item.run, id) end },
  counter = { 0, function(item) item.number = redis.call('HINCRBY', HEAD, 'armings', 1) end },
  ref = { 1, function(item, hash) redis.call('HSET', referencesKey(hash), hash, item.id) end },
  -- People gave a payout the reference. Those that had it are kept: one that was paid counts again once this one comes to nothing.
  reftake = { 1, function(item, hash)
    local rk, former, seen = referencesKey(hash), {}, { [item.id] = true }
    local had = redis.call('HMGET', rk, hash, hash .. '+')
    for holder in string.gmatch((had[1] or '') .. ' ' .. (had[2] or ''), '%S+') do
      if not seen[holder] and #former < ${FORMER_MAX} then former[#former + 1] = holder end
      seen[holder] = true
    end
    redis.call('HSET', rk, hash, item.id)
    if #former > 0 then redis.call('HSET', rk, hash .. '+', table.concat(former, ' ')) end
  end },
  -- A payout that was found after all has its reference again, beside whoever was given it meanwhile.
  refback = { 1, function(item, hash)
    local found = redis.call('HGET', referencesKey(hash), hash) or ''
    if not string.find(' ' .. found .. ' ', ' ' .. item.id .. ' ', 1, true) then
      redis.call('HSET', referencesKey(hash), hash, found == '' and item.id or item.id .. ' ' .. found)
    end
  end },
  refnx = { 1, function(item, hash) redis.call('HSETNX', referencesKey(hash), hash, item.id) end },
  likely = { 3, function(item, period, hash, ms)
    local key = likelyKey(period, hash)
    redis.call('HSET', key, hash, item.id)
    likelyKeys[key] = ms
  end },
  paid = { 1, function(_, hash) redis.call('HSETNX', paidKey(hash), hash, '') end },
  newben = { 0, function(item) add(runKey(item.run), 'newBeneficiaryRows', 1) end },
  sum = { 2, function(item, field, amount) add(runKey(item.run), field, amount) end },
  -- What people did, for the audit log.
  act = { 1, function(_, act) redis.call('RPUSH', AUDIT_WAITING, act) end },
  changes = { 0, function(item) add(runKey(item.run), 'changes', 1) end },
  uncount = { 3, function(item, day, beneficiary, list) addCounted(item.run, day, beneficiary, list, '-') end },
  count = { 3, function(item, day, beneficiary, list) addCounted(item.run, day, beneficiary, list, '') end },
  slice = { 1, function(item, ms)
    redis.call('ZADD', slicesKey(item.run), text(at + tonumber(ms)), item.line .. '-' .. item.line)
  end },
  -- Remembers what came of the run's last payments, '1' for a bad one; the answer has how many of those there are.
  outcome = { 2, function(item, digit, most)
    local rk = runKey(item.run)
    local kept = string.sub((lastOutcomes[rk] or redis.call('HGET', rk, 'lastOutcomes') or '') .. digit, -tonumber(most))
    lastOutcomes[rk] = kept
    item.number = select(2, string.gsub(kept, '1', ''))
  end },
  -- A finished run is paid again, for what people allowed.
  reopen = { 2, function(item, actor, reason)
    local rk = runKey(item.run)
    if runState(item.run) ~= 'finished' then return end
    local isHalted = redis.call('HEXISTS', HEAD, 'halt') == 1
    local to = isHalted and 'paused' or 'paying'
    redis.call('HSET', rk, 'state', to)
    redis.call('HDEL', rk, 'finishedAt', 'deadQuotesFound')
    if isHalted then setPause(item.run, 'everything was halted when a payout was allowed') end
    redis.call('SADD', LIVE, item.run)
    redis.call('XADD', eventsKey(item.run), '*', 'event', to, 'actor', actor,
      'reason', 'row ' .. item.line .. ' was allowed: ' .. reason)
    runStates[item.run] = to
  end },
}

-- Carries out the operations of an item; what a check says ends them. n goes past all of them.
local n = 9
local function operate(item)
  local left, why = tonumber(ARGV[n]), nil
  n = n + 1
  for _ = 1, left do
    local op = OPS[ARGV[n]]
    if not why then why = op[2](item, unpack(ARGV, n + 1, n + op[1])) or nil end
    n = n + 1 + op[1]
  end
  return why
end

local function skip()
  local left = tonumber(ARGV[n])
  n = n + 1
  for _ = 1, left do n = n + 1 + OPS[ARGV[n]][1] end
end

local function countState(item, letter, sign)
  local rk = runKey(item.run)
  add(rk, 'n:' .. STATE[letter], sign .. '1')
  if item.amount ~= '' then add(rk, 'm:' .. item.currency .. ':' .. OUTCOME[STATE[letter]], sign .. item.amount) end
end

-- A payment that is completed after its run ended may come back as late as others.
local function watchOn(run)
  if runState(run) ~= 'finished' and runState(run) ~= 'cancelled' then return end
  redis.call('HSET', runKey(run), 'completedAt', text(at))
  redis.call('ZADD', WATCH, 'NX', text(at), run)
end

-- Each pair of bytes and what stands between them becomes what tell makes of that. A plain find is many times faster than a pattern
-- on a text of this length.
local function replaced(record, byte, tell)
  local first = string.find(record, byte, 1, true)
  while first do
    local last = string.find(record, byte, first + 1, true)
    local told = tell(string.sub(record, first + 1, last - 1))
    record = string.sub(record, 1, first - 1) .. told .. string.sub(record, last + 1)
    first = string.find(record, byte, first + #told, true)
  end
  return record
end

local function timeBefore(ms) return text(at - tonumber(ms)) end

local function written(item, new)
  local record = replaced(new, '\\2', timeBefore)
  return item.number and replaced(record, '\\1', function() return text(item.number) end) or record
end

-- Each block is read once, and written once.
local blocks = {}
for i = 1, tonumber(ARGV[8]) do
  local run, block, count = ARGV[n], ARGV[n + 1], tonumber(ARGV[n + 2])
  local key, first = rowsKey(run, block), n + 3
  local found = redis.call('HMGET', key, 'v', unpack(ARGV, first, first + count - 1))
  local records = {}
  for j = 1, count do records[ARGV[first + j - 1]] = found[j + 1] end
  blocks[i] = { run = run, block = block, key = key, commits = tonumber(found[1] or '0'), records = records, changed = {}, due = {} }
  n = first + count
end

local answers, hasRecorded = {}, false
while n <= #ARGV do
  local b, line, was, new, from, to, ms = blocks[tonumber(ARGV[n])], ARGV[n + 1], ARGV[n + 2], ARGV[n + 3], ARGV[n + 4], ARGV[n + 5], ARGV[n + 8]
  local item = { run = b.run, line = line, id = b.run .. '-' .. line, currency = ARGV[n + 6], amount = ARGV[n + 7] }
  n = n + 9
  local there = b.records[line]
  local isAsRead = (there or '') == was
  local isUnpaid = mode == 'arm' and (runState(b.run) ~= 'paying' or not isReleased(b.run, line))
  local why
  if stop or isUnpaid or not isAsRead then
    why = { stop or isUnpaid and 'run' or 'again' }
    skip()
  else
    why = operate(item)
  end
  if why then
    answers[#answers + 1] = why
  else
    local record = written(item, new)
    b.records[line] = record
    b.changed[line] = record
    if from ~= to then
      redis.call('SETRANGE', statesKey(b.run), line, to)
      if from ~= '' then countState(item, from, '-') end
      countState(item, to, '')
      if STATE[to] == 'completed' then watchOn(b.run) end
      hasRecorded = hasRecorded or from == ''
    end
    if ms ~= '' then
      local set = to == 'p' and TRACKED or DUE
      b.due[set] = math.min(b.due[set] or at + tonumber(ms), at + tonumber(ms))
    end
    answers[#answers + 1] = { 'written', item.number or 0 }
  end
end
for _, b in ipairs(blocks) do
  local writes = {}
  append(writes, b.changed)
  if #writes > 0 then redis.call('HSET', b.key, 'v', text(b.commits + 1), unpack(writes)) end
  for set, time in pairs(b.due) do redis.call('ZADD', set, 'LT', text(time), b.run .. ':' .. b.block) end
end
for rk, kept in pairs(lastOutcomes) do redis.call('HSET', rk, 'lastOutcomes', kept) end
for credentials, ids in pairs(knownPayments) do keepPayments(credentials, ids) end
for likely, ms in pairs(likelyKeys) do redis.call('PEXPIRE', likely, ms) end
if hasRecorded then redis.call('HSET', runKey(ARGV[2]), 'recordedAt', text(at)) end
writeSums()
return { text(at), replicas, isElsewhere and 1 or 0, answers }
`;
