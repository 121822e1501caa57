import { LUA_PRELUDE } from './prelude.ts';

const LUA_SCHEDULES = `${LUA_PRELUDE}
local SCHEDULES, TICKS = P .. ':schedules', P .. ':ticks'
local function scheduleKey(name) return P .. ':schedule:' .. name end

local function dropTicks(name)
  for _, tick in ipairs(redis.call('ZRANGE', TICKS, 0, -1)) do
    if string.sub(tick, 1, #name + 1) == name .. ' ' then redis.call('ZREM', TICKS, tick) end
  end
end
`;

/**
 * Sets a schedule. The very same again changes nothing: what it planned meanwhile stays planned. Another one under the
 * name begins anew, and what the former one had planned is not done any more.
 *
 * KEYS[1] prefix
 * ARGV[1] name; ARGV[2] definition; ARGV[3] its first planned time; ARGV[4] who sets it; ARGV[5] most schedules; ARGV[6] its
 *         seal; ARGV[7] the seal of the former one, where that is true
 * Returns 'set' | 'there' | 'full'.
 */
export const SET_SCHEDULE = `${LUA_SCHEDULES}
local name, key = ARGV[1], scheduleKey(ARGV[1])
local known = redis.call('HGET', SCHEDULES, name)
if known == ARGV[2] and redis.call('HGET', key, 'seal') == ARGV[7] then return 'there' end
if not known and redis.call('HLEN', SCHEDULES) >= tonumber(ARGV[5]) then return 'full' end
dropTicks(name)
redis.call('DEL', key)
redis.call('HSET', SCHEDULES, name, ARGV[2])
redis.call('HSET', key, 'next', ARGV[3], 'setBy', ARGV[4], 'setAt', text(now()), 'seal', ARGV[6])
return 'set'
`;

/**
 * Forgets a schedule, its ticks too.
 *
 * KEYS[1] prefix; ARGV[1] name
 * Returns 1 if there was one.
 */
export const REMOVE_SCHEDULE = `${LUA_SCHEDULES}
dropTicks(ARGV[1])
redis.call('DEL', scheduleKey(ARGV[1]))
return redis.call('HDEL', SCHEDULES, ARGV[1])
`;

/**
 * Reads all schedules.
 *
 * KEYS[1] prefix
 * Returns [time, schedules]; each is its name, its definition and its hash as a flat array.
 */
export const READ_SCHEDULES = `${LUA_SCHEDULES}
local schedules = {}
for _, name in ipairs(redis.call('HKEYS', SCHEDULES)) do
  local fields = redis.call('HGETALL', scheduleKey(name))
  table.insert(fields, 1, redis.call('HGET', SCHEDULES, name))
  table.insert(fields, 1, name)
  schedules[#schedules + 1] = fields
end
return { text(now()), schedules }
`;

/**
 * Records planned times as due, each once: whoever saw another next time than the ledger has records nothing.
 *
 * KEYS[1] prefix
 * ARGV[1] name; ARGV[2] definition and ARGV[3] next planned time, as the caller saw them; ARGV[4] next planned time from
 *         now on; ARGV[5] the last one that was missed, or ''; ARGV[6...] planned times that are due
 * Returns 1 if they were recorded.
 *
 * Invariant: a planned time is recorded by whoever moves the next time past it, and that time never goes back.
 */
export const RECORD_TICKS = `${LUA_SCHEDULES}
local name, key = ARGV[1], scheduleKey(ARGV[1])
if redis.call('HGET', SCHEDULES, name) ~= ARGV[2] then return 0 end
if redis.call('HGET', key, 'next') ~= ARGV[3] or tonumber(ARGV[4]) <= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', key, 'next', ARGV[4])
if ARGV[5] ~= '' then redis.call('HSET', key, 'missedPlanned', ARGV[5]) end
for i = 6, #ARGV do redis.call('ZADD', TICKS, ARGV[i], name .. ' ' .. ARGV[i]) end
redis.call('HINCRBY', key, 'ticks', #ARGV - 5)
return 1
`;

/**
 * Takes ticks that want to be done, the oldest first, and puts them off so that nobody else takes them meanwhile.
 *
 * KEYS[1] prefix; ARGV[1] most ticks; ARGV[2] ms to put them off
 * Returns ticks.
 */
export const TAKE_TICKS = `${LUA_SCHEDULES}
local at = noteClock(now())
local ticks = redis.call('ZRANGEBYSCORE', TICKS, '-inf', text(at), 'LIMIT', 0, ARGV[1])
for _, tick in ipairs(ticks) do redis.call('ZADD', TICKS, text(at + tonumber(ARGV[2])), tick) end
return ticks
`;

/**
 * Ends a tick, or notes why it could not be done.
 *
 * KEYS[1] prefix; ARGV[1] name; ARGV[2] planned time; ARGV[3] 'done' | 'missed' | 'failed'; ARGV[4] why it failed
 * Returns 1 if the tick was open.
 */
export const END_TICK = `${LUA_SCHEDULES}
local key, tick, planned = scheduleKey(ARGV[1]), ARGV[1] .. ' ' .. ARGV[2], ARGV[2]

local function note(field)
  if tonumber(redis.call('HGET', key, field) or '0') < tonumber(planned) then redis.call('HSET', key, field, planned) end
end

if ARGV[3] == 'failed' then
  if not redis.call('ZSCORE', TICKS, tick) then return 0 end
  redis.call('HSET', key, 'fault', ARGV[4])
  return 1
end
if redis.call('ZREM', TICKS, tick) == 0 then return 0 end
if ARGV[3] == 'missed' then
  note('missedPlanned')
else
  note('lastPlanned')
  redis.call('HSET', key, 'lastDoneAt', text(now()))
  redis.call('HDEL', key, 'fault')
end
return 1
`;
