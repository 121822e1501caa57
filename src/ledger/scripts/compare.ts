import { LUA_COUNTED, LUA_PRELUDE } from './prelude.ts';
import { LUA_RECORDS } from './records.ts';
import { LUA_PEERS } from './season.ts';

/** Payouts for which one reference may stand. Further ones are not armed either; the work for each is bounded. */
export const CLAIMANTS_MAX = 8;

/**
 * Compares a directory's intent lines with the ledger after the server restarted or failed over, restores what the
 * ledger lost as unknown, and opens the season when the last directory has compared (architecture.md, rule 4).
 *
 * KEYS[1] prefix
 * ARGV[1] data directory, or '' for one that never armed
 * ARGV[2] server for which the caller compares
 * ARGV[3] '1' with the directory's last lines
 * ARGV[4] JSON array of { r run, l line, s file's SHA-256, n content hash or '', h hash of the reference, q quote, x expiry or
 *         '', k attempt, c arming counter, o owner, t time armed, d its day as run ids begin, f credentials, m what it counted as for the limits or nil:
 *         { d day, b beneficiary, s `CURRENCY MINOR,…` } }; or, for a request to which the service began to say yes,
 *         { y quote, p payment or '', n true where people named it, h hash of the reference }
 * ARGV[5] JSON array of the directories that this one has noted on its disk
 * ARGV[6] the highest arming counter that the caller ever saw
 * ARGV[7] the season as the caller saw it before it read its logs, or ''
 * Returns ['compared' | 'open' | 'changed' | 'written-off' | 'unnoted', lines restored in all, directories that have not noted
 *         this one...].
 *
 * Invariant: a line whose counter is above its payout's becomes that payout's attempt, in the state unknown. Where
 * others armed without the directory, and the payout has another quote since, no quote is forgotten: it is held as a breach. If any line was restored, everything is halted and all runs are paused before arming
 * is possible again; what people gave up with a directory stays held. No directory may arm before each other one that
 * ever might has noted it on disk, so that a Redis which goes back to before it came is told of it. A quote to which the
 * service said yes is never proven dead.
 */
export const COMPARE_LINES = `${LUA_PRELUDE}${LUA_COUNTED}${LUA_RECORDS}${LUA_PEERS}
local server = serverNow()
if server ~= ARGV[2] then return { 'changed', 0 } end
if isWrittenOff(ARGV[1]) then return { 'written-off', 0 } end
noteCounter(ARGV[6])
local season = redis.call('HGET', HEAD, 'season') or ''
-- What was armed before this closing may be missing in logs that were read before it.
if season ~= server and ARGV[7] ~= '' and season ~= ARGV[7] then return { 'changed', 0 } end
local at = now()
local wasMissing = redis.call('HEXISTS', HEAD, 'late:' .. ARGV[1]) == 1
  or (season == server and redis.call('HGET', DIRS, ARGV[1]) ~= server)

local PAID = { accepted = true, completed = true, failed = true, returned = true }

-- The run of the line's file: the one that the ledger knows, or a stub that the same file fills when it comes again. As which run
-- one is known stays: a later hand-in of the file has rows of its own.
local function ensureRun(e)
  if redis.call('EXISTS', runKey(e.r)) == 1 then return end
  local known = string.match(redis.call('HGET', KNOWN_AS, e.r) or '', '^%S+')
  if not known then
    known = runOf(e.s, e.n)
    if not known or redis.call('HEXISTS', runKey(known), 'purgedAt') == 1 then return makeStub(e.r, e.s, e.n, e.d) end
    noteKnownAs(e.r, known, e.s)
  end
  e.r = known
end

local function hasGivenReferenceFree(p)
  if p.state == 'rejected' then return not get(p, 'q') or get(p, 'ok') ~= nil end
  return FREE[p.state] == true
end

-- The records of a purged run are gone, and nothing of it was open any more when they went.
local function isPurged(run)
  return redis.call('HEXISTS', runKey(run), 'purgedAt') == 1
end

-- Of two payouts with one reference the one that was armed has it. Where both were, nobody can tell which was the last: it
-- stands for both, and neither is armed again before people say which.
local function claimReference(e, p)
  local id = p.run .. '-' .. p.line
  local claimants = { id }
  local found = redis.call('HGET', referencesKey(e.h), e.h) or ''
  local _, count = string.gsub(found, '%S+', '')
  if count >= ${CLAIMANTS_MAX} then return set(p, 'rfh', e.h) end
  for holder in string.gmatch(found, '%S+') do
    local run, line = string.match(holder, '^(.*)%-(%d+)$')
    local other = holder ~= id and load(run, line)
    -- Of a purged run nothing can say any more that it came to nothing.
    if holder ~= id and not other and isPurged(run) then claimants[#claimants + 1] = holder end
    if other and not hasGivenReferenceFree(other) then
      if get(other, 'ct') then claimants[#claimants + 1] = holder end
      set(other, 'rfh', e.h)
      save(other)
    end
  end
  if #claimants > 1 then set(p, 'rfh', e.h) end
  redis.call('HSET', referencesKey(e.h), e.h, table.concat(claimants, ' '))
end

local function wasArmedAt(p, armedAt)
  local stepAt = 0
  for _, step in ipairs(p.record[4]) do
    stepAt = stepAt + step[2]
    if step[1] == LETTER.armed and stepAt == armedAt then return true end
  end
  return false
end

local function isOfLate(p)
  local lateDir = redis.call('HGET', YES, 'late ' .. (get(p, 'q') or ''))
  return lateDir and lateDir ~= ARGV[1]
end

-- Counters of two times, each lost to the other, cannot be compared: only the quote tells whether the ledger knows the line.
local function isKnown(e, p, isApart)
  if isApart then
    return redis.call('HGET', quotesKey(e.q), e.q) == e.r .. '-' .. e.l or wasArmedAt(p, tonumber(e.t))
  end
  return tonumber(get(p, 'ct') or '0') >= e.c
end

-- A run that ended on what this Redis had forgotten goes on, once people let it.
local function reopen(run)
  if redis.call('HGET', runKey(run), 'state') ~= 'finished' then return end
  redis.call('HDEL', runKey(run), 'finishedAt', 'deadQuotesFound')
  redis.call('SADD', LIVE, run)
  pauseRun(run, 'Redis went back in time')
end

-- A quote before the payout's present one that this Redis does not know: it went back, or a lost host came back.
local function noteForgotten(e, p)
  local isNew = redis.call('HSETNX', quotesKey(e.q), e.q, e.r .. '-' .. e.l) == 1
  if not isNew or get(p, 'q') == e.q then return end
  noteQuote(p, e.q)
  -- Whoever judged it without that quote judges it anew.
  save(p)
end

-- Counts a payout as its line says, in the place of what it counted as before: { d day, b beneficiary, s amounts }.
local function countFor(p, counted)
  if get(p, 'ld') == counted.d and get(p, 'lc') == counted.s then return end
  if get(p, 'lc') then addCounted(p.run, get(p, 'ld'), get(p, 'lb'), get(p, 'lc'), '-') end
  set(p, 'ld', tonumber(counted.d))
  set(p, 'lb', counted.b)
  set(p, 'lc', counted.s)
  addCounted(p.run, counted.d, counted.b, counted.s, '')
end

-- What the service answered. A quote to which it said yes is never proven dead. A payment that people named leaves the quote
-- beside it, and so does any payment the one that counted before.
local function noteYes(p, quote, payment, isNamed)
  set(p, 'z2', 1)
  if payment == '' then return end
  local credentials = get(p, 'cf')
  if credentials and get(p, 'rc') ~= 'E_PAYMENT_GONE' then
    redis.call('LREM', knownPaymentsKey(credentials), 0, payment)
    keepPayments(credentials, { payment })
  end
  local former = get(p, 'pid')
  if former and former ~= payment then leaveBeside(p, former) end
  set(p, 'pid', payment == quote and 0 or payment)
  if payment == quote then return end
  redis.call('HSETNX', quotesKey(payment), payment, p.run .. '-' .. p.line)
  if isNamed then leaveBeside(p, quote) end
end

-- What the service answered for a quote, each answer once: they come from several directories, in any order.
local function keepAnswer(e)
  local kept, said = redis.call('HGET', YES, e.y), e.p .. (e.n and ' named' or '')
  if kept and string.find('|' .. kept .. '|', '|' .. said .. '|', 1, true) then return end
  redis.call('HSET', YES, e.y, (kept and kept .. '|' or '') .. said)
end

-- Of several quotes the one that ends last, or has no end, decides from when on people may call the payout not paid.
local function keepLaterEnd(p, e)
  local ends, otherEnds = tonumber(get(p, 'x') or '0'), tonumber(e.x) or 0
  set(p, 'x', (ends == 0 or otherEnds == 0) and 0 or math.max(ends, otherEnds))
  set(p, 'aa', math.max(tonumber(get(p, 'aa') or '0'), tonumber(e.t)))
end

local function restore(e)
  ensureRun(e)
  if isPurged(e.r) then return end
  local p = load(e.r, e.l)
  local isApart = wasMissing or (p and isOfLate(p))
  if p and isKnown(e, p, isApart) then return noteForgotten(e, p) end
  local quote = p and get(p, 'q')
  local counter = p and tonumber(get(p, 'ct') or '0')
  local isLost = p and p.state == 'held' and get(p, 'rc') == 'E_DIR_LOST'
  local hasOther = quote and quote ~= e.q
  local isPaid = p and PAID[p.state] == true
  if isPaid and not hasOther then
    set(p, 'ct', math.max(e.c, counter))
    return save(p)
  end
  -- Lines of one directory follow each other by their counters.
  local isOwn = hasOther and redis.call('HGET', YES, 'late ' .. quote) == ARGV[1]
  if isOwn and e.c <= counter then return noteForgotten(e, p) end
  local saidYes = hasOther and redis.call('HEXISTS', YES, quote) == 1
  -- One that was held for a breach was never armed again: a line with another quote is of another time.
  local isBreach = p and p.state == 'held' and get(p, 'rc') == 'E_BREACH'
  if hasOther and (isPaid or isBreach or saidYes or (isApart and not isOwn)) and not (isLost and e.c > counter) then
    noteQuote(p, e.q)
    set(p, 'ct', math.max(e.c, counter))
    keepLaterEnd(p, e)
    set(p, 'rc', 'E_BREACH')
    set(p, 'rs', 'the quote ' .. e.q .. ' was armed too, by what this Redis does not know')
    set(p, 'pr', 0)
    redis.call('HSETNX', quotesKey(e.q), e.q, e.r .. '-' .. e.l)
    local isHeld = p.state == 'held'
    if hasGivenReferenceFree(p) then claimReference(e, p) end
    if not isHeld then enter(p, 'held', 'breach', at) end
    save(p, not isHeld and at or nil)
    redis.call('HINCRBY', HEAD, 'restored', 1)
    return
  end
  if hasOther then noteQuote(p, quote) end
  p = p or { run = e.r, line = e.l, record = { 0, LETTER.unknown, 0, {} } }
  set(p, 'q', e.q)
  if quote and (p.state == 'held' or get(p, 'rc') == 'E_BREACH') then keepLaterEnd(p, e)
  else
    set(p, 'x', tonumber(e.x) or 0)
    set(p, 'aa', tonumber(e.t))
  end
  set(p, 'ct', e.c)
  set(p, 'by', e.o)
  set(p, 'cf', e.f)
  set(p, 'at', tonumber(e.k))
  for _, name in ipairs({ 'nf', 'lu', 'ql' }) do set(p, name, 0) end
  if quote ~= e.q then
    set(p, 'qn', tonumber(get(p, 'qn') or '0') + 1)
    set(p, 'z2', 0)
  end
  redis.call('HSETNX', quotesKey(e.q), e.q, e.r .. '-' .. e.l)
  if wasMissing then redis.call('HSET', YES, 'late ' .. e.q, ARGV[1]) end
  local said = redis.call('HGET', YES, e.q)
  for one in string.gmatch((said or '') .. (said and '|' or ''), '([^|]*)|') do
    noteYes(p, e.q, string.match(one, '^%S*'), string.find(one, ' named$'))
  end
  claimReference(e, p)
  reopen(e.r)
  if e.m then countFor(p, e.m) end
  -- What people gave up since may be paid by hand: it is not sent again without them.
  if p.state == 'cancelled' or p.state == 'rejected' then set(p, 'gu', 1) end
  if not isLost then enter(p, 'unknown', 'restored from an intent log', at) end
  save(p, at)
  redis.call('HINCRBY', HEAD, 'restored', 1)
end

local function isInDoubt(state)
  return state == 'armed' or state == 'quoted' or state == 'unknown' or state == 'held'
end

-- Whether a payment was found after the payout had come to nothing, as it still has in this ledger.
local function overturns(e, p) return e.o and text(e.o) == get(p, 'st') end

-- The service said yes to a quote that the payout left behind as proven dead: people have to know before it is sent again, once.
local function holdLeftBehind(p, e)
  local isTold = wasFound(p.run, e.y) and p.state ~= 'unknown' and not overturns(e, p)
  if isTold or (get(p, 'pid') or get(p, 'q')) == e.p then return end
  if not redis.call('LPOS', besideKey(p.run), p.line .. ' ' .. e.y) then noteQuote(p, e.y) end
  if not get(p, 'q') then
    set(p, 'q', e.y)
    noteYes(p, e.y, e.p, e.n)
  end
  if e.h and hasGivenReferenceFree(p) then claimReference(e, p) end
  local isHeld = p.state == 'held'
  if not isHeld then enter(p, 'held', 'breach', at) end
  set(p, 'rc', 'E_BREACH')
  set(p, 'rs', 'the service said yes to the quote ' .. e.y .. ', which the payout left behind')
  set(p, 'pr', 0)
  noteFound(p.run, e.y)
  redis.call('HINCRBY', HEAD, 'restored', 1)
  save(p, not isHeld and at or nil)
end

-- A rejection against which the service said yes is a doubt. The line of a quote that is not known yet may come later, from
-- another process or directory.
local function restoreAnswer(e)
  local owner = redis.call('HGET', quotesKey(e.y), e.y)
  local run, line = string.match(owner or '', '^(.*)%-(%d+)$')
  local p = run and load(run, line)
  -- The payment of another quote of the payout says nothing of the service.
  local isOfOther = p and redis.call('HGET', quotesKey(e.p), e.p) == owner and (get(p, 'pid') ~= e.p or isFormerQuote(p, e.p))
  if e.p ~= '' and e.p ~= e.y and not isOfOther and not e.n then disprove('payment-id-is-quote-id', 'quote ' .. e.y) end
  if not p or get(p, 'q') ~= e.y then
    keepAnswer(e)
    return p and holdLeftBehind(p, e)
  end
  -- People who rejected it may have known of a yes that named no payment.
  local isTold = wasFound(p.run, e.y) or (e.p == '' and get(p, 'z2'))
  local isRejected = p.state == 'rejected' and (not isTold or overturns(e, p))
  if not isInDoubt(p.state) and not isRejected then
    -- People named another payment for it, which this Redis forgot.
    if e.n and e.p ~= e.y and get(p, 'pid') ~= e.p then leaveBeside(p, e.p) end
    return
  end
  -- A later attempt with the same quote is compared after it, perhaps by another directory.
  keepAnswer(e)
  noteYes(p, e.y, e.p, e.n)
  if isRejected then
    if e.h and hasGivenReferenceFree(p) then claimReference(e, p) end
    enter(p, 'held', 'breach', at)
    set(p, 'rc', 'E_BREACH')
    set(p, 'rs', 'the service said yes to the quote ' .. e.y .. ', whose payment was rejected')
    if e.p ~= '' then noteFound(p.run, e.y) end
    redis.call('HINCRBY', HEAD, 'restored', 1)
  end
  save(p, isRejected and at or nil)
end

-- All have compared. A lost host may still come back with the line of a quote that nobody knows yet.
local function forgetAnswers()
  if not mayHaveLost() then return redis.call('UNLINK', YES) end
  for _, quote in ipairs(redis.call('HKEYS', YES)) do
    if redis.call('HEXISTS', quotesKey(quote), quote) == 1 or string.find(quote, '^late ') then redis.call('HDEL', YES, quote) end
  end
end

local highest = math.max(tonumber(redis.call('HGET', HEAD, 'armings') or '0'), tonumber(ARGV[6]))
for _, e in ipairs(cjson.decode(ARGV[4])) do
  if e.y then restoreAnswer(e)
  else
    restore(e)
    if e.c > highest then highest = e.c end
  end
end
redis.call('HSET', HEAD, 'armings', highest)
if ARGV[3] ~= '1' then return { 'compared', 0 } end

local restored = tonumber(redis.call('HGET', HEAD, 'restored') or '0')
if restored > 0 then
  local there = redis.call('HGET', HEAD, 'halt')
  redis.call('HSET', HEAD, 'halt', (there and there .. '; ' or '')
    .. 'Redis went back in time; ' .. restored .. ' payouts were restored as unknown or held')
  redis.call('HDEL', HEAD, 'restored', 'releaseBy', 'releaseSeal')
  for _, run in ipairs(redis.call('SMEMBERS', LIVE)) do
    if goesOn(run) then pauseRun(run, 'Redis went back in time') end
  end
end
if ARGV[1] ~= '' then
  notePeers(ARGV[1], cjson.decode(ARGV[5]))
  local strangers = strangersOf(ARGV[1], server)
  if #strangers > 0 then return { 'unnoted', restored, unpack(strangers) } end
  redis.call('HSET', DIRS, ARGV[1], server)
  -- It is back: what people agreed on does not hold.
  redis.call('HDEL', HEAD, 'writeOff:' .. ARGV[1], 'late:' .. ARGV[1])
end
for _, compared in ipairs(redis.call('HVALS', DIRS)) do
  if compared ~= server then return { 'compared', restored } end
end
openSeason(server)
forgetAnswers()
return { 'open', restored }
`;
