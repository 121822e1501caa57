import { LUA_PRELUDE } from './prelude.ts';

/**
 * Puts slices of a run that is being paid into the window. None goes beyond what was released of a run with stages.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] cursor that the caller saw; ARGV[3] cursor after these slices; ARGV[4] ms until the sweeper
 *         looks at them; ARGV[5...] slices
 * Returns the time to look again, or '' when the run or the cursor is another.
 */
export const FEED = `${LUA_PRELUDE}
local rk = runKey(ARGV[1])
local f = redis.call('HMGET', rk, 'state', 'cursor', 'stageEnd')
if f[1] ~= 'paying' or (f[2] or '0') ~= ARGV[2] then return '' end
for i = 5, #ARGV do
  if f[3] and tonumber(string.match(ARGV[i], '%d+$')) > tonumber(f[3]) then return '' end
end
local stamp = text(noteClock(now()) + tonumber(ARGV[4]))
for i = 5, #ARGV do redis.call('ZADD', slicesKey(ARGV[1]), stamp, ARGV[i]) end
redis.call('HSET', rk, 'cursor', ARGV[3])
return stamp
`;

/**
 * Ends a slice, unless it was given out anew since.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] slice; ARGV[3] the time to look again under which it was given out
 * Returns [slices of the run that are left, 1 if there is more to feed].
 */
export const END_SLICE = `${LUA_PRELUDE}
local slices = slicesKey(ARGV[1])
if redis.call('ZSCORE', slices, ARGV[2]) == ARGV[3] then redis.call('ZREM', slices, ARGV[2]) end
local f = redis.call('HMGET', runKey(ARGV[1]), 'cursor', 'lastLine', 'stageEnd')
return { redis.call('ZCARD', slices), tonumber(f[1] or '0') <= tonumber(f[3] or f[2] or '0') and 1 or 0 }
`;

/**
 * Takes the slices of a run that want a job, and puts the feed back to its start when payouts are ready that no slice
 * holds: whatever was lost is found again.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] most slices; ARGV[3] ms until the sweeper looks at them again
 * Returns [stamp, slices].
 */
export const TAKE_SLICES = `${LUA_PRELUDE}
local run = ARGV[1]
local rk = runKey(run)
if redis.call('HGET', rk, 'state') ~= 'paying' then return { '', {} } end
local at = noteClock(now())
local slices = redis.call('ZRANGEBYSCORE', slicesKey(run), '-inf', text(at), 'LIMIT', 0, ARGV[2])
local stamp = text(at + tonumber(ARGV[3]))
for _, slice in ipairs(slices) do redis.call('ZADD', slicesKey(run), stamp, slice) end
local f = redis.call('HMGET', rk, 'n:ready', 'cursor', 'lastLine', 'stageEnd')
if tonumber(f[1] or '0') > 0 and tonumber(f[2] or '0') > tonumber(f[4] or f[3] or '0')
  and redis.call('ZCARD', slicesKey(run)) == 0 then redis.call('HSET', rk, 'cursor', '0') end
return { stamp, slices }
`;
