import { MOVES } from '../../moves.ts';
import { FREE_STATES, outcomeOf, PAYOUT_STATES, RUN_MOVES } from '../../payout.ts';
import { BENEFICIARY_HASH_CHARACTERS, LUA_KEYS, UNSENT } from '../keys.ts';

function luaTable(entries: readonly (readonly [string, string])[]): string {
  return `{ ${entries.map(([key, value]) => `['${key}'] = ${value}`).join(', ')} }`;
}

const outcomes = luaTable([...PAYOUT_STATES, 'refused' as const].map((state) => [state, `'${outcomeOf(state)}'`]));
const drops = luaTable(MOVES.map((move) => [`${move.from}>${move.to}`, `'${move.drops ?? ''}'`]));
const guards = luaTable(
  MOVES.flatMap(({ from, to, guard }) => (guard === undefined ? [] : [[`${from}>${to}`, `'${guard}'`] as const])),
);
const runMoves = luaTable(
  Object.entries(RUN_MOVES).flatMap(([from, tos]) => tos.map((to) => [`${from}>${to}`, 'true'] as const)),
);

/**
 * What several scripts share: key names, the tables of moves (made from src/payout.ts), Redis's time, and `applyMove`,
 * the only code that writes a payout's state.
 */
export const LUA_PRELUDE = `${LUA_KEYS}
local OUTCOME = ${outcomes}
local DROPS = ${drops}
local GUARDS = ${guards}
local RUN_MOVES = ${runMoves}
local FREE = { ${FREE_STATES.map((state) => `['${state}'] = true`).join(', ')} }
local UNSENT = '${UNSENT}'
local SETTLED = { completed = true, failed = true, returned = true, rejected = true, cancelled = true }

local function text(n) return string.format('%d', n) end

local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- A payout as moves need it, or nil.
local function load(run, line)
  local key = payoutKey(run, line)
  local f = redis.call('HMGET', key, 's', 'v', 'q', 'amt', 'typ', 'src', 'dst', 'rh', 'ct', 'ar', 'qn', 'at', 'cf', 'qf', 'pr', 'ben')
  if not f[1] then return nil end
  return { run = run, line = line, key = key, state = f[1], version = tonumber(f[2]), quote = f[3], amount = f[4],
    currency = (f[5] == 'S') and f[6] or f[7], rowSeal = f[8], counter = tonumber(f[9] or '0'),
    armings = tonumber(f[10] or '0'), quotes = tonumber(f[11] or '0'), attempts = tonumber(f[12] or '0'),
    credentials = f[13], quoteFailures = f[14], proposal = f[15], beneficiary = f[16] }
end

-- Whether the table of moves lets p go to a state by dropping its quote for a reason ('' for none); a breach may hold
-- anything, with its quote.
local function mayMove(p, to, drops, breach)
  if breach then return to == 'held' and p.state ~= 'held' and drops == '' end
  local move = p.state .. '>' .. to
  if DROPS[move] ~= drops then return false end
  if GUARDS[move] == 'sent' then return p.quote ~= false end
  if GUARDS[move] == 'never-sent' then return p.quote == false end
  return true
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

local function count(p, state, sign)
  local run = runKey(p.run)
  add(run, 'n:' .. state, sign .. '1')
  if p.amount then add(run, 'm:' .. p.currency .. ':' .. OUTCOME[state], sign .. p.amount) end
end

local function setDue(p, to, at, afterMs)
  local id = p.run .. '-' .. p.line
  local set = to == 'accepted' and TRACKED or DUE
  if to ~= 'accepted' and to ~= 'armed' then redis.call('ZREM', TRACKED, id) end
  if to == 'ready' then
    redis.call('ZREM', DUE, id)
    redis.call('ZADD', slicesKey(p.run), text(at + (afterMs or 0)), p.line .. '-' .. p.line)
  elseif afterMs then
    if set == TRACKED then redis.call('ZREM', DUE, id) end
    redis.call('ZADD', set, text(at + afterMs), id)
  else
    redis.call('ZREM', DUE, id)
    redis.call('ZREM', set, id)
  end
end

-- Takes what a payout counted as out of the sums of its limits.
local function uncount(p)
  local f = redis.call('HMGET', p.key, 'ld', 'lb', 'lc')
  if not f[1] then return end
  local isKept = redis.call('EXISTS', spentKey(f[1])) == 1
  for currency, amount in string.gmatch(f[3], '(%u+) (%d+)') do
    redis.call('HINCRBY', runKey(p.run), 'sum:' .. currency, '-' .. amount)
    if isKept then
      redis.call('HINCRBY', spentKey(f[1]), currency, '-' .. amount)
      redis.call('HINCRBY', spentKey(f[1]), currency .. ' ' .. f[2], '-' .. amount)
    end
  end
  redis.call('HDEL', p.key, 'ld', 'lb', 'lc')
end

-- Counts a payout for the limits of a day: counted is { d day, b beneficiary, s amounts with their currencies }.
local function countFor(run, key, counted)
  local day = counted.d
  redis.call('HSET', key, 'ld', day, 'lb', counted.b, 'lc', counted.s)
  for currency, amount in string.gmatch(counted.s, '(%u+) (%d+)') do
    redis.call('HINCRBY', runKey(run), 'sum:' .. currency, amount)
    redis.call('HINCRBY', spentKey(day), currency, amount)
    redis.call('HINCRBY', spentKey(day), currency .. ' ' .. counted.b, amount)
  end
  redis.call('PEXPIRE', spentKey(day), 8 * 86400000)
end

local function beneficiaryHash(id) return string.sub(redis.sha1hex(id), 1, ${BENEFICIARY_HASH_CHARACTERS}) end

-- Remembers to whom a payout was paid.
local function notePaid(p)
  if not p.beneficiary then return end
  local hash = beneficiaryHash(p.beneficiary)
  redis.call('HSETNX', paidKey(hash), hash, '')
end

-- Writes the move: state, version, history, indexes, counters, due time, and the record's further fields: set, a list of
-- names and values, and unset, a list of names. The caller has checked that it may be made.
local function applyMove(p, to, m)
  local version = p.version + 1
  redis.call('SETBIT', indexKey(p.run, p.state), p.line, '0')
  redis.call('SETBIT', indexKey(p.run, to), p.line, '1')
  count(p, p.state, '-')
  count(p, to, '')
  add(runKey(p.run), 'changes', '1')
  local at = text(m.at)
  local history = to .. '\\31' .. at .. '\\31' .. m.actor .. '\\31' .. m.reason
    .. (m.exchange and m.exchange ~= '' and '\\31' .. m.exchange or '')
  local set = m.set or {}
  append(set, { s = to, v = text(version), ['h' .. version] = history, st = SETTLED[to] and at or nil })
  redis.call('HSET', p.key, unpack(set))
  local unset = m.unset or {}
  if p.proposal then unset[#unset + 1] = 'pr' end
  if #unset > 0 then redis.call('HDEL', p.key, unpack(unset)) end
  if to == 'rejected' or to == 'cancelled' then uncount(p) end
  if to == 'accepted' then notePaid(p) end
  setDue(p, to, m.at, m.due)
  p.version = version
  return version
end

-- Whether each row of the run's file has a record.
local function hasAllRows(run)
  local recorded = 0
  for state in pairs(OUTCOME) do recorded = recorded + tonumber(redis.call('HGET', runKey(run), 'n:' .. state) or '0') end
  return recorded == tonumber(redis.call('HGET', runKey(run), 'rows') or '-1')
end

-- Closes the season of a Redis that went back in time without anybody having told it: each directory compares anew.
local function closeSeason()
  redis.call('HSET', HEAD, 'season', '')
  for _, dir in ipairs(redis.call('HKEYS', DIRS)) do redis.call('HSET', DIRS, dir, '-') end
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

-- Makes a run known again that this Redis forgot: its file fills it when it comes again.
local function makeStub(run, file, content)
  local at = text(now())
  redis.call('HSET', runKey(run), 'state', 'recording', 'createdAt', at, 'changes', 1, 'fileSha256', file, 'restored', '1')
  redis.call('HSET', FILES, file, run)
  if content ~= '' then
    redis.call('HSET', runKey(run), 'contentHash', content)
    redis.call('HSET', CONTENTS, content, run)
  end
  redis.call('ZADD', RUNS, at, run)
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

-- Pauses a run because of something that concerns all of them.
local function pauseRun(run, reason)
  redis.call('HSET', runKey(run), 'state', 'paused', 'pauseReason', reason)
  redis.call('HDEL', runKey(run), 'startAt', 'startReason')
  redis.call('HINCRBY', runKey(run), 'changes', 1)
  redis.call('XADD', eventsKey(run), '*', 'event', 'paused', 'actor', 'season', 'reason', reason)
end

-- The server's own word on which server it is, and whether anybody replicates it.
local function serverNow()
  local server = redis.call('INFO', 'server')
  local replication = redis.call('INFO', 'replication')
  return string.match(server, 'run_id:(%w+)') .. ' ' .. string.match(replication, 'master_replid:(%w+)'),
    tonumber(string.match(replication, 'connected_slaves:(%d+)') or '0')
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
