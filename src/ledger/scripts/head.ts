import { LUA_PRELUDE } from './prelude.ts';

/** What a service took a day ago says little of what it takes now. */
const RATE_KEPT_MS = 24 * 60 * 60_000;

/**
 * Opens the ledger's head, or makes it on a Redis that has none.
 *
 * KEYS[1] prefix
 * ARGV[1] instance that the data directory knows, or ''; ARGV[2] instance to use for a new ledger; ARGV[3] schema
 *         version; ARGV[4] service; ARGV[5] what the safety rule depends on, as text; ARGV[6] '1' to insist on it;
 *         ARGV[7] '1' if the process writes, and so makes the ledger one of its version; ARGV[8] the lowest schema version that
 *         it reads
 * Returns ['made' | 'opened' | 'gone' | 'other-instance' | 'newer' | 'older' | 'other-service' | 'other-safety', instance, found].
 *
 * Invariant: nothing but a higher version is written unless the ledger is made. A ledger that is made here never armed anything, so its
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
if tonumber(head[2]) < tonumber(ARGV[8]) then return { 'older', head[1], head[2] } end
if head[3] ~= ARGV[4] then return { 'other-service', head[1], head[3] } end
if ARGV[6] == '1' and head[4] ~= ARGV[5] then return { 'other-safety', head[1], head[4] } end
if ARGV[7] == '1' and tonumber(head[2]) < tonumber(ARGV[3]) then redis.call('HSET', HEAD, 'schema', ARGV[3]) end
return { 'opened', head[1], '' }
`;

/** Of reasons after each other, above which none is added. */
const HALT_CHARACTERS_MAX = 4000;

/**
 * Halts everything, or releases it by two people.
 *
 * KEYS[1] prefix
 * ARGV[1] 'halt'; ARGV[2] actor; ARGV[3] reason; ARGV[4] audit entry that is to be appended, or ''
 * Returns ['halted']. A second reason is added to the first. A halt voids what was proposed, unless payrun itself (actor
 * `payrun` or `process …`) says again what was said.
 *
 * ARGV[1] 'release'; ARGV[2] actor; ARGV[3] who has proposed it, as the caller saw, or ''; ARGV[4] seal of the actor's own
 *         proposal; ARGV[5] seal of the proposal that the caller saw
 * Returns ['proposed' | 'seen' | 'released' | 'not-halted' | 'changed' | 'season', who has proposed it].
 * 'seen': somebody else than ARGV[3] has proposed it. 'changed': its seal is not ARGV[5]. 'season': the season is closed, and
 * nobody knows what a release would let go.
 */
export const HALT = `${LUA_PRELUDE}
local head = redis.call('HMGET', HEAD, 'halt', 'releaseBy', 'releaseSeal')
if ARGV[1] == 'halt' then
  if ARGV[4] ~= '' then redis.call('RPUSH', AUDIT_WAITING, ARGV[4]) end
  local isSaid = head[1] and string.find(head[1], ARGV[3], 1, true)
  -- What payrun itself finds again and again voids nobody's release.
  local isPerson = ARGV[2] ~= 'payrun' and string.sub(ARGV[2], 1, 8) ~= 'process '
  local isFull = head[1] and #head[1] > ${HALT_CHARACTERS_MAX}
  if isPerson or not (isSaid or isFull) then redis.call('HDEL', HEAD, 'releaseBy', 'releaseSeal') end
  if isSaid then return { 'halted' } end
  local before, join = head[1], '; '
  -- Of those for which there is no room the last one stands.
  if isFull then
    join = '; … '
    local cut = string.find(before, join, ${HALT_CHARACTERS_MAX}, true)
    before = cut and string.sub(before, 1, cut - 1) or before
  end
  redis.call('HSET', HEAD, 'halt', before and before .. join .. ARGV[3] or ARGV[3])
  return { 'halted' }
end
if not head[1] then return { 'not-halted' } end
if redis.call('HGET', HEAD, 'season') ~= serverNow() then return { 'season' } end
if not head[2] then
  redis.call('HSET', HEAD, 'releaseBy', ARGV[2], 'releaseSeal', ARGV[4])
  return { 'proposed', ARGV[2] }
end
if head[2] ~= ARGV[3] then return { 'seen', head[2] } end
if (head[3] or '') ~= ARGV[5] then return { 'changed', head[2] } end
redis.call('HDEL', HEAD, 'halt', 'releaseBy', 'releaseSeal')
return { 'released', head[2] }
`;

/**
 * Notes that a capability of the service was seen not to hold; from then on no quote is proven dead.
 *
 * KEYS[1] prefix; ARGV[1] capability; ARGV[2] evidence
 * Returns 1, or 0 when that was known.
 */
export const DISPROVE = `${LUA_PRELUDE}
return disprove(ARGV[1], ARGV[2]) and 1 or 0
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

/**
 * Reads the rate that all workers share, or writes it where it is still the one that the caller has read.
 *
 * KEYS[1] prefix; ARGV[1] the rate as it was read; ARGV[2] the next one, or '' to read only
 * Returns [1 where it was written, the rate as it stands, or '', ms since 1970].
 */
export const SWAP_RATE = `${LUA_PRELUDE}
local key = P .. ':rate'
local found = redis.call('GET', key) or ''
local isOurs = ARGV[2] ~= '' and found == ARGV[1]
if isOurs then redis.call('SET', key, ARGV[2], 'PX', ${RATE_KEPT_MS}) end
return { isOurs and 1 or 0, isOurs and ARGV[2] or found, text(now()) }
`;

/**
 * Changes those settings that one person may change.
 *
 * KEYS[1] prefix; ARGV[1] the safety settings that are to be the ledger's; ARGV[2] those that the caller saw
 * Returns 1, or 0 where they are others by now.
 */
export const SWAP_SAFETY = `${LUA_PRELUDE}
if redis.call('HGET', HEAD, 'safety') ~= ARGV[2] then return 0 end
redis.call('HSET', HEAD, 'safety', ARGV[1])
return 1
`;

/**
 * Changes what people set between a payout and its arming, by two people.
 *
 * KEYS[1] prefix; ARGV[1] the safety settings that are to be the ledger's; ARGV[2] who; ARGV[3] seal of the
 * proposal that the caller saw, or ''; ARGV[4] seal of their own; ARGV[5] '1' where the one that they saw stands, is for these
 * settings, and is another person's; ARGV[6] the settings that the caller saw
 * Returns 'proposed', 'adopted', or 'changed': the settings or the proposal are not those that the caller saw.
 */
export const ADOPT_SAFETY = `${LUA_PRELUDE}
if redis.call('HGET', HEAD, 'safety') ~= ARGV[6] then return 'changed' end
if (redis.call('HGET', HEAD, 'safetySeal') or '') ~= ARGV[3] then return 'changed' end
if ARGV[5] ~= '1' then
  redis.call('HSET', HEAD, 'safetyNew', ARGV[1], 'safetyBy', ARGV[2], 'safetySeal', ARGV[4])
  return 'proposed'
end
redis.call('HSET', HEAD, 'safety', ARGV[1])
redis.call('HDEL', HEAD, 'safetyNew', 'safetyBy', 'safetySeal')
return 'adopted'
`;

/**
 * Notes which settings of Redis are less durable than they have to be, from when to when.
 *
 * KEYS[1] prefix; ARGV[1] settings with blanks between them, or '' when all are as they have to be
 */
export const NOTE_DURABILITY = `${LUA_PRELUDE}
local since = redis.call('HGET', HEAD, 'weakSince')
if ARGV[1] ~= '' then
  if not since then redis.call('HSET', HEAD, 'weakSince', text(now()) .. ' ' .. ARGV[1]) end
elseif since then
  redis.call('HDEL', HEAD, 'weakSince')
  redis.call('RPUSH', WEAK, text(now()) .. ' ' .. since)
  redis.call('LTRIM', WEAK, -100, -1)
end
return 1
`;
