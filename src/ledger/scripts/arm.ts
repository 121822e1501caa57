import { ARMINGS_PER_QUOTE_MAX, QUOTES_PER_PAYOUT_MAX } from '../../payout.ts';
import { LUA_PRELUDE } from './prelude.ts';

/**
 * Arms payouts: ready -> armed with a new quote, quoted -> armed with the same one (design 3, rule 2).
 *
 * KEYS[1] prefix
 * ARGV[1] JSON array of { r run, l line, v version, h row hash, q quote id, x expiry or '', o owner, c credentials,
 *         e due after ms, y the quote's exchange, f further fields }; ARGV[2] data directory;
 *         ARGV[3] schema version that the caller knows; ARGV[4] the highest arming counter that it ever saw
 * Returns [replicas, answers]: each answer is ['armed', version, arming counter, time], or [refusal].
 *
 * Invariant: a payout is armed only in an open season of this very server, which knows of every arming that the caller
 * knows, from a data directory whose intent logs were compared for it, with no halt and no wait, in a run that is being paid, from the version and row that the caller saw, with a quote that no payout ever armed before (or, again,
 * its own present one). A second run of the same call finds another version and answers 'changed'.
 */
export const ARM = `${LUA_PRELUDE}
local server, replicas = serverNow()
local head = redis.call('HMGET', HEAD, 'season', 'halt', 'schema', 'armings')
if tonumber(head[4] or '0') < tonumber(ARGV[4]) then
  closeSeason()
  head[1] = ''
end
local stop = nil
if head[1] ~= server or redis.call('HGET', DIRS, ARGV[2]) ~= server then stop = 'season'
elseif tonumber(head[3]) > tonumber(ARGV[3]) then stop = 'newer'
elseif head[2] then stop = 'halted'
elseif redis.call('EXISTS', WAIT) == 1 then stop = 'wait' end

local at = now()
local runStates = {}
local function runState(run)
  if not runStates[run] then runStates[run] = redis.call('HGET', runKey(run), 'state') or 'none' end
  return runStates[run]
end

local function refusal(e, p)
  if stop then return stop end
  if runState(e.r) ~= 'paying' then return 'run' end
  if not p or p.version ~= e.v or not mayMove(p, 'armed', '') then return 'changed' end
  if p.rowHash ~= e.h then return 'row' end
  local used = redis.call('HMGET', p.key, 'ar', 'qn', 'cf')
  if p.state == 'quoted' then
    if p.quote ~= e.q or used[3] ~= e.c then return 'changed' end
    if tonumber(used[1] or '0') >= ${ARMINGS_PER_QUOTE_MAX} then return 'armings' end
  else
    if tonumber(used[2] or '0') >= ${QUOTES_PER_PAYOUT_MAX} then return 'quotes' end
    if (redis.call('HGET', quotesKey(e.q), e.q) or UNSENT) ~= UNSENT then return 'quote-taken' end
  end
  return nil
end

local answers = {}
for i, e in ipairs(cjson.decode(ARGV[1])) do
  local p = load(e.r, e.l)
  local refused = refusal(e, p)
  if refused then
    answers[i] = { refused }
  else
    local counter = redis.call('HINCRBY', HEAD, 'armings', 1)
    if p.state == 'ready' then
      redis.call('HSET', quotesKey(e.q), e.q, e.r .. '-' .. e.l)
      redis.call('HINCRBY', p.key, 'qn', 1)
      redis.call('HSET', p.key, 'ar', '0')
      redis.call('HDEL', p.key, 'nf', 'z2', 'lu', 'qf')
    end
    redis.call('HINCRBY', p.key, 'at', 1)
    redis.call('HINCRBY', p.key, 'ar', 1)
    redis.call('HSET', p.key, 'q', e.q, 'x', e.x, 'by', e.o, 'aa', text(at), 'ct', counter, 'cf', e.c)
    for name, value in pairs(e.f) do redis.call('HSET', p.key, name, value) end
    local version = applyMove(p, 'armed', { at = at, actor = e.o, reason = '', exchange = e.y, due = e.e })
    answers[i] = { 'armed', version, counter, text(at) }
  end
end
return { replicas, answers }
`;
