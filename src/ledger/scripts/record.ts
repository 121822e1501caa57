import { LUA_DUPLICATES } from './duplicates.ts';
import { LUA_PRELUDE, LUA_SUMS } from './prelude.ts';

/**
 * Records rows of a run that is being recorded.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] ms for which references are remembered; ARGV[3] JSON array of { l line, s state (ready or
 *         refused), f names and values of fields, b beneficiary or nil, a amount in minor units or nil, c currency or nil, h hash of the folded reference or nil, d hash
 *         of what a likely duplicate has in common or nil, w ms within which it is one, k f, a, c and h of a refused row that could be
 *         paid, for a record that was restored, or nil }
 * Returns 'recorded', 'closed' when the run is not being recorded any more or was purged, or 'season' in a closed season.
 *
 * Invariant: a record that is there stays as it is, so recording may be run again; only a record that was restored
 * from an intent log, which lacks its row, is given the row. A reference that an earlier payout has not given free
 * makes the new payout held, with a link to the earlier one; so does a payout of the same beneficiary, amount
 * and currency within `w`. The rows of a run that was cancelled while it was being recorded are recorded as cancelled, or as
 * held where a lost host may have sent them: none of them is lost.
 */
export const RECORD = `${LUA_PRELUDE}${LUA_SUMS}${LUA_DUPLICATES}
local run = ARGV[1]
local rk = runKey(run)
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return 'season' end
local recording = redis.call('HMGET', rk, 'state', 'doubted', 'lastLine', 'purgedAt')
if recording[4] then return 'closed' end
local isCancelled = recording[1] == 'cancelled' and not (recording[3] and hasAllRows(run))
if recording[1] ~= 'recording' and not isCancelled then return 'closed' end
local at = now()

local likelyKeys = {}
-- The like payout before it; without one it takes that place itself. One that is held for it does not: else it would be
-- enough to cancel it.
local function likelyTwin(row, id)
  local twin = recentTwin(row, { own = id, at = at })
  if twin then return twin end
  local key = likelyKey(math.floor(at / row.w), row.d)
  redis.call('HSET', key, row.d, id)
  likelyKeys[key] = row.w
  return nil
end

local seenBeneficiaries = {}
local function isNewBeneficiary(id)
  if seenBeneficiaries[id] == nil then
    local hash = beneficiaryHash(id)
    seenBeneficiaries[id] = redis.call('HEXISTS', paidKey(hash), hash) == 0
  end
  return seenBeneficiaries[id]
end

-- Why a payout that could be paid is held, as its code and its reason, or nil.
local function whyHeld(row, id)
  local earlier = holderOf(row.h, { own = id, at = at, forMs = tonumber(ARGV[2]) })
  if not earlier then redis.call('HSET', referencesKey(row.h), row.h, id) end
  local twin = row.d and likelyTwin(row, id)
  if redis.call('HEXISTS', rk, 'gaveUp:' .. row.l) == 1 then
    return 'E_GIVEN_UP', 'it was given up, and Redis forgot that'
  end
  if recording[2] then return 'E_DIR_LOST', 'a data directory that may have sent it was written off' end
  if earlier then return 'E_DUP_HISTORY', 'its reference belongs to payout ' .. earlier end
  if twin then return 'E_DUP_LIKELY', 'payout ' .. twin .. ' has the same beneficiary, amount and currency' end
  return nil
end

local hasRecorded = false
for _, row in ipairs(cjson.decode(ARGV[3])) do
  local key, id, set = payoutKey(run, row.l), run .. '-' .. row.l, row.f
  local there = redis.call('HMGET', key, 's', 'rh')
  local sent = row.s == 'ready' and row or row.k
  if there[1] and there[1] ~= 'refused' and not there[2] and sent then
    redis.call('HSET', key, unpack(sent.f))
    add(rk, 'm:' .. sent.c .. ':' .. OUTCOME[there[1]], sent.a)
    redis.call('HSETNX', referencesKey(sent.h), sent.h, id)
    if row.d then likelyTwin(row, id) end
    if there[1] == 'unknown' then redis.call('ZADD', DUE, text(at), id) end
  elseif not there[1] then
    hasRecorded = true
    local state = row.s
    if state == 'ready' and isCancelled and not recording[2] then
      state = 'cancelled'
    elseif state == 'ready' then
      local code, reason = whyHeld(row, id)
      if code then
        state = 'held'
        append(set, { rc = code, rs = reason, rfh = code == 'E_DUP_HISTORY' and row.h or nil })
      end
    end
    if row.b and isNewBeneficiary(row.b) then add(rk, 'newBeneficiaryRows', 1) end
    append(set, { s = state, v = '1', h1 = state .. '\\31' .. text(at) .. '\\31intake\\31' })
    redis.call('HSET', key, unpack(set))
    redis.call('SETBIT', indexKey(run, state), row.l, '1')
    add(rk, 'n:' .. state, 1)
    if row.a then add(rk, 'm:' .. row.c .. ':' .. OUTCOME[state], row.a) end
  end
end
if hasRecorded then redis.call('HSET', rk, 'recordedAt', text(at)) end
for likely, withinMs in pairs(likelyKeys) do redis.call('PEXPIRE', likely, text(2 * withinMs)) end
writeSums()
return 'recorded'
`;

/**
 * Notes what is known of a run once all of its rows were recorded. On a Redis that went back meanwhile they are not there.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2...] names and values
 * Returns 1, or 0 in a closed season.
 */
export const NOTE_RECORDED = `${LUA_PRELUDE}
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return 0 end
-- Who put the file into an inbox is named anew, or nobody is.
redis.call('HDEL', runKey(ARGV[1]), 'dropper')
redis.call('HSET', runKey(ARGV[1]), unpack(ARGV, 2))
return 1
`;
