import { LUA_KEYS, LUA_OUTBOX_KEYS } from '../keys.ts';

/*
 * What is to be told, and what was: notifications wait in one ordered list for each endpoint and run (or the ledger). The
 * times are the caller's, for nothing but notifications depends on them. Invariant of all of these: a list that is not empty
 * stands in its endpoint's due set, and `outbox-waiting` counts what stands in its lists.
 */

const LUA_OUTBOX = `${LUA_KEYS}${LUA_OUTBOX_KEYS}
-- Keeps what was given up; of too many, the oldest is dropped and counted.
local function bury(endpoint, m)
  local dead = outboxDeadKey(endpoint)
  redis.call('RPUSH', dead, cjson.encode({ queue = m.queue, item = m.item, reason = m.reason, at = m.at }))
  if redis.call('LLEN', dead) > tonumber(m.deadMost) then
    redis.call('LPOP', dead)
    redis.call('HINCRBY', OUTBOX_LOST, endpoint, 1)
  end
end

-- Puts a notification at the end of its queue; where the endpoint has no room, among the dead letters.
local function push(endpoint, m)
  local waiting = redis.call('HINCRBY', OUTBOX_WAITING, endpoint, 0)
  if waiting >= tonumber(m.most) then
    m.reason = 'the outbox is full'
    bury(endpoint, m)
    return false
  end
  redis.call('RPUSH', outboxQueueKey(endpoint, m.queue), m.item)
  redis.call('HINCRBY', OUTBOX_WAITING, endpoint, 1)
  redis.call('ZADD', outboxDueKey(endpoint), 'NX', m.at, m.queue)
  return true
end
`;

/**
 * Finds the runs of which something may have to be told: those that moved since they were looked at, and those that asked to
 * be looked at again by now, and those whose payouts an endpoint that wants it is not told of yet. All runs that the sweeper walks are compared, and a part of the others; two small reads each.
 *
 * KEYS[1] prefix
 * ARGV[1] where that part begins; ARGV[2] how many runs it has; ARGV[3] now; ARGV[4] how many ms before the very first look
 *         things are told; then endpoints that are told of payouts, each with since when
 * Returns [where the next part begins, since when things are told, run ids].
 */
export const FIND_NEWS = `${LUA_OUTBOX}
local at = tonumber(ARGV[3])
if redis.call('HEXISTS', TOLD, 'since') == 0 then
  local t = redis.call('TIME')
  local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
  redis.call('HSET', TOLD, 'since', string.format('%.0f', now - tonumber(ARGV[4])))
end
local told = redis.call('HMGET', TOLD, 'since', 'runs')
local created = redis.call('ZRANGEBYSCORE', RUNS, told[2] or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1000)
for i = 1, #created, 2 do redis.call('ZADD', NEWS, 'NX', created[i + 1], created[i]) end
if #created > 0 and created[#created] ~= told[2] then redis.call('HSET', TOLD, 'runs', created[#created]) end

local found, seen = {}, {}
local function isBegun(run)
  for i = 5, #ARGV, 2 do
    if redis.call('HGET', toldKey(run), 'payouts:' .. ARGV[i]) ~= ARGV[i + 1] then return false end
  end
  return true
end
local function look(run)
  if seen[run] then return end
  seen[run] = true
  local changes = redis.call('HGET', runKey(run), 'changes')
  local f = redis.call('HMGET', toldKey(run), 'changes', 'again')
  if not changes then
    redis.call('ZREM', NEWS, run)
    forgetPayouts(run)
    redis.call('DEL', toldKey(run))
  elseif f[1] ~= changes or (f[2] and f[2] ~= '' and tonumber(f[2]) <= at) or not isBegun(run) then
    found[#found + 1] = run
  end
end

-- A run that was created while Redis's clock was set back is known at least here.
for _, run in ipairs(redis.call('SMEMBERS', LIVE)) do
  if not redis.call('ZSCORE', NEWS, run) then redis.call('ZADD', NEWS, 0, run) end
  look(run)
end
local from = tonumber(ARGV[1])
if from >= redis.call('ZCARD', NEWS) then from = 0 end
local part = redis.call('ZRANGE', NEWS, from, from + tonumber(ARGV[2]) - 1)
for _, run in ipairs(part) do look(run) end
return { from + #part, told[1], found }
`;

/**
 * Reads what was told of a run, and its events since then.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] most events
 * Returns [version, what was told as JSON or '', changes of the run, '1' if the sweeper walks it or it is watched for returns,
 * events].
 */
export const READ_NEWS = `${LUA_OUTBOX}
local run = ARGV[1]
local f = redis.call('HMGET', toldKey(run), 'version', 'what', 'cursor')
local from = (f[3] and f[3] ~= '') and '(' .. f[3] or '-'
local events = redis.call('XRANGE', eventsKey(run), from, '+', 'COUNT', ARGV[2])
local isFollowed = redis.call('SISMEMBER', LIVE, run) == 1 or redis.call('ZSCORE', WATCH, run) ~= false
return { f[1] or '0', f[2] or '', redis.call('HGET', runKey(run), 'changes') or '', isFollowed and '1' or '0', events }
`;

/**
 * Begins to tell an endpoint of the payouts of a run, unless that was begun before. Of a run that was there before the endpoint
 * was told of payouts, their states of now count as told.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] endpoint; ARGV[3] since when it is told of payouts
 * Returns how many notifications wait for the endpoint.
 */
export const BEGIN_PAYOUTS = `${LUA_OUTBOX}
local run, endpoint, chosen = ARGV[1], ARGV[2], ARGV[3]
local field, key = 'payouts:' .. endpoint, toldStatesKey(run, endpoint)
if redis.call('HGET', toldKey(run), field) ~= chosen then
  redis.call('HSET', toldKey(run), field, chosen)
  redis.call('DEL', key)
  local since = math.max(tonumber(chosen), tonumber(redis.call('HGET', TOLD, 'since') or '0'))
  if tonumber(redis.call('HGET', runKey(run), 'createdAt') or '0') < since then
    redis.call('SET', key, redis.call('GET', statesKey(run)) or '')
  end
end
return redis.call('HGET', OUTBOX_WAITING, endpoint) or '0'
`;

/**
 * Tells: puts notifications into the outbox, and notes that they were told, in one step. Nothing is done when somebody else
 * told meanwhile. So whatever is told is told once, however many look and wherever one of them ends.
 *
 * KEYS[1] prefix
 * ARGV[1] run id, or the ledger's queue; ARGV[2] version of what was told, as the caller saw it, or '' to tell without; ARGV[3]
 *         JSON of { note fields to set, forget true when nothing can come of the run any more, push [{ endpoint, item }], states [{ endpoint, letters
 *         [[line, letter]] }] of which an endpoint was told }; ARGV[4] now; ARGV[5] most that wait for an endpoint; ARGV[6] most dead letters of an endpoint
 * Returns how many had no room, or -1 when somebody else told.
 */
export const TELL = `${LUA_OUTBOX}
local queue, key, m = ARGV[1], toldKey(ARGV[1]), cjson.decode(ARGV[3])
if ARGV[2] ~= '' then
  if (redis.call('HGET', key, 'version') or '0') ~= ARGV[2] then return -1 end
  redis.call('HINCRBY', key, 'version', 1)
  for name, value in pairs(m.note) do redis.call('HSET', key, name, value) end
  for _, one in ipairs(m.states) do
    local states = toldStatesKey(queue, one.endpoint)
    for _, line in ipairs(one.letters) do redis.call('SETRANGE', states, line[1], line[2]) end
  end
  if m.forget then redis.call('ZREM', NEWS, queue) end
end
local full = 0
for _, one in ipairs(m.push) do
  local isIn = push(one.endpoint, { queue = queue, item = one.item, at = ARGV[4], most = ARGV[5], deadMost = ARGV[6] })
  if not isIn then full = full + 1 end
end
return full
`;

/**
 * Gives the first notification of a queue to somebody who delivers it, for a time in which nobody else gets it.
 *
 * KEYS[1] prefix
 * ARGV[1] endpoint; ARGV[2] queue; ARGV[3] who delivers; ARGV[4] now; ARGV[5] for how many ms
 * Returns [item, how often it failed], or [] when nothing waits, its time has not come or somebody else has it.
 */
export const TAKE_NEXT = `${LUA_OUTBOX}
local endpoint, queue, by = ARGV[1], ARGV[2], ARGV[3]
local item = redis.call('LINDEX', outboxQueueKey(endpoint, queue), 0)
local due = redis.call('ZSCORE', outboxDueKey(endpoint), queue)
if not item or not due then return {} end
local f = redis.call('HMGET', outboxTryKey(endpoint, queue), 'by', 'failures')
if tonumber(due) > tonumber(ARGV[4]) and f[1] ~= by then return {} end
redis.call('HSET', outboxTryKey(endpoint, queue), 'by', by)
redis.call('ZADD', outboxDueKey(endpoint), string.format('%.0f', tonumber(ARGV[4]) + tonumber(ARGV[5])), queue)
return { item, f[2] or '0' }
`;

/**
 * Notes what became of the first notification of a queue.
 *
 * KEYS[1] prefix
 * ARGV[1] endpoint; ARGV[2] queue; ARGV[3] who delivered; ARGV[4] the item; ARGV[5] 'delivered' | 'failed' | 'dead'; ARGV[6]
 *         why it failed, or ''; ARGV[7] now; ARGV[8] when a failed one is tried again; ARGV[9] most dead letters of an endpoint
 * Returns 1, or 0 when it was settled before or, unless it was delivered, when somebody else has it by now.
 */
export const SETTLE_NEXT = `${LUA_OUTBOX}
local endpoint, queue, by, item, what = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local list, try, due = outboxQueueKey(endpoint, queue), outboxTryKey(endpoint, queue), outboxDueKey(endpoint)
if redis.call('LINDEX', list, 0) ~= item then return 0 end
if what ~= 'delivered' and redis.call('HGET', try, 'by') ~= by then return 0 end
if what == 'delivered' then
  redis.call('DEL', try)
else
  redis.call('HDEL', try, 'by')
  redis.call('HINCRBY', try, 'failures', 1)
  redis.call('HSET', try, 'reason', ARGV[6])
end
redis.call('ZADD', due, what == 'failed' and ARGV[8] or ARGV[7], queue)
if what == 'failed' then return 1 end
redis.call('LPOP', list)
redis.call('HINCRBY', OUTBOX_WAITING, endpoint, -1)
if what == 'dead' then
  bury(endpoint, { queue = queue, item = item, reason = ARGV[6], at = ARGV[7], deadMost = ARGV[9] })
end
if redis.call('EXISTS', list) == 0 then
  redis.call('ZREM', due, queue)
  redis.call('DEL', try)
end
return 1
`;

/**
 * Puts a dead letter back at the end of its queue.
 *
 * KEYS[1] prefix
 * ARGV[1] endpoint; ARGV[2] the dead letter as it stands; ARGV[3] queue; ARGV[4] the item as it is to wait; ARGV[5] now; ARGV[6]
 *         most that wait for an endpoint; ARGV[7] most dead letters of an endpoint
 * Returns 1, or 0 when it is gone or has no room.
 */
export const REQUEUE = `${LUA_OUTBOX}
if redis.call('HINCRBY', OUTBOX_WAITING, ARGV[1], 0) >= tonumber(ARGV[6]) then return 0 end
if redis.call('LREM', outboxDeadKey(ARGV[1]), 1, ARGV[2]) == 0 then return 0 end
push(ARGV[1], { queue = ARGV[3], item = ARGV[4], at = ARGV[5], most = ARGV[6], deadMost = ARGV[7] })
return 1
`;

/**
 * Lets everything that waits for an endpoint be tried at once, but for what is being delivered.
 *
 * KEYS[1] prefix; ARGV[1] endpoint; ARGV[2] now
 */
export const RETRY_NOW = `${LUA_OUTBOX}
for _, queue in ipairs(redis.call('ZRANGE', outboxDueKey(ARGV[1]), 0, -1)) do
  if redis.call('HEXISTS', outboxTryKey(ARGV[1], queue), 'by') == 0 then
    redis.call('ZADD', outboxDueKey(ARGV[1]), 'XX', 'LT', ARGV[2], queue)
  end
end
return 1
`;

/**
 * Drops an endpoint with all that waits for it and its dead letters.
 *
 * KEYS[1] prefix; ARGV[1] endpoint
 * Returns [how many waited, dead letters], or [] when there is no such endpoint.
 */
export const DROP_ENDPOINT = `${LUA_OUTBOX}
local endpoint = ARGV[1]
local waiting = redis.call('HGET', OUTBOX_WAITING, endpoint)
if not waiting then return {} end
local dead = redis.call('LLEN', outboxDeadKey(endpoint))
for _, queue in ipairs(redis.call('ZRANGE', outboxDueKey(endpoint), 0, -1)) do
  redis.call('DEL', outboxQueueKey(endpoint, queue), outboxTryKey(endpoint, queue))
end
redis.call('DEL', outboxDueKey(endpoint), outboxDeadKey(endpoint))
redis.call('HDEL', OUTBOX_WAITING, endpoint)
redis.call('HDEL', OUTBOX_LOST, endpoint)
redis.call('HDEL', TOLD, 'payouts:' .. endpoint)
return { tonumber(waiting), dead }
`;
