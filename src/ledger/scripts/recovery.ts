import { LUA_PRELUDE } from './prelude.ts';

/**
 * Makes a ledger on an empty Redis for data directories whose own Redis is gone, by two people (design 6, runbook "Redis
 * lost"). Its season stays closed until each of the directories has compared its intent logs, or was written off.
 *
 * KEYS[1] prefix
 * ARGV[1] instance that the directories know; ARGV[2] instance to use; ARGV[3] schema version; ARGV[4] service;
 * ARGV[5] what the safety rule depends on; ARGV[6] actor; ARGV[7...] data directories
 * Returns 'proposed' | 'adopted' | 'same-person' | 'there'.
 *
 * Invariant: what is adopted is halted, and nothing can be armed before the logs were compared.
 */
export const ADOPT = `${LUA_PRELUDE}
if redis.call('HEXISTS', HEAD, 'instance') == 1 then return 'there' end
local key = P .. ':adoption'
local proposed = redis.call('GET', key)
if not proposed then
  redis.call('SET', key, ARGV[6])
  return 'proposed'
end
if proposed == ARGV[6] then return 'same-person' end
redis.call('DEL', key)
redis.call('HSET', HEAD, 'instance', ARGV[2], 'adopted', ARGV[1], 'schema', ARGV[3], 'service', ARGV[4], 'safety', ARGV[5],
  'season', '', 'createdAt', text(now()), 'halt', 'the ledger was adopted after its Redis was lost')
for i = 7, #ARGV do redis.call('HSETNX', DIRS, ARGV[i], '') end
return 'adopted'
`;

/**
 * Begins to write off a data directory that does not come back, by two people: everything is halted, and all runs are
 * paused (design 3, rule 4).
 *
 * KEYS[1] prefix
 * ARGV[1] data directory; ARGV[2] actor
 * Returns 'proposed' | 'agreed' | 'same-person' | 'open' | 'unknown' | 'compared'.
 */
export const WRITE_OFF = `${LUA_PRELUDE}
local server = serverNow()
if redis.call('HGET', HEAD, 'season') == server then return 'open' end
local compared = redis.call('HGET', DIRS, ARGV[1])
if not compared then return 'unknown' end
if compared == server then return 'compared' end
local field = 'writeOff:' .. ARGV[1]
local proposed = redis.call('HGET', HEAD, field)
if not proposed then
  redis.call('HSET', HEAD, field, ARGV[2])
  return 'proposed'
end
if proposed == ARGV[2] then return 'same-person' end
redis.call('HSETNX', HEAD, 'halt', 'the data directory ' .. ARGV[1] .. ' was written off')
redis.call('HDEL', HEAD, 'releaseBy')
for _, run in ipairs(redis.call('ZRANGE', RUNS, 0, -1)) do
  local state = redis.call('HGET', runKey(run), 'state')
  if state == 'paying' then pauseRun(run, 'a data directory was written off') end
  if state == 'recording' then redis.call('HSET', runKey(run), 'doubted', '1') end
end
return 'agreed'
`;

/**
 * Takes a directory that was written off out of the season, and opens the season when nobody else is missing.
 *
 * KEYS[1] prefix; ARGV[1] data directory
 * Returns directories that are still missing.
 */
export const FORGET_DIR = `${LUA_PRELUDE}
local server = serverNow()
redis.call('HDEL', DIRS, ARGV[1])
redis.call('HDEL', HEAD, 'writeOff:' .. ARGV[1])
local missing = {}
local dirs = redis.call('HGETALL', DIRS)
for i = 1, #dirs, 2 do
  if dirs[i + 1] ~= server then missing[#missing + 1] = dirs[i] end
end
if #missing == 0 and #dirs > 0 then redis.call('HSET', HEAD, 'season', server) end
return missing
`;
