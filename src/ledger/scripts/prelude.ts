import { outcomeOf, PAYOUT_STATES, RUN_MOVES } from '../../payout.ts';
import { KNOWN_PAYMENTS_MAX, LUA_KEYS, UNSENT } from '../keys.ts';

function luaTable(entries: readonly (readonly [string, string])[]): string {
  return `{ ${entries.map(([key, value]) => `['${key}'] = ${value}`).join(', ')} }`;
}

const outcomes = luaTable([...PAYOUT_STATES, 'refused' as const].map((state) => [state, `'${outcomeOf(state)}'`]));
const runMoves = luaTable(
  Object.entries(RUN_MOVES).flatMap(([from, tos]) => tos.map((to) => [`${from}>${to}`, 'true'] as const)),
);

/** Less is no step of a clock: two clocks of one machine, or a correction that nothing waits for. */
export const STEP_MS_MIN = 5000;

/** What several scripts share: key names, the table of runs' moves (made from src/payout.ts), and Redis's time. */
export const LUA_PRELUDE = `${LUA_KEYS}
local OUTCOME = ${outcomes}
local RUN_MOVES = ${runMoves}
local UNSENT = '${UNSENT}'

local function text(n) return string.format('%d', n) end

local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- Whoever gives a time to something that waits notes the clock that it goes by: a step back shows then, though nobody looked before.
local function noteClock(at)
  local f = redis.call('HMGET', HEAD, 'instance', 'clockSeen')
  if f[1] and at - tonumber(f[2] or '0') > ${STEP_MS_MIN} then redis.call('HSET', HEAD, 'clockSeen', text(at)) end
  return at
end

-- Keeps the latest payments that were made under some credentials.
local function keepPayments(credentials, ids)
  redis.call('LPUSH', knownPaymentsKey(credentials), unpack(ids))
  redis.call('LTRIM', knownPaymentsKey(credentials), 0, ${KNOWN_PAYMENTS_MAX - 1})
end

-- Puts names and values at the end of a list of them.
local function append(list, fields)
  for name, value in pairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = value
  end
end

-- Adds to a counter. Where a script moves many payouts, LUA_SUMS gathers what it adds.
local function add(key, field, by) redis.call('HINCRBY', key, field, by) end

-- Whether each row of the run's file has a record.
local function hasAllRows(run)
  local recorded = 0
  for state in pairs(OUTCOME) do recorded = recorded + tonumber(redis.call('HGET', runKey(run), 'n:' .. state) or '0') end
  return recorded == tonumber(redis.call('HGET', runKey(run), 'rows') or '-1')
end

-- The run of a file's SHA-256 and content hash; of a stub the content may not be known. Another sheet of the same file is
-- another content.
local function runOf(file, content)
  local known = content ~= '' and redis.call('HGET', CONTENTS, content)
  if known then return known end
  local ofFile = redis.call('HGET', FILES, file)
  local its = ofFile and redis.call('HGET', runKey(ofFile), 'contentHash')
  if ofFile and (not its or content == '' or its == content) then return ofFile end
  return nil
end

-- Whether a host that was lost may have sent rows of a run that this Redis forgot: by the day with which the run's id begins, or an earlier
-- one on which it was seen, for whoever named it may have had a wrong clock. Without a run, whether any host was lost. One that was
-- retired sent nothing unknown.
local function mayHaveLost(run, seen)
  local day = run and string.match(run, '^(%d%d%d%d%d%d%d%d)%-')
  if day and seen and seen < day then day = seen end
  for _, field in ipairs(redis.call('HKEYS', HEAD)) do
    local lastDay = string.sub(field, 1, 11) == 'writtenOff:' and string.match(redis.call('HGET', HEAD, field), '^lost (%d+)$')
    if lastDay and (not day or day <= lastDay) then return true end
  end
  return false
end

-- Makes a run known again that this Redis forgot: its file fills it when it comes again.
local function makeStub(run, file, content, seen)
  local at = text(now())
  redis.call('HSET', runKey(run), 'state', 'recording', 'createdAt', at, 'changes', 1, 'fileSha256', file, 'restored', '1')
  redis.call('HSET', FILES, file, run)
  if content ~= '' then
    redis.call('HSET', runKey(run), 'contentHash', content)
    redis.call('HSET', CONTENTS, content, run)
  end
  redis.call('ZADD', RUNS, at, run)
  if mayHaveLost(run, seen) then redis.call('HSET', runKey(run), 'doubted', '1') end
end

-- Notes as which run one is known that this Redis forgot, and whether that was made of the same file. Where it is not recorded, its
-- file may be gone by now: another one with its rows on the same lines fills it.
local function noteKnownAs(run, known, file)
  local isSame = redis.call('HGET', runKey(known), 'fileSha256') == file
  redis.call('HSET', KNOWN_AS, run, known .. (isSame and ' same' or ''))
  if not redis.call('HGET', runKey(known), 'lastLine') then redis.call('HSET', runKey(known), 'restored', '1') end
end

-- Notes that a capability of the service was seen not to hold; false when that was known.
local function disprove(capability, evidence)
  local known = redis.call('HGET', HEAD, 'disproved') or ''
  if string.find(',' .. known .. ',', ',' .. capability .. ',', 1, true) then return false end
  redis.call('HSET', HEAD, 'disproved', known == '' and capability or known .. ',' .. capability, 'evidence:' .. capability, evidence)
  return true
end

-- Whether a run goes on, or will by itself at its time, unless somebody pauses it.
local function goesOn(run)
  local f = redis.call('HMGET', runKey(run), 'state', 'startAt')
  return f[1] == 'paying' or (f[1] == 'paused' and f[2] ~= false)
end

-- A quote whose payment should not be, of which people were told by a breach.
local function wasFound(run, quote)
  return string.find(' ' .. (redis.call('HGET', runKey(run), 'quotesFound') or '') .. ' ', ' ' .. quote .. ' ', 1, true)
end
local function noteFound(run, quote)
  if wasFound(run, quote) then return end
  local found = redis.call('HGET', runKey(run), 'quotesFound')
  redis.call('HSET', runKey(run), 'quotesFound', found and found .. ' ' .. quote or quote)
end

-- Each pause of a run has a number, and so has each further reason for it: whoever resumes the run says which they saw.
local function setPause(run, reason)
  redis.call('HSET', runKey(run), 'state', 'paused', 'pauseReason', reason)
  redis.call('HINCRBY', runKey(run), 'pauses', 1)
end

-- Pauses a run because of something that concerns all of them.
local function pauseRun(run, reason)
  setPause(run, reason)
  redis.call('HDEL', runKey(run), 'startAt', 'startReason')
  redis.call('HINCRBY', runKey(run), 'changes', 1)
  redis.call('ZADD', WATCH, text(now()), run)
  redis.call('XADD', eventsKey(run), '*', 'event', 'paused', 'actor', 'season', 'reason', reason)
end

-- The server's own word on which server it is, and whether anybody replicates it.
local function serverNow()
  local server = redis.call('INFO', 'server')
  local replication = redis.call('INFO', 'replication')
  return string.match(server, 'run_id:(%w+)') .. ' ' .. string.match(replication, 'master_replid:(%w+)'),
    tonumber(string.match(replication, 'connected_slaves:(%d+)') or '0')
end

-- seen: the highest arming counter that a process ever saw. A Redis that knows of fewer armings went back in time, and nobody told
-- it: its season is closed, and each directory compares anew.
local function noteCounter(seen)
  local f = redis.call('HMGET', HEAD, 'season', 'closedFor', 'armings')
  if tonumber(f[3] or '0') >= tonumber(seen) then return end
  -- It is closed for that already; one that went back to an earlier closing does not know the counter.
  if f[1] ~= serverNow() and tonumber(f[2] or '0') >= tonumber(seen) then return end
  -- Each closing has a name of its own: whoever read logs for an earlier one reads them anew.
  local t = redis.call('TIME')
  redis.call('HSET', HEAD, 'season', 'closed ' .. t[1] .. ' ' .. t[2], 'closedFor', seen)
  for _, dir in ipairs(redis.call('HKEYS', DIRS)) do redis.call('HSET', DIRS, dir, '-') end
end

-- Opens the season of a server. Each directory has compared for whatever it was closed for: nobody closes it for that again.
local function openSeason(server)
  local f = redis.call('HMGET', HEAD, 'armings', 'closedFor')
  local highest = math.max(tonumber(f[1] or '0'), tonumber(f[2] or '0'))
  redis.call('HSET', HEAD, 'season', server, 'armings', text(highest))
end
`;

/** Gathers what `add` adds, exactly below 2^53, until `writeSums`: a script that moves many payouts writes each counter once. */
export const LUA_SUMS = `
local sums = {}
add = function(key, field, by)
  local fields = sums[key] or {}
  sums[key] = fields
  fields[field] = (fields[field] or 0) + tonumber(by)
end
local function writeSums()
  for key, fields in pairs(sums) do
    for field, sum in pairs(fields) do redis.call('HINCRBY', key, field, text(sum)) end
  end
end
`;

/** Adds amounts, with their currencies, to what counts for the limits of a run and a day; sign '-' takes them away. */
export const LUA_COUNTED = `
local function addCounted(run, day, beneficiary, amounts, sign)
  local isKept = sign == '' or redis.call('EXISTS', spentKey(day)) == 1
  for currency, amount in string.gmatch(amounts, '(%u+) (%d+)') do
    redis.call('HINCRBY', runKey(run), 'sum:' .. currency, sign .. amount)
    if isKept then
      redis.call('HINCRBY', spentKey(day), currency, sign .. amount)
      redis.call('HINCRBY', spentKey(day), currency .. ' ' .. beneficiary, sign .. amount)
    end
  end
  -- For long, as the clock of Redis may be ahead for a while.
  if sign == '' then redis.call('PEXPIRE', spentKey(day), 35 * 86400000) end
end
`;
