import { LUA_KEYS } from '../keys.ts';
import { STATE_LETTERS } from '../payouts/stored.ts';

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

/** Blocks of each set that one call takes. */
const BLOCKS_MAX = 100;

/**
 * Takes blocks in which something may be due, until so many payouts are found, and puts the blocks off, so that nobody else takes
 * them meanwhile.
 *
 * KEYS[1] prefix; ARGV[1] ms to put them off; ARGV[2] payouts wanted of DUE, and ARGV[3] of TRACKED
 * Returns [time, [set, 'run:block', commits so far, then of each payout that wants something: line, state's letter, time]...].
 */
export const TAKE_BLOCKS = `${LUA_KEYS}
local t = redis.call('TIME')
local at = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local taken = {}

-- Puts those of a block's payouts that want something, and belong to its set, at the end of block; returns how many want it by now.
local function readBlock(block, records)
  local found = 0
  for i = 1, #records, 2 do
    local letter, due = string.match(records[i + 1], '^%[%d+,"(%a)",(%d+)')
    if records[i] == 'v' then
      block[3] = records[i + 1]
    elseif due and due ~= '0' and (letter == '${STATE_LETTERS.accepted}') == (block[1] == TRACKED) then
      block[#block + 1], block[#block + 2], block[#block + 3] = records[i], letter, due
      if tonumber(due) <= at then found = found + 1 end
    end
  end
  return found
end

for i, set in ipairs({ DUE, TRACKED }) do
  local wanted = tonumber(ARGV[i + 1])
  local ids = wanted > 0 and redis.call('ZRANGEBYSCORE', set, '-inf', string.format('%.0f', at), 'LIMIT', 0, ${BLOCKS_MAX}) or {}
  for _, id in ipairs(ids) do
    if wanted <= 0 then break end
    local run, number = string.match(id, '^(.*):(%d+)$')
    local records = run and redis.call('HGETALL', rowsKey(run, number)) or {}
    if #records == 0 then
      redis.call('ZREM', set, id)
    else
      redis.call('ZADD', set, string.format('%.0f', at + tonumber(ARGV[1])), id)
      local block = { set, id, '' }
      wanted = wanted - readBlock(block, records)
      taken[#taken + 1] = block
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
