import { LUA_KEYS } from '../keys.ts';

/**
 * Reads payouts, and beside them what every step has to know.
 *
 * KEYS[1] prefix
 * ARGV    run id and line of each payout, one after the other
 * Returns [wait ms, halt or '', disproved capabilities, time, payouts, arming counter]; each payout is its hash as a flat
 * array.
 */
export const READ = `${LUA_KEYS}
local payouts = {}
for i = 1, #ARGV, 2 do payouts[#payouts + 1] = redis.call('HGETALL', payoutKey(ARGV[i], ARGV[i + 1])) end
local head = redis.call('HMGET', HEAD, 'halt', 'disproved', 'armings')
local t = redis.call('TIME')
return { math.max(0, redis.call('PTTL', WAIT)), head[1] or '', head[2] or '',
  string.format('%.0f', tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)), payouts, head[3] or '0' }
`;
