import { LUA_PRELUDE } from './prelude.ts';

/**
 * Writes down that a person approves what a run is.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] who; ARGV[3] digest of what is approved; ARGV[4] the approvals that the caller saw,
 * as they are kept; ARGV[5] how many are needed; ARGV[6] ms for which one holds
 * Returns ['approved' | 'recorded' | 'changed' | 'forbidden', approvals of this digest that hold, state].
 *
 * Invariant: only approvals of one digest that still hold are counted together.
 */
export const APPROVE_RUN = `${LUA_PRELUDE}
local rk = runKey(ARGV[1])
local f = redis.call('HMGET', rk, 'state', 'approvals')
if f[1] ~= 'awaiting-approval' and f[1] ~= 'paused' then return { 'forbidden', 0, f[1] or '' } end
if (f[2] or '') ~= ARGV[4] then return { 'changed', 0, f[1] } end
local at = now()
local kept = {}
for _, one in ipairs(cjson.decode(f[2] or '[]')) do
  if one.digest == ARGV[3] and one.at + tonumber(ARGV[6]) > at then kept[#kept + 1] = one end
end
kept[#kept + 1] = { by = ARGV[2], at = at, digest = ARGV[3] }
redis.call('HSET', rk, 'approvals', cjson.encode(kept))
redis.call('HINCRBY', rk, 'changes', 1)
redis.call('XADD', eventsKey(ARGV[1]), '*', 'event', 'approved', 'actor', ARGV[2], 'reason', 'file and totals as they are')
if #kept < tonumber(ARGV[5]) then return { 'recorded', #kept, f[1] } end
redis.call('HSET', rk, 'approved', ARGV[3], 'approvedUntil', text(kept[1].at + tonumber(ARGV[6])))
return { 'approved', #kept, f[1] }
`;

/**
 * Blocks a beneficiary, or lets payouts to it go again by two people.
 *
 * KEYS[1] prefix; ARGV[1] 'block' | 'unblock'; ARGV[2] identity id; ARGV[3] who; ARGV[4] the reason of a block; of its end,
 * who has proposed it, as the caller saw, or ''
 * Returns ['blocked' | 'proposed' | 'seen' | 'unblocked' | 'not-blocked', who has proposed its end].
 */
export const BLOCK = `${LUA_PRELUDE}
local held = redis.call('HGET', BLOCKED, ARGV[2])
if ARGV[1] == 'block' then
  local first = held and cjson.decode(held)
  redis.call('HSET', BLOCKED, ARGV[2],
    cjson.encode({ by = first and first.by or ARGV[3], at = first and first.at or now(), reason = first and first.reason or ARGV[4] }))
  return { 'blocked', '' }
end
if not held then return { 'not-blocked', '' } end
local entry = cjson.decode(held)
if not entry.unblockBy then
  entry.unblockBy = ARGV[3]
  redis.call('HSET', BLOCKED, ARGV[2], cjson.encode(entry))
  return { 'proposed', ARGV[3] }
end
if entry.unblockBy ~= ARGV[4] then return { 'seen', entry.unblockBy } end
redis.call('HDEL', BLOCKED, ARGV[2])
return { 'unblocked', entry.unblockBy }
`;
