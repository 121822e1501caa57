import { LUA_KEYS } from '../keys.ts';

/**
 * Changes what is known of people and writes the entry of the audit log that tells of it: both or neither. A second run of
 * the same call, whose first reply was lost, finds its entry and its name and changes nothing; another call that came at
 * the same moment may have the same entry and the same fields, but not the same name.
 *
 * KEYS[1] prefix
 * ARGV[1] number of entries and ARGV[2] hash of the last one as the writer saw them; ARGV[3] line; ARGV[4] version of the
 * people as the caller saw them; ARGV[5] name of the call; ARGV[6...] fields and their values, '' to remove one
 * Returns 'made' | 'changed' when the people are others by now | 'moved' when the log ends elsewhere by now.
 *
 * Invariant: there is no change of people without its entry, and none that was decided on what is no more.
 */
export const CHANGE_PEOPLE = `${LUA_KEYS}
local last = redis.call('LINDEX', AUDIT, -1)
local isNoted = redis.call('LINDEX', AUDIT, ARGV[1]) == ARGV[3]
if isNoted and redis.call('HGET', PEOPLE, 'last-call') == ARGV[5] then return 'made' end
if (redis.call('HGET', PEOPLE, 'version') or '0') ~= ARGV[4] then return 'changed' end
if redis.call('LLEN', AUDIT) ~= tonumber(ARGV[1]) or (last and string.sub(last, 1, 64) ~= ARGV[2]) then return 'moved' end
redis.call('RPUSH', AUDIT, ARGV[3])
redis.call('HINCRBY', PEOPLE, 'version', 1)
redis.call('HSET', PEOPLE, 'last-call', ARGV[5])
for i = 6, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', PEOPLE, ARGV[i])
  else redis.call('HSET', PEOPLE, ARGV[i], ARGV[i + 1]) end
end
return 'made'
`;

/**
 * Takes a try to sign in, or tells how long to wait for one. It counts as failed until it is forgiven, so that tries at the
 * same time are as many as tries one after another.
 *
 * KEYS[1] prefix
 * ARGV[1] time; ARGV[2] ms for which tries are remembered; then three times for each thing that is counted: its hash, how
 * many tries are free, and the most ms to wait: from the first that is not free on it is 1 s, and twice as long for each
 * one more
 * Returns ms to wait, 0 when the try was taken.
 *
 * Invariant: a try that has to wait is not counted.
 */
export const TAKE_TRY = `${LUA_KEYS}
local at, wait = tonumber(ARGV[1]), 0
for i = 3, #ARGV, 3 do
  local till = tonumber(redis.call('HGET', signInKey(ARGV[i]), 'till') or '0')
  wait = math.max(wait, math.min(till - at, tonumber(ARGV[i + 2])))
end
if wait > 0 then return wait end
for i = 3, #ARGV, 3 do
  local key = signInKey(ARGV[i])
  local over = redis.call('HINCRBY', key, 'tries', 1) - tonumber(ARGV[i + 1])
  if over > 0 then
    local pause = math.min(tonumber(ARGV[i + 2]), 1000 * 2 ^ (over - 1))
    redis.call('HSET', key, 'till', string.format('%.0f', at + pause))
  end
  redis.call('PEXPIRE', key, ARGV[2])
end
return 0
`;

/**
 * Takes back the last try, which was right, and all former ones by the first thing that is counted.
 *
 * KEYS[1] prefix; ARGV what was counted, as for TAKE_TRY
 */
export const FORGIVE_TRY = `${LUA_KEYS}
redis.call('DEL', signInKey(ARGV[1]))
for i = 2, #ARGV do
  local key = signInKey(ARGV[i])
  if tonumber(redis.call('HGET', key, 'tries') or '0') > 0 then redis.call('HINCRBY', key, 'tries', -1) end
end
return 1
`;

/**
 * Counts a refused sign-in.
 *
 * KEYS[1] prefix; ARGV[1] ms for which they are counted together
 * Returns how many there were in that time.
 */
export const COUNT_REFUSED = `${LUA_KEYS}
local count = redis.call('INCR', signInKey('refused'))
if count == 1 then redis.call('PEXPIRE', signInKey('refused'), ARGV[1]) end
return count
`;
