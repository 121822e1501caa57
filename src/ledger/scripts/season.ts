import { LUA_KEYS } from '../keys.ts';
import { LUA_PRELUDE } from './prelude.ts';

/** Who proposed to write off a directory, and who agreed; '' and '' unless it was proposed for this very server. */
export const LUA_PROPOSALS = `
local function proposalOf(dir, server)
  local at, by, agreed = string.match(redis.call('HGET', HEAD, 'writeOff:' .. dir) or '', '^([^\\31]*)\\31([^\\31]*)\\31([^\\31]*)')
  if at ~= server then return '', '' end
  return by, agreed
end
`;

/** The id of a directory that two people wrote off is never used again: those that noted it do not wait for it any more. */
const LUA_WRITTEN_OFF = `
local function isWrittenOff(dir) return redis.call('HEXISTS', HEAD, 'writtenOff:' .. dir) == 1 end
`;

/*
 * Which directories may arm is known to Redis, and would go back in time with it. So each directory also keeps it on its own
 * disk: `peers` holds, for each directory, those that it has written down there.
 */
export const LUA_PEERS = `${LUA_PROPOSALS}
${LUA_WRITTEN_OFF}
local function notePeers(dir, peers)
  for _, peer in ipairs(peers) do
    if not isWrittenOff(peer) and redis.call('HEXISTS', DIRS, peer) == 0 then
      -- One of which this Redis forgot that it may arm: in a season that opened without it, who names it waits for it.
      local isForgotten = peer ~= dir and redis.call('HGET', HEAD, 'season') == serverNow()
      redis.call('HSET', DIRS, peer, isForgotten and '-' or '')
      if peer ~= dir then redis.call('HSET', HEAD, 'late:' .. peer, '1') end
    end
  end
  -- Said again and again: what is known already costs Redis no write.
  local noted = ' ' .. table.concat(peers, ' ') .. ' '
  if redis.call('HGET', PEERS, dir) ~= noted then redis.call('HSET', PEERS, dir, noted) end
end

local function hasNoted(one, other)
  return string.find(redis.call('HGET', PEERS, one) or '', ' ' .. other .. ' ', 1, true) ~= nil
end

-- Directories that might arm and have not noted this one, or that it has not noted. One that two people gave up will not
-- note it, and nobody waits for that: should it come back, it has to note this one before it arms.
local function strangersOf(dir, server)
  local strangers = {}
  local dirs = redis.call('HGETALL', DIRS)
  for i = 1, #dirs, 2 do
    local other = dirs[i]
    local _, agreed = proposalOf(other, server)
    local isKnown = hasNoted(other, dir) and hasNoted(dir, other)
    local isGivenUp = agreed ~= '' and dirs[i + 1] ~= server
    if other ~= dir and dirs[i + 1] ~= '' and not isGivenUp and not isKnown then
      strangers[#strangers + 1] = other
    end
  end
  return strangers
end
`;

/**
 * Tells whether this server is in its season, and which data directories have yet to compare their intent logs for it.
 *
 * KEYS[1] prefix; ARGV[1] the highest arming counter that the caller ever saw: below it, the season is closed here; ARGV[2] a
 *         data directory, or ''
 * Returns [open 1 | 0, server, directories that have yet to compare, all directories, those that keep ARGV[2] waiting: they
 * have not noted it, or it has not noted them, the server whose season it is, or the name of a closing].
 */
export const READ_SEASON = `${LUA_PRELUDE}${LUA_PEERS}
local server = serverNow()
noteCounter(ARGV[1])
local missing, all = {}, {}
local dirs = redis.call('HGETALL', DIRS)
for i = 1, #dirs, 2 do
  all[#all + 1] = dirs[i]
  if dirs[i + 1] ~= server then missing[#missing + 1] = dirs[i] end
end
local isWaiting = ARGV[2] ~= '' and (redis.call('HGET', DIRS, ARGV[2]) or server) ~= server
local season = redis.call('HGET', HEAD, 'season') or ''
return { season == server and 1 or 0, server, missing, all, isWaiting and strangersOf(ARGV[2], server) or {}, season }
`;

/**
 * Takes the id of a data directory for a host, or goes on holding it.
 *
 * KEYS[1] prefix; ARGV[1] data directory; ARGV[2] what tells the host and the folder from every copy; ARGV[3] ms
 * Returns 'taken', 'elsewhere' while another host holds it, or 'written-off'.
 */
export const TAKE_LEASE = `${LUA_KEYS}${LUA_WRITTEN_OFF}
if isWrittenOff(ARGV[1]) then return 'written-off' end
local key = leaseKey(ARGV[1])
local holder = redis.call('GET', key)
if holder and holder ~= ARGV[2] then
  -- After the clock of Redis stepped back it would live longer.
  if redis.call('PTTL', key) > tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
  return 'elsewhere'
end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
return 'taken'
`;

/**
 * Enters a data directory that wants to arm. From then on no season opens without it. If it has logs and this Redis does not know it,
 * it is late: others armed without it, so that its counters say nothing beside theirs until it has compared. An open season forgot it,
 * and nobody joins before.
 *
 * KEYS[1] prefix; ARGV[1] data directory; ARGV[2] '1' where it has intent logs
 * Returns 1, or 0 where it was written off.
 */
export const ENTER_DIR = `${LUA_PRELUDE}${LUA_WRITTEN_OFF}
if isWrittenOff(ARGV[1]) then return 0 end
if redis.call('HEXISTS', DIRS, ARGV[1]) == 1 then return 1 end
local isLate = ARGV[2] == '1'
redis.call('HSET', DIRS, ARGV[1], isLate and redis.call('HGET', HEAD, 'season') == serverNow() and '-' or '')
if isLate then redis.call('HSET', HEAD, 'late:' .. ARGV[1], '1') end
return 1
`;

/**
 * Notes which other directories a directory has written down on its disk.
 *
 * KEYS[1] prefix; ARGV[1] data directory; ARGV[2] JSON array of directories
 */
export const NOTE_PEERS = `${LUA_PRELUDE}${LUA_PEERS}
notePeers(ARGV[1], cjson.decode(ARGV[2]))
return 1
`;
