import { LUA_PRELUDE, LUA_SUMS } from './prelude.ts';

/**
 * Moves payouts, or notes something about them without moving them. Arming is a script of its own.
 *
 * KEYS[1] prefix
 * ARGV[1] JSON array of { r run, l line, v version or nil, fr the state that the payout must have or nil, q quote id that the payout must have or nil, t to (nil: a
 *         note), b true for a breach, k true if a cancelled run turns `ready` into `cancelled`, w why the quote is dropped
 *         ('not-sent' or 'proven-dead') or nil, e due after ms or nil, o true to leave the due time of a note as it is,
 *         ho what people saw to have the reference of a payout that they allow, { i its id or '', s its state }, or nil,
 *         q2 a quote that a breach shows to be spent, a actor, y reason, g the service's exchange, f fields to set,
 *         x names of fields to delete, n how many outcomes of the run's payments are remembered or nil }
 * Returns for each ['moved', version, state, bad ones among the run's last outcomes], or [refusal, version, state].
 *
 * Invariant: only moves of the table are made; anything else is refused and counted in the head. In a closed season no
 * payout comes to an end in which its reference is free: another host may have sent it (architecture.md, rule 4).
 */
export const MOVE = `${LUA_PRELUDE}${LUA_SUMS}
local at = now()

local function dropQuote(e, p)
  if e.w == 'proven-dead' then redis.call('RPUSH', deadKey(p.run), p.line .. ' ' .. p.quote) end
  if e.w == 'not-sent' then
    redis.call('HSET', quotesKey(p.quote), p.quote, UNSENT)
    redis.call('HINCRBY', p.key, 'qn', -1)
    redis.call('HINCRBY', p.key, 'at', -1)
  end
  redis.call('HDEL', p.key, 'q', 'x', 'qs', 'ql', 'sam', 'dam', 'rt', 'fe', 'qa', 'nf', 'z2', 'lu', 'ar')
end

-- Names and values that the record is given.
local function fieldsOf(e, p)
  local set = {}
  if e.f then append(set, e.f) end
  if e.q2 and not p.quote then append(set, { q = e.q2 }) end
  return set
end

-- The table, and what it cannot say: a quote that an earlier request spent is not dropped as not sent, and nothing becomes
-- ready in a run that is over.
local function isAllowed(e, p, to)
  if not mayMove(p, to, e.w or '', e.b) then return false end
  if e.w == 'not-sent' and p.armings > 1 then return false end
  if p.state == 'held' and to == 'ready' then
    local state = redis.call('HGET', runKey(p.run), 'state')
    return state == 'paying' or state == 'paused' or state == 'finished'
  end
  return true
end

-- Whether the payout that has the reference of this one stands as people saw it: it may be paid meanwhile.
local function isAsSeen(e, p)
  local hash = e.ho and redis.call('HGET', p.key, 'rfh')
  if not hash then return true end
  local holder = redis.call('HGET', referencesKey(hash), hash)
  if not holder or holder == p.run .. '-' .. p.line then return e.ho.i == '' end
  local run, line = string.match(holder, '^(.*)%-(%d+)$')
  local f = redis.call('HMGET', payoutKey(run, line), 's', 'rh')
  -- One that is known from an intent log alone is shown without a state.
  return holder == e.ho.i and (f[2] and f[1] or '') == e.ho.s
end

local isOpen
local function mayBeSentElsewhere(to)
  if to ~= 'cancelled' and to ~= 'rejected' then return false end
  if isOpen == nil then isOpen = redis.call('HGET', HEAD, 'season') == serverNow() end
  return not isOpen
end

-- A duplicate that a person allowed is the one that its reference stands for from now on.
local function takeReference(p)
  local hash = redis.call('HGET', p.key, 'rfh')
  if hash then redis.call('HSET', referencesKey(hash), hash, p.run .. '-' .. p.line) end
end

-- A finished run is paid again, for what people allowed.
local function reopen(e, p)
  local rk = runKey(p.run)
  if redis.call('HGET', rk, 'state') ~= 'finished' then return end
  local isHalted = redis.call('HEXISTS', HEAD, 'halt') == 1
  local to = isHalted and 'paused' or 'paying'
  redis.call('HSET', rk, 'state', to)
  redis.call('HDEL', rk, 'finishedAt', 'deadQuotesFound')
  if isHalted then redis.call('HSET', rk, 'pauseReason', 'everything was halted when a payout was allowed') end
  redis.call('SADD', LIVE, p.run)
  redis.call('XADD', eventsKey(p.run), '*', 'event', to, 'actor', e.a,
    'reason', 'row ' .. p.line .. ' was allowed: ' .. e.y)
end

local lastOutcomes = {}
-- Remembers what came of the run's last payments: '1' for one that is unknown or was refused. Gives how many there are.
local function noteOutcome(e, p, to)
  local isAnswered = p.state == 'armed' and (to == 'accepted' or to == 'unknown' or to == 'rejected')
  if not e.n or (not isAnswered and not (p.state == 'ready' and to == 'rejected')) then return 0 end
  local rk = runKey(p.run)
  local kept = (lastOutcomes[rk] or redis.call('HGET', rk, 'lastOutcomes') or '') .. (to == 'accepted' and '0' or '1')
  kept = string.sub(kept, -e.n)
  lastOutcomes[rk] = kept
  return select(2, string.gsub(kept, '1', ''))
end

-- A payment belongs to one payout; one whose id is its quote's was claimed when the quote was armed.
local function claimPayment(e, p)
  local key, id = quotesKey(e.f.pid), p.run .. '-' .. p.line
  local owner = redis.call('HGET', key, e.f.pid)
  if owner and owner ~= UNSENT then return owner == id end
  redis.call('HSET', key, e.f.pid, id)
  return true
end

local answers = {}
for i, e in ipairs(cjson.decode(ARGV[1])) do
  local p = load(e.r, e.l)
  local to = e.t
  if to == 'ready' and e.k and p and p.state == 'unknown' and redis.call('HGET', runKey(e.r), 'state') == 'cancelled' then to = 'cancelled' end
  if not p then
    answers[i] = { 'missing', 0, '' }
  elseif (e.v and p.version ~= e.v) or (e.fr and p.state ~= e.fr and p.state ~= to) then
    answers[i] = { 'changed', p.version, p.state }
  elseif e.q and p.quote ~= e.q then
    answers[i] = { 'other-quote', p.version, p.state }
  elseif to and to ~= p.state and not isAllowed(e, p, to) then
    redis.call('HINCRBY', HEAD, 'refusedMoves', 1)
    answers[i] = { 'forbidden', p.version, p.state }
  elseif to and to ~= p.state and mayBeSentElsewhere(to) then
    answers[i] = { 'season', p.version, p.state }
  elseif not isAsSeen(e, p) then
    answers[i] = { 'changed', p.version, p.state }
  elseif e.f and e.f.pid and not claimPayment(e, p) then
    answers[i] = { 'payment-taken', p.version, p.state }
  elseif not to then
    redis.call('HSET', p.key, 'v', text(p.version + 1), unpack(fieldsOf(e, p)))
    if e.x and #e.x > 0 then redis.call('HDEL', p.key, unpack(e.x)) end
    if e.f and e.f.ps then add(runKey(p.run), 'changes', '1') end
    if not e.o then setDue(p, p.state, at, e.e) end
    answers[i] = { 'moved', p.version + 1, p.state, 0 }
  elseif p.state == to then
    answers[i] = { 'there', p.version, p.state }
  else
    if p.quote and e.w then dropQuote(e, p) end
    local set = fieldsOf(e, p)
    p.proposal = p.proposal or (e.f and e.f.pr)
    if p.state == 'held' and to == 'ready' then
      takeReference(p)
      reopen(e, p)
    end
    local bad = noteOutcome(e, p, to)
    answers[i] = { 'moved', applyMove(p, to, { at = at, actor = e.a, reason = e.y, exchange = e.g, due = e.e,
      set = set, unset = e.x }), to, bad }
  end
end
for rk, kept in pairs(lastOutcomes) do redis.call('HSET', rk, 'lastOutcomes', kept) end
writeSums()
return answers
`;
