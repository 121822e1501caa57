import { FREE_STATES } from '../../payout.ts';
import { LUA_OUTBOX_KEYS } from '../keys.ts';
import { STATE_LETTERS } from '../payouts/stored.ts';
import { LUA_PRELUDE } from './prelude.ts';

/**
 * Begins to purge a run that is final: it is over, nothing of it is held or under way, nobody looks for returns any more,
 * and its last report tells everything. From here on its intent lines count as known, though its records go.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] ms that must have passed since its end, by Redis's clock and by ARGV[3], that of the caller
 * Returns 'purging', 'purged' when nothing is left of it, 'missing', or why it is not final.
 */
export const BEGIN_PURGE = `${LUA_PRELUDE}
local rk = runKey(ARGV[1])
local f = redis.call('HMGET', rk, 'state', 'finishedAt', 'changes', 'reportedChanges', 'purgedAt', 'lastLine')
if not f[1] then return 'missing' end
if f[5] and not f[6] then return 'purged' end
-- A host that is not back yet may have paid anew what is free.
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return 'the season is closed' end
if f[5] then return 'purging' end
if f[1] ~= 'finished' and f[1] ~= 'cancelled' then return 'it is ' .. f[1] end
for _, state in ipairs({ 'ready', 'armed', 'quoted', 'unknown', 'held', 'accepted' }) do
  local count = redis.call('HGET', rk, 'n:' .. state) or '0'
  if tonumber(count) > 0 then return count .. ' payouts are ' .. state end
end
if redis.call('SISMEMBER', LIVE, ARGV[1]) == 1 then return 'it is being ended' end
if redis.call('ZSCORE', WATCH, ARGV[1]) then return 'its payments are looked at for returns' end
if f[3] ~= f[4] then return 'its last report is not up to date' end
local at = math.min(now(), tonumber(ARGV[3]))
if at - tonumber(f[2] or text(at)) < tonumber(ARGV[2]) then return 'it ended too short a time ago' end
redis.call('HSET', rk, 'purgedAt', text(at))
return 'purging'
`;

/**
 * Removes records of one block of a run that is being purged, with their quotes. The reference of a payout that was paid stays
 * remembered, as a hash; one that is free again is forgotten, unless a host was lost since, or the season is closed.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] block; ARGV[3...] of each record its line, quote, payment, the credentials of both, and
 *         the hash of its reference if that is free, each '' for none
 */
export const PURGE_ROWS = `${LUA_PRELUDE}
local run = ARGV[1]
if redis.call('HEXISTS', runKey(run), 'purgedAt') == 0 then return 0 end

-- Where none is left, it still holds that there was one.
local function forgetPayment(known, id)
  if redis.call('LREM', known, 0, id) > 0 and redis.call('LLEN', known) == 0 then redis.call('RPUSH', known, '') end
end

-- The reference stands for the payout no more.
local function giveFree(hash, id)
  for _, field in ipairs({ hash, hash .. '+' }) do
    local others, found = {}, redis.call('HGET', referencesKey(hash), field) or ''
    for holder in string.gmatch(found, '%S+') do
      if holder ~= id then others[#others + 1] = holder end
    end
    local left = table.concat(others, ' ')
    if left == '' then redis.call('HDEL', referencesKey(hash), field)
    elseif left ~= found then redis.call('HSET', referencesKey(hash), field, left) end
  end
end

local FREE = { ${FREE_STATES.map((state) => `${STATE_LETTERS[state]} = true`).join(', ')} }
-- A host that was lost since, or is not back yet, may have paid anew what was free.
local mayBePaid = redis.call('HEXISTS', runKey(run), 'atLoss') == 1 or redis.call('HGET', HEAD, 'season') ~= serverNow()
for i = 3, #ARGV, 5 do
  local id = run .. '-' .. ARGV[i]
  for _, quote in ipairs({ ARGV[i + 1], ARGV[i + 2] }) do
    if quote ~= '' and redis.call('HGET', quotesKey(quote), quote) == id then redis.call('HDEL', quotesKey(quote), quote) end
    if quote ~= '' and ARGV[i + 3] ~= '' then forgetPayment(knownPaymentsKey(ARGV[i + 3]), quote) end
  end
  local hash = ARGV[i + 4]
  -- Its payment may have been found since the caller read it.
  local isFree = FREE[redis.call('GETRANGE', statesKey(run), ARGV[i], ARGV[i])]
  if hash ~= '' and isFree and not mayBePaid then giveFree(hash, id) end
end
redis.call('UNLINK', rowsKey(run, ARGV[2]))
return 1
`;

/**
 * Ends the purge of a run whose records are gone: of it remain its numbers, its events and the hashes of its reports.
 *
 * KEYS[1] prefix; ARGV[1] run id
 */
export const END_PURGE = `${LUA_PRELUDE}${LUA_OUTBOX_KEYS}
local run = ARGV[1]
if redis.call('HEXISTS', runKey(run), 'purgedAt') == 0 then return 0 end
for _, list in ipairs({ deadKey(run), besideKey(run) }) do
  for _, entry in ipairs(redis.call('LRANGE', list, 0, -1)) do
    local line, quote = string.match(entry, '^(%d+) (.*)$')
    if quote and redis.call('HGET', quotesKey(quote), quote) == run .. '-' .. line then
      redis.call('HDEL', quotesKey(quote), quote)
    end
  end
end
forgetPayouts(run)
redis.call('UNLINK', statesKey(run), slicesKey(run), deadKey(run), besideKey(run))
redis.call('HDEL', runKey(run), 'lastLine', 'cursor', 'lastOutcomes')
return 1
`;
