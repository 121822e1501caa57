import { OPEN_STATES } from '../../payout.ts';
import { LUA_KEYS } from '../keys.ts';
import { LUA_PRELUDE } from './prelude.ts';

/** A longer gap between two notes of a run's pace was a pause. */
const PACE_GAP_MS_MAX = 6000;
const PACE_AGE_MS_MAX = 12_000;
const PACE_NOTES_MAX = 8;

const PAUSE_REASONS_CHARACTERS_MAX = 2000;

const LUA_NEXT_STAGE = `
-- Releases the next stage of a run; of the last one, all that is left.
local function nextStage(rk)
  local stage, ends = redis.call('HINCRBY', rk, 'stage', 1), {}
  for line in string.gmatch(redis.call('HGET', rk, 'stages'), '@(%d+)') do ends[#ends + 1] = line end
  redis.call('HDEL', rk, 'stageOver')
  if stage + 1 >= #ends then redis.call('HDEL', rk, 'stageEnd') else redis.call('HSET', rk, 'stageEnd', ends[stage + 1]) end
end
`;

/**
 * Ends a stage of a run of which nothing is on its way any more: the run pauses, or goes on where all was paid so far.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] the stage, as the caller saw it; ARGV[3] '1' to go on; ARGV[4] reason
 * Returns 1, or 0 when the run is not being paid, is in another stage, has something on its way, or must not go on.
 */
export const END_STAGE = `${LUA_PRELUDE}${LUA_NEXT_STAGE}
local rk = runKey(ARGV[1])
local f = redis.call('HMGET', rk, 'state', 'stage', 'stageEnd')
if f[1] ~= 'paying' or f[2] ~= ARGV[2] or not f[3] then return 0 end
local function has(state) return tonumber(redis.call('HGET', rk, 'n:' .. state) or '0') > 0 end
for _, state in ipairs({ 'armed', 'quoted', 'unknown', 'accepted' }) do if has(state) then return 0 end end
local event = 'paused'
if ARGV[3] == '1' then
  if redis.call('HEXISTS', HEAD, 'halt') == 1 then return 0 end
  for _, state in ipairs({ 'held', 'rejected', 'failed', 'returned', 'cancelled' }) do if has(state) then return 0 end end
  nextStage(rk)
  event = 'stage'
else
  setPause(ARGV[1], ARGV[4])
  redis.call('HSET', rk, 'stageOver', redis.call('HGET', rk, 'pauses'))
  -- It may wait for days, and what was paid may come back meanwhile.
  redis.call('ZADD', WATCH, text(now()), ARGV[1])
end
redis.call('HINCRBY', rk, 'changes', 1)
redis.call('XADD', eventsKey(ARGV[1]), '*', 'event', event, 'actor', 'payrun', 'reason', ARGV[4])
return 1
`;

/**
 * Moves a run along the table of runs.
 *
 * KEYS[1] prefix
 * ARGV[1] run id; ARGV[2] to; ARGV[3] actor; ARGV[4] reason; ARGV[5] the state that the run must have, or 'waiting' for one that is
 * paused until its time, or ''; ARGV[6] the act that waits for its audit entry then, or ''; ARGV[7] the time, in ms since 1970, until
 * which it waits then if it was not paid yet, or '', and ARGV[8] why; ARGV[9] '1' where another file takes its rows over;
 * ARGV[10] the stage it must be in, with ' over' behind it where that is over, or ''; ARGV[11] how many
 * pauses it has seen, 'stage' for those up to the end of its stage, or ''
 * Returns ['moved' | 'there' | 'forbidden' | 'missing' | 'open' | 'halted' | 'season' | 'incomplete' | 'unapproved', state].
 *
 * A run that is recorded while everything is halted begins paused: the release alone does not let it go, unless it has a time to
 * start. So does one of which Redis had forgotten that payouts were armed or that people stopped it, and one that has a time to start
 * at, for which it waits; whoever pauses it meanwhile ends the waiting.
 *
 * A run that is paused because a stage of it is over goes on with the next one.
 *
 * Invariant: a run leaves its recording, other than by being cancelled, only with all of its rows and in an open season; it
 * is finished only in an open season, and when none of its payouts is ready, armed, quoted or unknown.
 */
export const MOVE_RUN = `${LUA_PRELUDE}${LUA_NEXT_STAGE}
local run, to, actor, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local rk = runKey(run)
local from = redis.call('HGET', rk, 'state')
if not from then return { 'missing', '' } end
local isWaiting = from == 'paused' and redis.call('HEXISTS', rk, 'startAt') == 1
if from == to and not isWaiting then
  -- What a person says of a run that is paused already counts beside the first reason.
  local known = to == 'paused' and ARGV[6] ~= '' and redis.call('HGET', rk, 'pauseReason') or ''
  local isKnown = string.find('; ' .. known .. '; ', '; ' .. reason .. '; ', 1, true)
  if known == '' then return { 'there', from } end
  if isKnown or #known > ${PAUSE_REASONS_CHARACTERS_MAX} then
    redis.call('HINCRBY', rk, 'pauses', 1)
    return { 'there', from }
  end
  reason = known .. '; ' .. reason
end
if from ~= to and not RUN_MOVES[from .. '>' .. to] then return { 'forbidden', from } end
if ARGV[5] ~= '' and ARGV[5] ~= from and not (ARGV[5] == 'waiting' and isWaiting) then return { 'forbidden', from } end
-- The host whose clock says that the time has come may be ahead.
if ARGV[5] == 'waiting' and to == 'paying' and tonumber(redis.call('HGET', rk, 'startAt') or '') and
  tonumber(redis.call('HGET', rk, 'startAt')) > now() then return { 'forbidden', from } end
if ARGV[10] ~= '' then
  local f = redis.call('HMGET', rk, 'stage', 'stageOver')
  if (f[1] or '') .. (f[2] and ' over' or '') ~= ARGV[10] then return { 'forbidden', from } end
end
local seen = ARGV[11] == 'stage' and (redis.call('HGET', rk, 'stageOver') or '') or ARGV[11]
if seen ~= '' and (redis.call('HGET', rk, 'pauses') or '0') ~= seen then return { 'forbidden', from } end
if from == 'recording' and to ~= 'cancelled' then
  if redis.call('HGET', HEAD, 'season') ~= serverNow() then return { 'season', from } end
  if not hasAllRows(run) then return { 'incomplete', from } end
end
-- What people did to it before this Redis knew it again.
local stopAhead = to == 'paying' and from ~= 'paused' and redis.call('HGET', STOPS_AHEAD, run)
-- Whether it keeps its time to start.
local waits = false
if to == 'paying' and redis.call('HEXISTS', HEAD, 'halt') == 1 then
  if from ~= 'recording' and from ~= 'awaiting-approval' then return { 'halted', from } end
  to, reason = 'paused', 'everything was halted when it was to begin'
  waits = redis.call('HEXISTS', rk, 'restored') == 0 and not stopAhead
end
if to == 'paying' and from == 'awaiting-approval' then
  local approved = redis.call('HMGET', rk, 'approved', 'approvedUntil')
  if not approved[1] or tonumber(approved[2]) <= now() then return { 'unapproved', from } end
end
if ARGV[7] ~= '' and (from == 'recording' or from == 'awaiting-approval') then
  redis.call('HSET', rk, 'startAt', ARGV[7], 'startReason', ARGV[8])
end
if to == 'paying' and (from == 'recording' or from == 'awaiting-approval') then
  local startReason = redis.call('HGET', rk, 'startReason')
  if redis.call('HEXISTS', rk, 'restored') == 1 then
    to, reason = 'paused', 'some of it was restored from intent logs: look at it before it goes on'
  elseif stopAhead then
    to, reason = 'paused', 'people stopped it, and Redis forgot that'
  elseif startReason then
    to, reason, waits = 'paused', startReason, true
  end
end
if stopAhead == 'run.paused' then redis.call('HDEL', STOPS_AHEAD, run) end
if to == 'finished' then
  if redis.call('HGET', HEAD, 'season') ~= serverNow() then return { 'season', from } end
  for _, state in ipairs({ ${OPEN_STATES.map((state) => `'${state}'`).join(', ')} }) do
    if tonumber(redis.call('HGET', rk, 'n:' .. state) or '0') > 0 then return { 'open', from } end
  end
  if not hasAllRows(run) then return { 'incomplete', from } end
  -- What people allow goes on once the run does: it is resumed, or its time comes.
  local held = tonumber(redis.call('HGET', rk, 'n:held') or '0')
  if from == 'paused' and held > 0 then return { 'open', from } end
end
local at = text(noteClock(now()))
redis.call('HSET', rk, 'state', to)
if ARGV[9] == '1' then redis.call('HSET', rk, 'takenOver', '1') end
redis.call('HINCRBY', rk, 'changes', 1)
redis.call('HDEL', rk, 'pauseReason')
if not waits and to ~= 'awaiting-approval' then redis.call('HDEL', rk, 'startAt', 'startReason') end
if to == 'paused' then setPause(run, reason) end
if to == 'paying' then redis.call('HDEL', rk, 'lastOutcomes') end
if to == 'paying' and redis.call('HEXISTS', rk, 'stageOver') == 1 then nextStage(rk) end
if to == 'finished' or to == 'cancelled' then
  redis.call('HSET', rk, 'finishedAt', at, 'finishedChanges', redis.call('HGET', rk, 'changes'))
  redis.call('HDEL', rk, 'deadQuotesFound')
  redis.call('ZADD', WATCH, at, run)
end
-- It may wait for days, and what was paid may come back meanwhile.
if to == 'paused' then redis.call('ZADD', WATCH, at, run) end
redis.call('SADD', LIVE, run)
redis.call('XADD', eventsKey(run), '*', 'event', to, 'actor', actor, 'reason', reason)
if ARGV[6] ~= '' then redis.call('RPUSH', AUDIT_WAITING, ARGV[6]) end
return { 'moved', to }
`;

/**
 * Notes that the quotes which payouts of a run left behind were asked for, and how many that were proven dead have a payment.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] how many quotes there were
 * Returns 1, or 0 where there are more by now.
 */
export const NOTE_ASKED = `${LUA_PRELUDE}
local run, found = ARGV[1], 0
local dead = redis.call('LRANGE', deadKey(run), 0, -1)
if #dead + redis.call('LLEN', besideKey(run)) ~= tonumber(ARGV[2]) then return 0 end
for _, entry in ipairs(dead) do
  if wasFound(run, string.match(entry, ' (.*)$')) then found = found + 1 end
end
redis.call('HSET', runKey(run), 'deadQuotesFound', found)
return 1
`;

/**
 * Puts off the start of a run that waits for it.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] the time, or 'schedule'; ARGV[3] why
 * Returns 1, or 0 when the run does not wait any more.
 */
export const PUT_OFF_START = `${LUA_PRELUDE}
local rk = runKey(ARGV[1])
if redis.call('HGET', rk, 'state') ~= 'paused' or redis.call('HEXISTS', rk, 'startAt') == 0 then return 0 end
setPause(ARGV[1], ARGV[3])
redis.call('HSET', rk, 'startAt', ARGV[2], 'startReason', ARGV[3])
redis.call('XADD', eventsKey(ARGV[1]), '*', 'event', 'put-off', 'actor', 'payrun', 'reason', ARGV[3])
return 1
`;

/**
 * Notes how many rows of a run that is being paid have been taken, with the time, and forgets what says nothing of its rate now:
 * the last few notes of some seconds count, and none from before a gap.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] rows
 */
export const NOTE_PACE = `${LUA_PRELUDE}
local rk = runKey(ARGV[1])
local at = now()
local kept = {}
local last = at
local notes = {}
for note in string.gmatch(redis.call('HGET', rk, 'pace') or '', '%S+') do table.insert(notes, 1, note) end
for _, note in ipairs(notes) do
  local seen = tonumber(string.match(note, '^%d+'))
  local isApart = not seen or seen > last or last - seen > ${PACE_GAP_MS_MAX}
  if isApart or at - seen > ${PACE_AGE_MS_MAX} or #kept == ${PACE_NOTES_MAX - 1} then break end
  table.insert(kept, 1, note)
  last = seen
end
kept[#kept + 1] = text(at) .. ':' .. ARGV[2]
redis.call('HSET', rk, 'pace', table.concat(kept, ' '))
`;

/**
 * Takes the runs whose completed payments are to be looked at for returns, and puts each off for a day. A run that ended, and whose
 * last payment was completed, longer ago than ARGV[1] ms, by Redis's clock and by the caller's, and that has no accepted payment left
 * is settled and forgotten here.
 *
 * KEYS[1] prefix; ARGV[1] ms; ARGV[2] the caller's clock
 * Returns run ids.
 */
export const TAKE_WATCH = `${LUA_PRELUDE}
local at = noteClock(now())
local due = {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', WATCH, '-inf', text(at), 'LIMIT', 0, 100)) do
  local f = redis.call('HMGET', runKey(run), 'finishedAt', 'n:accepted', 'completedAt')
  local from = math.max(tonumber(f[1] or '0'), tonumber(f[3] or '0'))
  local isOld = f[1] and math.min(at, tonumber(ARGV[2])) - from > tonumber(ARGV[1])
  if isOld and tonumber(f[2] or '0') <= 0 then
    redis.call('ZREM', WATCH, run)
  else
    redis.call('ZADD', WATCH, text(at + 86400000), run)
    if redis.call('HGET', runKey(run), 'watched') then due[#due + 1] = run end
    redis.call('HSET', runKey(run), 'watched', '1')
  end
end
return due
`;

/**
 * Forgets a run that is over among the live ones, unless it is being paid again: people may have allowed a payout meanwhile.
 *
 * KEYS[1] prefix; ARGV[1] run id
 */
export const LEAVE_RUN = `${LUA_KEYS}
local state = redis.call('HGET', runKey(ARGV[1]), 'state')
if state ~= 'paying' and state ~= 'paused' then redis.call('SREM', LIVE, ARGV[1]) end
return 1
`;
