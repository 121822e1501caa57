import { LUA_PRELUDE } from './prelude.ts';

/**
 * What a payout is too many beside: the payout that has its reference, and one of the same beneficiary, amount and currency.
 * Recording decides by these, and `FORESEE` says before what it would decide. They stand below `LUA_PRELUDE`, and write nothing.
 */
export const LUA_DUPLICATES = `
-- Whether a payout came to nothing for certain, so that its reference is free and a like one is none too many.
local function cameToNothing(run, line)
  local f = redis.call('HMGET', payoutKey(run, line), 's', 'q', 'ok')
  return f[1] and FREE[f[1]] and not (f[1] == 'rejected' and f[2] and not f[3]), f[1]
end

-- The payout that has a reference, unless it gave it free or was settled longer ago than it is remembered.
local function holderOf(hash, m)
  local earlier = redis.call('HGET', referencesKey(hash), hash)
  if not earlier or earlier == m.own then return nil end
  local earlierRun, earlierLine = string.match(earlier, '^(.*)%-(%d+)$')
  local isFree, state = cameToNothing(earlierRun, earlierLine)
  if isFree then return nil end
  local usedAt = tonumber(redis.call('HGET', runKey(earlierRun), 'createdAt') or m.at)
  if m.at - usedAt > m.forMs and (not state or SETTLED[state]) then return nil end
  return earlier
end

-- The payout that had the same beneficiary, amount and currency within a time, unless it came to nothing. Each period has
-- keys of its own, which go by themselves.
local function recentTwin(row, m)
  local period = math.floor(m.at / row.w)
  local twin = redis.call('HGET', likelyKey(period, row.d), row.d) or redis.call('HGET', likelyKey(period - 1, row.d), row.d)
  if not twin or twin == m.own then return nil end
  local twinRun, twinLine = string.match(twin, '^(.*)%-(%d+)$')
  local isRecent = m.at - tonumber(redis.call('HGET', runKey(twinRun), 'createdAt') or '0') <= row.w
  if isRecent and not cameToNothing(twinRun, twinLine) then return twin end
  return nil
end
`;

/**
 * What stands against rows that were not handed in yet.
 *
 * KEYS[1] prefix
 * ARGV[1] ms for which references are remembered; ARGV[2] JSON array of { h hash of the folded reference, b beneficiary, d and w
 *         as RECORD takes them }
 * Returns a list of [the payout that has the reference or '', the like one or '', '1' where the beneficiary is blocked or ''].
 */
export const FORESEE = `${LUA_PRELUDE}${LUA_DUPLICATES}
local at, answers = now(), {}
local hasBlocked = redis.call('EXISTS', BLOCKED) == 1
for i, row in ipairs(cjson.decode(ARGV[2])) do
  local m = { own = '', at = at, forMs = tonumber(ARGV[1]) }
  local isBlocked = hasBlocked and redis.call('HEXISTS', BLOCKED, row.b) == 1
  answers[i] = { holderOf(row.h, m) or '', row.d and recentTwin(row, m) or '', isBlocked and '1' or '' }
end
return answers
`;
