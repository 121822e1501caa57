import { LUA_PRELUDE } from './prelude.ts';

/**
 * Opens the ledger's head, or makes it on a Redis that has none.
 *
 * KEYS[1] prefix
 * ARGV[1] instance that the data directory knows, or ''; ARGV[2] instance to use for a new ledger; ARGV[3] schema
 *         version; ARGV[4] service; ARGV[5] what the safety rule depends on, as text; ARGV[6] '1' to insist on it
 * Returns ['made' | 'opened' | 'gone' | 'other-instance' | 'newer' | 'other-service' | 'other-safety', instance, found].
 *
 * Invariant: nothing is written unless the ledger is made. A ledger that is made here never armed anything, so its
 * season begins with it. A ledger that was adopted is also that of the directories that knew the lost one.
 */
export const OPEN_HEAD = `${LUA_PRELUDE}
local head = redis.call('HMGET', HEAD, 'instance', 'schema', 'service', 'safety', 'adopted')
if not head[1] then
  if ARGV[1] ~= '' then return { 'gone', '', '' } end
  local server = serverNow()
  redis.call('HSET', HEAD, 'instance', ARGV[2], 'schema', ARGV[3], 'service', ARGV[4], 'safety', ARGV[5],
    'season', server, 'createdAt', text(now()))
  redis.call('SET', 'payrun-database', '1')
  return { 'made', ARGV[2], '' }
end
if ARGV[1] ~= '' and head[1] ~= ARGV[1] and head[5] ~= ARGV[1] then return { 'other-instance', head[1], '' } end
if tonumber(head[2]) > tonumber(ARGV[3]) then return { 'newer', head[1], head[2] } end
if head[3] ~= ARGV[4] then return { 'other-service', head[1], head[3] } end
if ARGV[6] == '1' and head[4] ~= ARGV[5] then return { 'other-safety', head[1], head[4] } end
return { 'opened', head[1], '' }
`;

/**
 * Tells whether this server is in its season, and which data directories have yet to compare their intent logs for it.
 *
 * KEYS[1] prefix
 * Returns [open 1 | 0, server, directories that have yet to compare, all directories].
 */
export const READ_SEASON = `${LUA_PRELUDE}
local server = serverNow()
local missing, all = {}, {}
local dirs = redis.call('HGETALL', DIRS)
for i = 1, #dirs, 2 do
  all[#all + 1] = dirs[i]
  if dirs[i + 1] ~= server then missing[#missing + 1] = dirs[i] end
end
return { redis.call('HGET', HEAD, 'season') == server and 1 or 0, server, missing, all }
`;

/**
 * Compares a directory's intent lines with the ledger after the server restarted or failed over, restores what the
 * ledger lost as unknown, and opens the season when the last directory has compared (design 3, rule 4).
 *
 * KEYS[1] prefix
 * ARGV[1] data directory, or '' for one that never armed; ARGV[2] server for which the caller compares; ARGV[3] '1' with the directory's last lines;
 *         ARGV[4] JSON array of { r run, l line, s file's SHA-256, h hash of the reference, q quote, x expiry or '', k attempt,
 *         c arming counter, o owner, t time armed, f credentials }
 * Returns ['compared' | 'open' | 'changed', lines restored in all].
 *
 * Invariant: a line whose counter is above its payout's becomes that payout's attempt, in the state unknown. Where a
 * directory comes back into a season that opened without it, and the payout was armed with another quote since, no quote is
 * forgotten: it is held as a breach. If any line was restored, everything is halted and all runs are paused before arming
 * is possible again.
 */
export const COMPARE_LINES = `${LUA_PRELUDE}
local server = serverNow()
if server ~= ARGV[2] then return { 'changed', 0 } end
local at = now()
local wasOpen = redis.call('HGET', HEAD, 'season') == server

-- The run of the line's file: the one that the ledger knows, or a stub that the same file fills when it comes again.
local function ensureRun(e)
  if redis.call('EXISTS', runKey(e.r)) == 1 then return end
  local known = redis.call('HGET', FILES, e.s)
  if known then
    e.r = known
    return
  end
  redis.call('HSET', runKey(e.r), 'state', 'recording', 'createdAt', text(at), 'changes', 1, 'fileSha256', e.s, 'restored', '1')
  redis.call('HSET', FILES, e.s, e.r)
  redis.call('ZADD', RUNS, text(at), e.r)
end

local function restore(e)
  ensureRun(e)
  local p = load(e.r, e.l)
  if p and p.counter >= e.c then return end
  if p and wasOpen and p.quote and p.quote ~= e.q then
    redis.call('HSET', p.key, 'ct', e.c, 'rc', 'E_BREACH', 'rs', 'the quote ' .. e.q .. ' was armed by a data directory that was missing')
    if p.state ~= 'held' then applyMove(p, 'held', { at = at, actor = 'season', reason = 'breach', due = 0 }) end
    redis.call('HINCRBY', HEAD, 'restored', 1)
    return
  end
  if not p then
    p = { run = e.r, line = e.l, key = payoutKey(e.r, e.l), state = 'unknown', version = 0 }
    redis.call('HSET', p.key, 's', 'unknown', 'v', 0)
    redis.call('HINCRBY', runKey(e.r), 'n:unknown', 1)
  end
  redis.call('HSET', p.key, 'q', e.q, 'x', e.x, 'ct', e.c, 'by', e.o, 'aa', e.t, 'cf', e.f, 'at', e.k)
  if p.quote ~= e.q then redis.call('HINCRBY', p.key, 'qn', 1) end
  redis.call('HDEL', p.key, 'nf', 'z2', 'lu')
  redis.call('HSETNX', quotesKey(e.q), e.q, e.r .. '-' .. e.l)
  redis.call('HSETNX', referencesKey(e.h), e.h, e.r .. '-' .. e.l)
  applyMove(p, 'unknown', { at = at, actor = 'season', reason = 'restored from an intent log', due = 0 })
  redis.call('HINCRBY', HEAD, 'restored', 1)
end

local highest = tonumber(redis.call('HGET', HEAD, 'armings') or '0')
for _, e in ipairs(cjson.decode(ARGV[4])) do
  restore(e)
  if e.c > highest then highest = e.c end
end
redis.call('HSET', HEAD, 'armings', highest)
if ARGV[3] ~= '1' then return { 'compared', 0 } end

if ARGV[1] ~= '' then redis.call('HSET', DIRS, ARGV[1], server) end
local restored = tonumber(redis.call('HGET', HEAD, 'restored') or '0')
if restored > 0 then
  redis.call('HSET', HEAD, 'halt', 'Redis went back in time; ' .. restored .. ' payouts were restored as unknown')
  redis.call('HDEL', HEAD, 'restored', 'releaseBy')
  for _, run in ipairs(redis.call('SMEMBERS', LIVE)) do
    if redis.call('HGET', runKey(run), 'state') == 'paying' then pauseRun(run, 'Redis went back in time') end
  end
end
local dirs = redis.call('HVALS', DIRS)
for _, compared in ipairs(dirs) do
  if compared ~= server then return { 'compared', restored } end
end
redis.call('HSET', HEAD, 'season', server)
return { 'open', restored }
`;

/**
 * Enters a data directory that may arm. From then on no season opens without it.
 *
 * KEYS[1] prefix; ARGV[1] data directory
 */
export const ENTER_DIR = `${LUA_PRELUDE}
return redis.call('HSETNX', DIRS, ARGV[1], '')
`;

/**
 * Halts everything, or releases it by two people.
 *
 * KEYS[1] prefix
 * ARGV[1] 'halt' | 'release'; ARGV[2] actor; ARGV[3] reason
 * Returns 'halted' | 'proposed' | 'released' | 'same-person' | 'not-halted'.
 */
export const HALT = `${LUA_PRELUDE}
local head = redis.call('HMGET', HEAD, 'halt', 'releaseBy')
if ARGV[1] == 'halt' then
  redis.call('HDEL', HEAD, 'releaseBy')
  redis.call('HSET', HEAD, 'halt', head[1] or ARGV[3])
  return 'halted'
end
if not head[1] then return 'not-halted' end
if not head[2] then
  redis.call('HSET', HEAD, 'releaseBy', ARGV[2])
  return 'proposed'
end
if head[2] == ARGV[2] then return 'same-person' end
redis.call('HDEL', HEAD, 'halt', 'releaseBy')
return 'released'
`;

/**
 * Notes that a capability of the service was seen not to hold; from then on no quote is proven dead.
 *
 * KEYS[1] prefix; ARGV[1] capability; ARGV[2] evidence
 */
export const DISPROVE = `${LUA_PRELUDE}
local known = redis.call('HGET', HEAD, 'disproved') or ''
if not string.find(',' .. known .. ',', ',' .. ARGV[1] .. ',', 1, true) then
  redis.call('HSET', HEAD, 'disproved', known == '' and ARGV[1] or known .. ',' .. ARGV[1], 'evidence:' .. ARGV[1], ARGV[2])
end
return 1
`;

/**
 * Makes everybody wait, because the service asked for it. A shorter wait never shortens a longer one.
 *
 * KEYS[1] prefix; ARGV[1] ms
 */
export const HOLD = `${LUA_PRELUDE}
if redis.call('PTTL', WAIT) < tonumber(ARGV[1]) then redis.call('SET', WAIT, '1', 'PX', ARGV[1]) end
return 1
`;

/**
 * Gives out the next places of a shared, smooth pace (generic cell rate algorithm). Places that nobody took are made up
 * for by at most ARGV[4] microseconds' worth, so that short stalls do not lower the mean.
 *
 * KEYS[1] prefix; ARGV[1] what is paced; ARGV[2] how many places; ARGV[3] microseconds between two places;
 *         ARGV[4] microseconds
 * Returns microseconds until the first of them; below 0 when it is being made up for.
 */
export const TAKE_PACE = `${LUA_PRELUDE}
local key = P .. ':pace:' .. ARGV[1]
local t = redis.call('TIME')
local at = tonumber(t[1]) * 1000000 + tonumber(t[2])
local first = math.max(at - tonumber(ARGV[4]), tonumber(redis.call('GET', key) or '0'))
local after = first + tonumber(ARGV[2]) * tonumber(ARGV[3])
redis.call('SET', key, text(after), 'PX', text(math.ceil(math.max(0, after - at) / 1000) + 1000))
return text(first - at)
`;
