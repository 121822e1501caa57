import { SUBMISSION_KEPT_MS } from './hand-in.ts';
import { LUA_PRELUDE } from './prelude.ts';
import { LUA_PROPOSALS } from './season.ts';

/**
 * Makes a ledger on an empty Redis for data directories whose own Redis is gone, by two people (docs/operation.md, runbook "Redis
 * lost"). Its season stays closed until each of the directories that either of them names has compared its intent logs, or
 * was written off.
 *
 * KEYS[1] prefix
 * ARGV[1] actor; ARGV[2] seal of the proposal that the caller saw, or ''; ARGV[3] instance that the directories know;
 * ARGV[4] instance to use; ARGV[5] schema version; ARGV[6] service; ARGV[7] what the safety rule depends on;
 * ARGV[8] data directories, as a JSON array; ARGV[9] what the caller makes of that proposal: 'proposed' where it sees none that stands,
 * 'same-person', 'other' where it is for another ledger or with other settings, or 'adopted'; ARGV[10] seal of the caller's own
 * proposal, or of the adoption; ARGV[11] who has proposed it
 * Returns ARGV[9]; 'changed' when another proposal stands by now; 'there' when the directories may use the ledger that is here,
 * 'occupied' when they may not.
 *
 * Invariant: what is adopted is halted, and nothing can be armed before the logs were compared. The one who adopted may ask
 * again, until it is noted that the audit log has it.
 */
export const ADOPT = `${LUA_PRELUDE}
local head = redis.call('HMGET', HEAD, 'instance', 'adopted', 'adoptionUnnoted')
if head[1] then
  if head[2] == ARGV[3] or head[1] == ARGV[3] then return head[3] == ARGV[1] and 'adopted' or 'there' end
  return 'occupied'
end
if redis.call('EXISTS', RUNS, AUDIT, DIRS) > 0 then return 'occupied' end
local key = P .. ':adoption'
if (redis.call('HGET', key, 'seal') or '') ~= ARGV[2] then return 'changed' end
if ARGV[9] == 'other' then return 'other' end
if ARGV[9] ~= 'adopted' then
  -- The proposal is all that there is yet, and the database is payrun's from here on.
  redis.call('SETNX', 'payrun-database', '1')
  redis.call('HSET', key, 'by', ARGV[11], 'former', ARGV[3], 'service', ARGV[6], 'safety', ARGV[7], 'dirs', ARGV[8], 'seal', ARGV[10])
  return ARGV[9]
end
redis.call('HSET', HEAD, 'instance', ARGV[4], 'adopted', ARGV[3], 'adoptedBy', ARGV[11], 'adoptedSeal', ARGV[10],
  'adoptionUnnoted', ARGV[1], 'schema', ARGV[5], 'service', ARGV[6], 'safety', ARGV[7], 'season', 'adopted',
  'createdAt', text(now()), 'halt', 'the ledger was adopted after its Redis was lost')
for _, dir in ipairs(cjson.decode(ARGV[8])) do redis.call('HSETNX', DIRS, dir, '') end
redis.call('DEL', key)
return 'adopted'
`;

/**
 * Makes a run known again of which only the audit log knows: a stub that its file fills when it comes again. While it has no
 * rows, its content is no new one. A host that was written off may have sent some of it.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] SHA-256 of its file; ARGV[3] content hash, or ''; ARGV[4] the entry that tells how it was
 * handed in, or ''; ARGV[5] a day on which it was there, as run ids begin; ARGV[6] the key under which it was handed in, or ''
 * Where its content is that of a run that is not over, it is known as that one from here on.
 */
export const RESTORE_RUN = `${LUA_PRELUDE}
local run, file, content = ARGV[1], ARGV[2], ARGV[3]
local function noteKey(to)
  if ARGV[6] ~= '' then redis.call('SET', P .. ':submitted-as:' .. ARGV[6], to, 'PX', ${SUBMISSION_KEPT_MS}, 'NX') end
end
if redis.call('HEXISTS', runKey(run), 'restored') == 1 and ARGV[4] ~= '' then
  redis.call('HSETNX', runKey(run), 'onRecord', ARGV[4])
  noteKey(run)
end
if file == '' or redis.call('EXISTS', runKey(run)) == 1 then return {} end
-- One that is over with all of its rows may have been handed in again since: the run that was lost is that one.
local known = runOf(file, content)
local state = known and redis.call('HGET', runKey(known), 'state')
if known and not ((state == 'finished' or state == 'cancelled') and hasAllRows(known)) then
  noteKnownAs(run, known, file)
  noteKey(known)
  return {}
end
makeStub(run, file, content, ARGV[5] ~= '' and ARGV[5] or nil)
noteKey(run)
if ARGV[6] ~= '' then redis.call('HSET', runKey(run), 'submissionKey', ARGV[6]) end
if ARGV[4] ~= '' then redis.call('HSET', runKey(run), 'onRecord', ARGV[4]) end
return {}
`;

const LUA_WRITE_OFF = `${LUA_PROPOSALS}
local server = serverNow()
-- What people said of each directory, as far as it stands; what was changed since the caller judged it does not.
local words = cjson.decode(ARGV[#ARGV])
local function saidOf(dir) return redis.call('HGET', HEAD, 'writeOff:' .. dir) or '' end
local function wordsOn(dir)
  local by = proposalOf(dir, server)
  local word = words[dir]
  if by == '' or not word or word.said ~= saidOf(dir) then return '', '' end
  return word.by, word.agreed
end
local function propose(dir, ...)
  redis.call('HSET', HEAD, 'writeOff:' .. dir, table.concat({ server, ... }, '\\31'))
end
-- Of rows that are not here yet nobody knows whether they were sent; a run that was cancelled before they came has some too.
local function doubtUnrecorded(run)
  local state = redis.call('HGET', runKey(run), 'state')
  if state == 'recording' or (state == 'cancelled' and not hasAllRows(run)) then redis.call('HSET', runKey(run), 'doubted', '1') end
end
-- In an open season a directory without a comparison has armed nothing yet, unless the season forgot it.
local isOpen = redis.call('HGET', HEAD, 'season') == server
local function isMissing(compared) return compared ~= server and not (isOpen and compared == '') end
local function forget(dir, how)
  redis.call('HDEL', DIRS, dir)
  redis.call('HDEL', PEERS, dir)
  redis.call('HDEL', HEAD, 'writeOff:' .. dir, 'late:' .. dir)
  redis.call('HSET', HEAD, 'writtenOff:' .. dir, how)
end
`;

/**
 * Begins to write off a data directory that does not come back, by two people: everything is halted, and all runs are
 * paused (architecture.md, rule 4). Only once nobody else is missing: what a directory restores later would not be held.
 *
 * KEYS[1] prefix
 * ARGV[1] data directory; ARGV[2] actor; ARGV[3] server for which they were sealed: ARGV[4] their proposal, ARGV[5] their agreement;
 * ARGV[6] what was said of the directory, as the caller saw; ARGV[7] '1' where that stands, and is another person's; ARGV[8] seal of
 * that proposal; ARGV[9] for each directory what was said of it, and what of that stands: {said, by, agreed}, in JSON
 * Returns [word, who has proposed it, directories that are missing still...], with the word 'proposed'; 'changed', with the
 * server, where ARGV[3] or ARGV[6] is not as it stands; 'same-person'; 'agreed' when others are missing that two people have not agreed on; 'begun' when the
 * payouts in doubt are to be held now; 'retired' in an open season that did not forget it, in which nothing of it is in doubt: nobody
 * waits any more for it to note others; or 'unknown', 'compared'.
 */
export const WRITE_OFF = `${LUA_PRELUDE}${LUA_WRITE_OFF}
local compared = redis.call('HGET', DIRS, ARGV[1])
if not compared then return { 'unknown', '' } end
if compared == server and not isOpen then return { 'compared', '' } end
if ARGV[3] ~= server or ARGV[6] ~= saidOf(ARGV[1]) then return { 'changed', server } end
local by, agreed = wordsOn(ARGV[1])
if by == '' then
  propose(ARGV[1], ARGV[2], '', ARGV[4], '')
  return { 'proposed', ARGV[2] }
end
if agreed == '' then
  if ARGV[7] ~= '1' then return { 'same-person', by } end
  propose(ARGV[1], by, ARGV[2], ARGV[8], ARGV[5])
end
-- One that an open season had forgotten may have sent what nobody else knows of.
if isOpen and compared ~= '-' then
  forget(ARGV[1], 'retired')
  return { 'retired', by }
end
local missing = {}
local dirs = redis.call('HGETALL', DIRS)
for i = 1, #dirs, 2 do
  local _, isAgreed = wordsOn(dirs[i])
  if dirs[i] ~= ARGV[1] and isMissing(dirs[i + 1]) and isAgreed == '' then missing[#missing + 1] = dirs[i] end
end
if #missing > 0 then return { 'agreed', by, unpack(missing) } end
redis.call('HSETNX', HEAD, 'halt', 'the data directory ' .. ARGV[1] .. ' was written off')
redis.call('HDEL', HEAD, 'releaseBy', 'releaseSeal')
for _, run in ipairs(redis.call('ZRANGE', RUNS, 0, -1)) do
  if goesOn(run) then pauseRun(run, 'a data directory was written off') end
  doubtUnrecorded(run)
end
return { 'begun', by }
`;

/**
 * Takes the directories that two people agreed to write off out of the season, and opens it when nobody else is missing.
 * Those that noted them as their peers do not bring them back.
 *
 * KEYS[1] prefix; ARGV[1] the last day, as run ids begin, of runs that they may have had; ARGV[2] as ARGV[9] above
 * Returns directories that are still missing.
 */
export const FORGET_DIRS = `${LUA_PRELUDE}${LUA_WRITE_OFF}
local missing, left, hasLost = {}, 0, false
local dirs = redis.call('HGETALL', DIRS)
for i = 1, #dirs, 2 do
  local _, agreed = wordsOn(dirs[i])
  if dirs[i + 1] ~= server and agreed ~= '' then
    forget(dirs[i], 'lost ' .. ARGV[1])
    hasLost = true
  else
    left = left + 1
    if isMissing(dirs[i + 1]) then missing[#missing + 1] = dirs[i] end
  end
end
-- The host that is lost may have paid again what they gave, or give, free.
if hasLost then
  for _, run in ipairs(redis.call('ZRANGE', RUNS, 0, -1)) do
    redis.call('HSET', runKey(run), 'atLoss', '1')
    doubtUnrecorded(run)
  end
end
if #missing == 0 and left > 0 then openSeason(server) end
return missing
`;
