import { LUA_KEYS } from '../keys.ts';

/**
 * Finds runs among some of them, the newest first, and changes nothing.
 *
 * KEYS[1] prefix
 * ARGV[1] state, or '' for any; ARGV[2] text in lower case that stands in the id, the file's name or SHA-256, or the name of who
 *         submitted it, or '' (letters beyond ASCII as they are); ARGV[3] rank of the first to look at; ARGV[4] how many
 * Returns [runs looked at, ids].
 */
export const FIND_RUNS = `${LUA_KEYS}
local state, wanted, first = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ids = redis.call('ZREVRANGE', RUNS, first, first + tonumber(ARGV[4]) - 1)
local function fits(run)
  local key = runKey(run)
  if state ~= '' and redis.call('HGET', key, 'state') ~= state then return false end
  if wanted == '' then return true end
  local f = redis.call('HMGET', key, 'fileName', 'createdBy', 'fileSha256')
  local texts = run .. '\\31' .. (f[1] or '') .. '\\31' .. (f[2] or '') .. '\\31' .. (f[3] or '')
  return string.find(string.lower(texts), wanted, 1, true) ~= nil
end
local found = {}
for _, run in ipairs(ids) do
  if fits(run) then found[#found + 1] = run end
end
return { #ids, found }
`;
