import { LUA_PRELUDE } from './prelude.ts';

/**
 * Records rows of a run that is being recorded.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] ms for which references are remembered; ARGV[3] JSON array of { l line, s state (ready or
 *         refused), f fields, a amount in minor units or nil, c currency or nil, h hash of the folded reference or nil }
 * Returns 'recorded', 'closed' when the run is not being recorded any more, or 'season' in a closed season.
 *
 * Invariant: a record that is there stays as it is, so recording may be run again; only a record that was restored
 * from an intent log, which lacks its row, is given the row. A reference that an earlier payout has not given free
 * (design 6) makes the new payout held, with a link to the earlier one. The rows of a run that was cancelled while it was
 * being recorded are recorded as cancelled: none of them is lost.
 */
export const RECORD = `${LUA_PRELUDE}
local run = ARGV[1]
local rk = runKey(run)
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return 'season' end
local recording = redis.call('HMGET', rk, 'state', 'doubted', 'lastLine')
local isCancelled = recording[1] == 'cancelled' and not (recording[3] and hasAllRows(run))
if recording[1] ~= 'recording' and not isCancelled then return 'closed' end
local at = now()


local function setFields(key, fields)
  for name, value in pairs(fields) do redis.call('HSET', key, name, value) end
end

for _, row in ipairs(cjson.decode(ARGV[3])) do
  local key = payoutKey(run, row.l)
  local there = redis.call('HMGET', key, 's', 'rh')
  if there[1] and not there[2] and row.s == 'ready' then
    setFields(key, row.f)
    redis.call('HINCRBY', rk, 'm:' .. row.c .. ':' .. OUTCOME[there[1]], row.a)
    redis.call('HSETNX', referencesKey(row.h), row.h, run .. '-' .. row.l)
  elseif not there[1] then
    local state = (isCancelled and row.s == 'ready') and 'cancelled' or row.s
    setFields(key, row.f)
    if row.h and state == 'ready' then
      local earlier = holderOf(row.h, { own = run .. '-' .. row.l, at = at, forMs = tonumber(ARGV[2]) })
      if earlier then
        state = 'held'
        redis.call('HSET', key, 'rc', 'E_DUP_HISTORY', 'rs', 'the reference was used by payout ' .. earlier, 'rfh', row.h)
      else
        redis.call('HSET', referencesKey(row.h), row.h, run .. '-' .. row.l)
      end
    end
    if state == 'ready' and recording[2] then
      state = 'held'
      redis.call('HSET', key, 'rc', 'E_DIR_LOST', 'rs', 'a data directory that may have sent it was written off')
    end
    redis.call('HSET', key, 's', state, 'v', 1, 'h1', state .. '\\31' .. text(at) .. '\\31intake\\31')
    redis.call('SETBIT', indexKey(run, state), row.l, 1)
    redis.call('HINCRBY', rk, 'n:' .. state, 1)
    if row.a then redis.call('HINCRBY', rk, 'm:' .. row.c .. ':' .. OUTCOME[state], row.a) end
  end
end
return 'recorded'
`;
