import { LUA_KEYS } from '../keys.ts';

/**
 * Reads records, and beside them what every step has to know.
 *
 * KEYS[1] prefix
 * ARGV    for each block: run id, block, number of lines, those lines
 * Returns [wait ms, halt or '', disproved capabilities, time, arming counter, records]: the texts in the order of the lines, nil
 * where there is none.
 */
export const READ = `${LUA_KEYS}
local records, n = {}, 1
while n <= #ARGV do
  local count = tonumber(ARGV[n + 2])
  records[#records + 1] = redis.call('HMGET', rowsKey(ARGV[n], ARGV[n + 1]), unpack(ARGV, n + 3, n + 2 + count))
  n = n + 3 + count
end
local head = redis.call('HMGET', HEAD, 'halt', 'disproved', 'armings')
local t = redis.call('TIME')
return { math.max(0, redis.call('PTTL', WAIT)), head[1] or '', head[2] or '',
  string.format('%.0f', tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)), head[3] or '0', records }
`;

/**
 * Takes blocks in which something may be due, and puts them off, so that nobody else takes them meanwhile.
 *
 * KEYS[1] prefix; ARGV[1] most blocks of each set; ARGV[2] ms to put them off
 * Returns [time, [set, 'run:block', names and values of its hash...]...].
 */
export const TAKE_BLOCKS = `${LUA_KEYS}
local t = redis.call('TIME')
local at = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local taken = {}
for _, set in ipairs({ DUE, TRACKED }) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', string.format('%.0f', at), 'LIMIT', 0, ARGV[1])) do
    local run, block = string.match(id, '^(.*):(%d+)$')
    local records = run and redis.call('HGETALL', rowsKey(run, block)) or {}
    if #records == 0 then
      redis.call('ZREM', set, id)
    else
      redis.call('ZADD', set, string.format('%.0f', at + tonumber(ARGV[2])), id)
      taken[#taken + 1] = { set, id, unpack(records) }
    end
  end
end
return { string.format('%.0f', at), taken }
`;

/**
 * Says when a block that was taken is due next. What was committed to it since may make that earlier, never later.
 *
 * KEYS[1] prefix
 * ARGV    for each: set, 'run:block', the commits to it that the caller saw, time or '' for never
 */
export const PUT_OFF_BLOCKS = `${LUA_KEYS}
for i = 1, #ARGV, 4 do
  local set, id, seen, time = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local run, block = string.match(id, '^(.*):(%d+)$')
  local isAsSeen = redis.call('HGET', rowsKey(run, block), 'v') == seen
  if isAsSeen and time == '' then redis.call('ZREM', set, id)
  elseif isAsSeen then redis.call('ZADD', set, time, id)
  elseif time ~= '' then redis.call('ZADD', set, 'LT', time, id) end
end
return 1
`;
