import { LUA_PRELUDE } from './prelude.ts';

/**
 * Moves payouts, or notes something about them without moving them. Arming is a script of its own.
 *
 * KEYS[1] prefix
 * ARGV[1] JSON array of { r run, l line, v version or nil, q quote id that the payout must have or nil, t to (nil: a
 *         note), b true for a breach, k true if a cancelled run turns `ready` into `cancelled`, w why the quote is dropped
 *         ('not-sent' or 'proven-dead') or nil, e due after ms or nil, o true to leave the due time of a note as it is,
 *         q2 a quote that a breach shows to be spent, a actor, y reason, f fields to set, x names of fields to delete }
 * Returns for each ['moved', version, state], or [refusal, version, state].
 *
 * Invariant: only moves of the table are made; anything else is refused and counted in the head.
 */
export const MOVE = `${LUA_PRELUDE}
local at = now()

local function dropQuote(e, p)
  if e.w == 'proven-dead' then redis.call('RPUSH', deadKey(p.run), p.line .. ' ' .. p.quote) end
  if e.w == 'not-sent' then
    redis.call('HDEL', quotesKey(p.quote), p.quote)
    redis.call('HINCRBY', p.key, 'qn', -1)
    redis.call('HINCRBY', p.key, 'at', -1)
  end
  redis.call('HDEL', p.key, 'q', 'x', 'sam', 'dam', 'rt', 'fe', 'qa', 'nf', 'z2', 'lu', 'ar')
end

local function write(e, p)
  if e.f then for name, value in pairs(e.f) do redis.call('HSET', p.key, name, value) end end
  if e.x then for _, name in ipairs(e.x) do redis.call('HDEL', p.key, name) end end
end

-- The table, and what it cannot say: a quote that an earlier request spent is not dropped as not sent, and nothing becomes
-- ready in a run that is over.
local function isAllowed(e, p, to)
  if not mayMove(p, to, e.w or '', e.b) then return false end
  if e.w == 'not-sent' and tonumber(redis.call('HGET', p.key, 'ar') or '0') > 1 then return false end
  if p.state == 'held' and to == 'ready' then
    local state = redis.call('HGET', runKey(p.run), 'state')
    return state == 'paying' or state == 'paused'
  end
  return true
end

-- A duplicate that a person allowed is the one that its reference stands for from now on.
local function takeReference(p)
  local hash = redis.call('HGET', p.key, 'rfh')
  if hash then redis.call('HSET', referencesKey(hash), hash, p.run .. '-' .. p.line) end
end

-- A payment belongs to one payout; one whose id is its quote's was claimed when the quote was armed.
local function claimPayment(e, p)
  local key, id = quotesKey(e.f.pid), p.run .. '-' .. p.line
  redis.call('HSETNX', key, e.f.pid, id)
  return redis.call('HGET', key, e.f.pid) == id
end

local answers = {}
for i, e in ipairs(cjson.decode(ARGV[1])) do
  local p = load(e.r, e.l)
  local to = e.t
  if to == 'ready' and e.k and p and p.state == 'unknown' and redis.call('HGET', runKey(e.r), 'state') == 'cancelled' then to = 'cancelled' end
  if not p then
    answers[i] = { 'missing', 0, '' }
  elseif e.v and p.version ~= e.v then
    answers[i] = { 'changed', p.version, p.state }
  elseif e.q and p.quote ~= e.q then
    answers[i] = { 'other-quote', p.version, p.state }
  elseif to and to ~= p.state and not isAllowed(e, p, to) then
    redis.call('HINCRBY', HEAD, 'refusedMoves', 1)
    answers[i] = { 'forbidden', p.version, p.state }
  elseif e.f and e.f.pid and not claimPayment(e, p) then
    answers[i] = { 'payment-taken', p.version, p.state }
  elseif not to then
    write(e, p)
    redis.call('HSET', p.key, 'v', p.version + 1)
    if e.f and e.f.ps then redis.call('HINCRBY', runKey(p.run), 'changes', 1) end
    if not e.o then setDue(p, p.state, at, e.e) end
    answers[i] = { 'moved', p.version + 1, p.state }
  elseif p.state == to then
    answers[i] = { 'there', p.version, p.state }
  else
    if p.quote and e.w then dropQuote(e, p) end
    if e.b and e.q2 and not p.quote then redis.call('HSET', p.key, 'q', e.q2) end
    write(e, p)
    if p.state == 'held' and to == 'ready' then takeReference(p) end
    answers[i] = { 'moved', applyMove(p, to, { at = at, actor = e.a, reason = e.y, due = e.e }), to }
  end
end
return answers
`;
