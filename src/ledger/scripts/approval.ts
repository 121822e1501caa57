import { LUA_KEYS } from '../keys.ts';
import { LUA_PRELUDE } from './prelude.ts';

/**
 * Writes down that a person approves what a run is.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] who; ARGV[3] digest of what is approved; ARGV[4] the approvals that the caller saw,
 * as they are kept; ARGV[5] how many are needed; ARGV[6] ms for which one holds; ARGV[7] Redis's time as the caller read
 * it; ARGV[8] the approval's seal; ARGV[9] JSON array of people whose approvals do not count any more
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
local kept, void = {}, {}
for _, by in ipairs(cjson.decode(ARGV[9])) do void[by] = true end
for _, one in ipairs(cjson.decode(f[2] or '[]')) do
  if not void[one.by] and one.digest == ARGV[3] and one.at + tonumber(ARGV[6]) > at then kept[#kept + 1] = one end
end
kept[#kept + 1] = { by = ARGV[2], at = tonumber(ARGV[7]), digest = ARGV[3], seal = ARGV[8] }
redis.call('HSET', rk, 'approvals', cjson.encode(kept))
redis.call('HINCRBY', rk, 'changes', 1)
redis.call('XADD', eventsKey(ARGV[1]), '*', 'event', 'approved', 'actor', ARGV[2], 'reason', 'file and totals as they are')
if #kept < tonumber(ARGV[5]) then return { 'recorded', #kept, f[1] } end
redis.call('HSET', rk, 'approved', ARGV[3], 'approvedUntil', text(kept[1].at + tonumber(ARGV[6])))
return { 'approved', #kept, f[1] }
`;

/**
 * Changes one entry of the block list, and its seal.
 *
 * KEYS[1] prefix; ARGV[1] the seal that the caller saw, as it is kept, or ''; ARGV[2] the new one; ARGV[3] identity id;
 * ARGV[4] its entry, or '' for none; ARGV[5] the act that waits for its audit entry then, or ''
 * Returns 'changed' where others changed the list since, else 'written'.
 */
export const CHANGE_BLOCK_LIST = `${LUA_KEYS}
if (redis.call('GET', BLOCKED_SEAL) or '') ~= ARGV[1] then return 'changed' end
if ARGV[4] == '' then
  redis.call('HDEL', BLOCKED, ARGV[3])
else
  redis.call('HSET', BLOCKED, ARGV[3], ARGV[4])
end
redis.call('SET', BLOCKED_SEAL, ARGV[2])
if ARGV[5] ~= '' then redis.call('RPUSH', AUDIT_WAITING, ARGV[5]) end
return 'written'
`;
