import { LUA_KEYS } from '../keys.ts';

/**
 * Finds runs in a state among some of them, the newest first, and changes nothing.
 *
 * KEYS[1] prefix
 * ARGV[1] state, 'starts-later' for paused ones that start by themselves, or '' for any; ARGV[2] and ARGV[3] ranks of the oldest and the newest to look at, from 0 for the oldest of all;
 *         ARGV[4] how many ids to give at most; ARGV[5] and on fields of which one has to be above 0, or none for any
 * Returns [runs found, ids with blanks between them].
 */
export const FIND_RUNS = `${LUA_KEYS}
local state, most = ARGV[1], tonumber(ARGV[4])
local ids = redis.call('ZRANGE', RUNS, ARGV[2], ARGV[3])
local count, found = 0, {}
local function isIn(rk)
  if state ~= 'starts-later' then return state == '' or redis.call('HGET', rk, 'state') == state end
  return redis.call('HGET', rk, 'state') == 'paused' and redis.call('HEXISTS', rk, 'startAt') == 1
end
local function has(rk)
  if #ARGV < 5 then return true end
  for _, value in ipairs(redis.call('HMGET', rk, unpack(ARGV, 5))) do
    if value and tonumber(value) > 0 then return true end
  end
  return false
end
for at = #ids, 1, -1 do
  local rk = runKey(ids[at])
  if isIn(rk) and has(rk) then
    count = count + 1
    if count <= most then found[count] = ids[at] end
  end
end
return { count, table.concat(found, ' ') }
`;

/**
 * Reads what runs are looked for by beside their state.
 *
 * KEYS[1] prefix
 * ARGV    ids of runs
 * Returns for each its file's name ('' for none yet), its id, the file's SHA-256 and who submitted it, with \\31 between them.
 */
export const READ_RUN_TEXTS = `${LUA_KEYS}
local texts = {}
for at, run in ipairs(ARGV) do
  local f = redis.call('HMGET', runKey(run), 'fileName', 'fileSha256', 'createdBy')
  texts[at] = table.concat({ f[1] or '', run, f[2] or '', f[3] or '' }, '\\31')
end
return texts
`;
