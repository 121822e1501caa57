import { ARMINGS_PER_QUOTE_MAX, QUOTES_PER_PAYOUT_MAX } from '../../payout.ts';
import { LUA_PRELUDE, LUA_SUMS } from './prelude.ts';

/**
 * Arms payouts: ready -> armed with a new quote, quoted -> armed with the same one (architecture.md, rule 2).
 *
 * KEYS[1] prefix
 * ARGV[1] JSON array of { r run, l line, v version, h seal of the row, rf hash of the reference, q quote id, x expiry or '', o owner, c credentials,
 *         e due after ms, y the quote's exchange, f further fields, ap digest of what must
 *         be approved or nil, bl version and seal of the block list that the caller verified or nil, m limits or nil: { o ms by which their days begin before
 *         UTC's, b hash of the beneficiary, s what it counts as: a list of { c currency, a minor units or nil, p, r, d, n the
 *         most for a payout, a run, a day and a beneficiary a day, in minor units or nil } } }; ARGV[2] data directory;
 *         ARGV[3] schema version that the caller knows; ARGV[4] the highest arming counter that it ever saw;
 *         ARGV[5] server to which its other commands lead, or ''; ARGV[6] the host on which the directory's id is used, or ''
 * Returns [replicas, answers, 1 where ARGV[5] names another server | 0]: each answer is ['armed', version, arming counter, time], ['limit', limit, currency],
 *         ['reference', the payout that has it] or [refusal].
 *
 * Invariant: a payout is armed only in an open season of this very server, which knows of every arming that the caller
 * knows, from a data directory whose intent logs were compared for it, with no halt and no wait, in a run that is being paid, from the version and row that the caller saw, while its reference is its own, with a quote that no payout ever armed before (or, again,
 * its own present one), and never beyond a limit: what a payout adds to the sums counts from its first arming, in the same
 * call, until it comes to nothing. A second run of the same call finds another version and answers 'changed'.
 */
export const ARM = `${LUA_PRELUDE}${LUA_SUMS}
local server, replicas = serverNow()
local head = redis.call('HMGET', HEAD, 'season', 'halt', 'schema', 'armings')
if tonumber(head[4] or '0') < tonumber(ARGV[4]) then
  closeSeason()
  head[1] = ''
end
local stop = nil
-- Of two primaries after a failover, arming may still lead to the old one.
local isElsewhere = ARGV[5] ~= '' and ARGV[5] ~= server
-- Another host uses a copy of this data directory.
local isCopied = ARGV[6] ~= '' and (redis.call('GET', leaseKey(ARGV[2])) or ARGV[6]) ~= ARGV[6]
if isElsewhere or isCopied or head[1] ~= server or redis.call('HGET', DIRS, ARGV[2]) ~= server then stop = 'season'
elseif tonumber(head[3]) > tonumber(ARGV[3]) then stop = 'newer'
elseif head[2] then stop = 'halted'
elseif redis.call('EXISTS', WAIT) == 1 then stop = 'wait' end

local at = now()
local runStates = {}
local function runState(run)
  if not runStates[run] then runStates[run] = redis.call('HGET', runKey(run), 'state') or 'none' end
  return runStates[run]
end

-- Whether people agreed to the run as it is, as long as their word holds.
local function isApproved(e)
  if not e.ap then return true end
  local f = redis.call('HMGET', runKey(e.r), 'approved', 'approvedUntil')
  return f[1] == e.ap and tonumber(f[2]) > at
end

local blockListSeal = redis.call('GET', BLOCKED_SEAL) or ''
local hasBlocked = redis.call('EXISTS', BLOCKED) == 1
local function isBlocked(p)
  return hasBlocked and redis.call('HEXISTS', BLOCKED, p.beneficiary or '') == 1
end

-- The payout to which a later run, people or a restore gave this one's reference.
local function referenceHolder(e)
  local holder = redis.call('HGET', referencesKey(e.rf), e.rf)
  if holder and holder ~= e.r .. '-' .. e.l then return holder end
  return nil
end

local function refusal(e, p)
  if stop then return stop end
  if runState(e.r) ~= 'paying' then return 'run' end
  if not p or p.version ~= e.v or not mayMove(p, 'armed', '') then return 'changed' end
  if p.rowSeal ~= e.h then return 'row' end
  local holder = referenceHolder(e)
  if holder then return 'reference', holder end
  if not isApproved(e) then return 'approval' end
  if e.bl and e.bl ~= blockListSeal then return 'block-list' end
  if isBlocked(p) then return 'blocked' end
  if p.state == 'quoted' then
    if p.quote ~= e.q or p.credentials ~= e.c then return 'changed' end
    if p.armings >= ${ARMINGS_PER_QUOTE_MAX} then return 'armings' end
  else
    if p.quotes >= ${QUOTES_PER_PAYOUT_MAX} then return 'quotes' end
    if (redis.call('HGET', quotesKey(e.q), e.q) or UNSENT) ~= UNSENT then return 'quote-taken' end
  end
  return nil
end

-- The limit that a sum would break.
local function brokenLimit(e, sum, day)
  if sum.a == nil then return 'amount' end
  local amount = tonumber(sum.a)
  local function breaks(most, key, field)
    return most ~= nil and tonumber(redis.call('HGET', key, field) or '0') + amount > tonumber(most)
  end
  if sum.p ~= nil and amount > tonumber(sum.p) then return 'payout' end
  if breaks(sum.r, runKey(e.r), 'sum:' .. sum.c) then return 'run' end
  if breaks(sum.d, spentKey(day), sum.c) then return 'day' end
  if breaks(sum.n, spentKey(day), sum.c .. ' ' .. e.m.b) then return 'beneficiary' end
  return nil
end

-- Counts what the payout comes to, or gives the limit that stands against it and its currency, unless people allowed it.
-- What was counted on a day before, or by another quote, is counted anew.
local function countAmounts(e, p)
  if not e.m or p.state ~= 'ready' then return nil end
  local day = text(math.floor((at + e.m.o) / 86400000))
  local counted = {}
  for _, sum in ipairs(e.m.s) do
    if sum.c == p.currency then sum.a = p.amount end
    if sum.a ~= nil then counted[#counted + 1] = sum.c .. ' ' .. sum.a end
  end
  local list = table.concat(counted, ',')
  local before = redis.call('HMGET', p.key, 'ld', 'lc', 'al')
  if before[1] == day and before[2] == list then return nil end
  uncount(p)
  if not before[3] then
    for _, sum in ipairs(e.m.s) do
      local broken = brokenLimit(e, sum, day)
      if broken then return { 'limit', broken, sum.c } end
    end
  end
  countFor(e.r, p.key, { d = day, b = e.m.b, s = list })
  return nil
end

local answers = {}
for i, e in ipairs(cjson.decode(ARGV[1])) do
  local p = load(e.r, e.l)
  local refused, about = refusal(e, p)
  local limit = not refused and countAmounts(e, p)
  if refused then
    answers[i] = { refused, about }
  elseif limit then
    answers[i] = limit
  else
    redis.call('HSETNX', referencesKey(e.rf), e.rf, e.r .. '-' .. e.l)
    local counter = redis.call('HINCRBY', HEAD, 'armings', 1)
    local isNew = p.state == 'ready'
    if isNew then redis.call('HSET', quotesKey(e.q), e.q, e.r .. '-' .. e.l) end
    local set = { 'q', e.q, 'x', e.x, 'by', e.o, 'aa', text(at), 'ct', text(counter), 'cf', e.c, 'at', text(p.attempts + 1),
      'ar', isNew and '1' or text(p.armings + 1), 'qn', text(isNew and p.quotes + 1 or p.quotes) }
    append(set, e.f)
    -- What earlier quotes left; a record of the first version had none, but for quotes that failed.
    local hasLeft = isNew and (p.version > 1 or p.quoteFailures)
    local version = applyMove(p, 'armed', { at = at, actor = e.o, reason = '', exchange = e.y, due = e.e, set = set,
      unset = hasLeft and { 'nf', 'z2', 'lu', 'qf', 'qs' } or nil })
    answers[i] = { 'armed', version, counter, text(at) }
  end
end
writeSums()
return { replicas, answers, isElsewhere and 1 or 0 }
`;
