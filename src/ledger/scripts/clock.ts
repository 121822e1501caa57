import { LUA_OUTBOX_KEYS } from '../keys.ts';
import { LUA_PRELUDE, STEP_MS_MIN } from './prelude.ts';

/** The longest that a service may ask everybody to wait (architecture.md). */
const WAIT_MS_MAX = 5 * 60_000;

/**
 * Gives one process the turn for the present period. One that lasts longer than a period was taken before the clock of Redis
 * stepped back.
 *
 * KEYS[1] prefix; ARGV[1] what for; ARGV[2] ms
 * Returns 1 for the turn, else 0.
 */
export const TAKE_TURN = `${LUA_PRELUDE}
local key = P .. ':turn:' .. ARGV[1]
if redis.call('PTTL', key) > tonumber(ARGV[2]) then redis.call('DEL', key) end
return redis.call('SET', key, '1', 'PX', ARGV[2], 'NX') and 1 or 0
`;

/**
 * Looks whether the clock of Redis stepped back, and takes away what would wait for it. The step shows at each look until
 * FORGET_STEP, so that nothing is left waiting when the caller dies.
 *
 * KEYS[1] prefix; ARGV paces
 * Returns by how many ms it stepped, or 0.
 */
export const LOOK_AT_CLOCK = `${LUA_PRELUDE}
local at = now()
local stepped = tonumber(redis.call('HGET', HEAD, 'clockSeen') or '0') - at
if redis.call('PTTL', WAIT) > ${WAIT_MS_MAX} then redis.call('DEL', WAIT) end
if stepped <= ${STEP_MS_MIN} then
  noteClock(at)
  return 0
end
redis.call('HSET', HEAD, 'clockSteppedAt', text(at), 'clockSteppedMs', text(stepped))
for _, what in ipairs(ARGV) do redis.call('DEL', P .. ':pace:' .. what) end
return stepped
`;

/** Nothing waits any more for a time of the clock before it stepped back. KEYS[1] prefix */
export const FORGET_STEP = `${LUA_PRELUDE}
if redis.call('EXISTS', HEAD) == 1 then redis.call('HSET', HEAD, 'clockSeen', text(now())) end
return 1
`;

/**
 * Makes what waits for a later time due now: it was given that time by a clock that has stepped back, and to look early does
 * no harm. One call does a part.
 *
 * KEYS[1] prefix; ARGV[1] most members of each set
 * Returns how many were brought forward; 0 when all are.
 */
export const BRING_FORWARD = `${LUA_PRELUDE}${LUA_OUTBOX_KEYS}
local at = text(now())
local count = 0
local function bring(key)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. at, '+inf', 'LIMIT', 0, ARGV[1])) do
    redis.call('ZADD', key, at, member)
    count = count + 1
  end
end
for _, set in ipairs({ P .. ':ticks', DUE, TRACKED, WATCH }) do bring(set) end
for _, run in ipairs(redis.call('SMEMBERS', LIVE)) do bring(slicesKey(run)) end
for _, endpoint in ipairs(redis.call('HKEYS', OUTBOX_WAITING)) do bring(outboxDueKey(endpoint)) end
return count
`;
