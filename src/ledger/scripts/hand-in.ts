import { RECORDING_QUIET_MS } from '../../duration.ts';
import { LUA_PRELUDE } from './prelude.ts';

/** A hand-in may be carried on for so long, and a little longer than its API key or its upload is kept. */
export const SUBMISSION_KEPT_MS = 31 * 24 * 60 * 60_000;

const LUA_FREE_RUN = `
-- Whether a run was cancelled before all of its rows were recorded, and no host can have sent any of them.
local function isPartial(run)
  local f = redis.call('HMGET', runKey(run), 'state', 'lastLine', 'doubted', 'restored')
  return f[1] == 'cancelled' and not (f[2] or f[3] or f[4])
end

-- Whether each row of a run that is over is free: a new run of them pays none a second time.
local function isFree(run)
  local state = redis.call('HGET', runKey(run), 'state')
  if (state ~= 'finished' and state ~= 'cancelled') or not (hasAllRows(run) or isPartial(run)) then return false end
  for _, open in ipairs({ 'ready', 'armed', 'quoted', 'unknown', 'held', 'accepted', 'completed', 'refused' }) do
    local counts = open ~= 'refused' or not isPartial(run)
    if counts and tonumber(redis.call('HGET', runKey(run), 'n:' .. open) or '0') > 0 then return false end
  end
  return true
end
`;

/**
 * The run that handing in a file would come to.
 *
 * KEYS[1] prefix; ARGV[1] and ARGV[2] as in CLAIM_RUN
 * Returns [run id or '', '1' where its rows may be paid anew or ''].
 */
export const KNOWN_RUN = `${LUA_PRELUDE}${LUA_FREE_RUN}
local known = runOf(ARGV[1], ARGV[2])
return { known or '', known and isFree(known) and '1' or '' }
`;

/**
 * Claims a file's content for a run: the first one who comes makes the run, everybody else learns its id.
 *
 * KEYS[1] prefix
 * ARGV[1] SHA-256 of the file; ARGV[2] content hash; ARGV[3] run id to use; ARGV[4] JSON object of the run's fields;
 *         ARGV[5] '1' to make a new run of the content of one that is over and of which nothing was paid; one that was
 *         cancelled before it was recorded hands its file over to the new one
 * Returns [run id, 'new' | 'known' | 'taken' | 'season' | 'busy', state]; 'season' when nothing new may be claimed in a closed
 * season: the runs that this Redis lost have to be restored before. 'busy' when something is asked for beside somebody who
 * records the rows without it.
 */
export const CLAIM_RUN = `${LUA_PRELUDE}${LUA_FREE_RUN}
local known, fields = runOf(ARGV[1], ARGV[2]), cjson.decode(ARGV[4])
-- What was said of a hand-in that was cut short still holds. Whoever carries it on may add what was not said.
local ASKED = { 'askedStart', 'stagePlan', 'goesOnIfPaid', 'maxCostDriftBp' }
-- A hand-in under a key is carried on, whatever people made of its run meanwhile.
local key = fields.submissionKey
local keyed = key and P .. ':submitted-as:' .. key
local own = keyed and redis.call('GET', keyed)
local its = own and redis.call('HGET', runKey(own), 'contentHash')
if own and redis.call('EXISTS', runKey(own)) == 1 and (not its or its == ARGV[2]) then
  return { own, 'known', redis.call('HGET', runKey(own), 'state') or '' }
end
local function noteKey(run) if keyed then redis.call('SET', keyed, run, 'PX', ${SUBMISSION_KEPT_MS}) end end
local isRestored = known and redis.call('HEXISTS', runKey(known), 'restored') == 1
local isAwaited = isRestored and redis.call('HEXISTS', runKey(known), 'lastLine') == 0
if known and (isAwaited and key or not (ARGV[5] == '1' and isFree(known))) then
  if isAwaited then noteKey(known) end
  redis.call('HSETNX', FILES, ARGV[1], known)
  redis.call('HSETNX', CONTENTS, ARGV[2], known)
  if redis.call('HEXISTS', runKey(known), 'rows') == 0 then
    -- A run that Redis forgot was handed in by somebody before.
    for name, value in pairs(fields) do
      if not (isRestored and name == 'submissionKey') then redis.call('HSETNX', runKey(known), name, value) end
    end
  end
  local f = redis.call('HMGET', runKey(known), 'state', 'lastLine', 'recordedAt', 'createdAt')
  if f[1] == 'recording' and not f[2] then
    local isBusy = math.abs(now() - tonumber(f[3] or f[4] or '0')) < ${RECORDING_QUIET_MS}
    for _, name in ipairs(ASKED) do
      local isMore = fields[name] and redis.call('HEXISTS', runKey(known), name) == 0
      if isMore and isBusy then return { known, 'busy', f[1] } end
      -- Rows that are recorded have no bound on their cost.
      local isLate = name == 'maxCostDriftBp' and f[3]
      if isMore and not isLate then redis.call('HSET', runKey(known), name, fields[name]) end
    end
  end
  return { known, 'known', f[1] or '' }
end
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return { '', 'season', '' } end
local run = ARGV[3]
if redis.call('EXISTS', runKey(run)) == 1 then return { run, 'taken', '' } end
local at = now()
noteKey(run)
redis.call('HSET', FILES, ARGV[1], run)
redis.call('HSET', CONTENTS, ARGV[2], run)
if known and isPartial(known) then
  local file = redis.call('HGET', runKey(known), 'fileSha256')
  if file then redis.call('HSET', FILES, file, run) end
end
if known and redis.call('HEXISTS', runKey(known), 'takenOver') == 1 then
  for _, name in ipairs(ASKED) do fields[name] = redis.call('HGET', runKey(known), name) or fields[name] end
end
for name, value in pairs(fields) do redis.call('HSET', runKey(run), name, value) end
redis.call('HSET', runKey(run), 'state', 'recording', 'createdAt', text(at), 'changes', 1)
redis.call('ZADD', RUNS, text(at), run)
return { run, 'new', 'recording' }
`;

/**
 * Notes what is known of a run once all of its rows were recorded. On a Redis that went back meanwhile they are not there.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2...] names and values
 * Returns 1, or 0 in a closed season, or where the run or some of its rows are gone.
 */
export const NOTE_RECORDED = `${LUA_PRELUDE}
local f = redis.call('HMGET', runKey(ARGV[1]), 'state', 'fileSha256')
if redis.call('HGET', HEAD, 'season') ~= serverNow() or f[2] ~= ARGV[2] then return 0 end
-- Somebody else has recorded it.
if f[1] ~= 'recording' and f[1] ~= 'cancelled' then return 1 end
if not hasAllRows(ARGV[1]) then return 0 end
-- Who put the file into an inbox is named anew, or nobody is.
redis.call('HDEL', runKey(ARGV[1]), 'dropper')
redis.call('HSET', runKey(ARGV[1]), unpack(ARGV, 3))
return 1
`;

/**
 * Lets another file of the same rows stand for the one of a run that is not recorded yet.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] SHA-256 of the file; ARGV[3] its name
 * Returns 1, or 0 where the run is recorded.
 */
export const TAKE_FILE = `${LUA_PRELUDE}
local f = redis.call('HMGET', runKey(ARGV[1]), 'state', 'lastLine')
if (f[1] ~= 'recording' and f[1] ~= 'cancelled') or f[2] then return 0 end
redis.call('HSET', runKey(ARGV[1]), 'fileSha256', ARGV[2], 'fileName', ARGV[3], 'otherFile', '1')
return 1
`;
