import { BENEFICIARY_HASH_CHARACTERS, LIKELY_PERIOD_MS } from '../keys.ts';
import { LUA_PRELUDE } from './prelude.ts';

/**
 * What the ledger knows of rows that are to be recorded, or may be; it writes nothing.
 *
 * KEYS[1] prefix
 * ARGV[1] run id, or ''; ARGV[2...] of each row: its line, hash of the folded reference, hash of what a likely duplicate has in
 *         common with it, periods to look back for one, beneficiary; each may be ''
 * Returns [time, 1 in an open season | 0, state of the run, whether it is doubted, purged, recorded to its last line, and has all of its
 *         rows ('1' or ''), rows]: of each row [record, payouts that have the reference, with blanks between them, period, payout
 *         that is like it in this period, and those of the periods before it, the latest first, '1' for a blocked beneficiary, for one to whom something was paid, for a row
 *         that was given up, payouts that have the reference or had it before people allowed another one]; '' for none.
 */
export const READ_CLAIMS = `${LUA_PRELUDE}
local run, at = ARGV[1], now()
local hasBlocked = redis.call('EXISTS', BLOCKED) == 1
local paid = {}
local function wasPaid(id)
  if paid[id] == nil then
    local hash = string.sub(redis.sha1hex(id), 1, ${BENEFICIARY_HASH_CHARACTERS})
    paid[id] = redis.call('HEXISTS', paidKey(hash), hash) == 1
  end
  return paid[id]
end
local function flag(is) return is and '1' or '' end

-- In another file than the one that was lost the lines may be those of other rows: all of them count as given up.
local givesAllUp = false
if run ~= '' and redis.call('HEXISTS', runKey(run), 'otherFile') == 1 then
  for _, field in ipairs(redis.call('HKEYS', runKey(run))) do givesAllUp = givesAllUp or string.find(field, '^gaveUp:') ~= nil end
end
-- A pause gives nothing up.
givesAllUp = givesAllUp or (redis.call('HGET', STOPS_AHEAD, run) or 'run.paused') ~= 'run.paused'
local function isGivenUp(line)
  return givesAllUp or redis.call('HEXISTS', runKey(run), 'gaveUp:' .. line) == 1 or redis.call('HEXISTS', STOPS_AHEAD, run .. '-' .. line) == 1
end

local rows = {}
for i = 2, #ARGV, 5 do
  local line, reference, likely, periods, beneficiary = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local holders = reference ~= '' and redis.call('HMGET', referencesKey(reference), reference, reference .. '+') or {}
  local period, same, before = '', false, {}
  if likely ~= '' then
    local now = math.floor(at / ${LIKELY_PERIOD_MS})
    same = redis.call('HGET', likelyKey(now, likely), likely)
    for back = 1, tonumber(periods) do
      before[#before + 1] = redis.call('HGET', likelyKey(now - back, likely), likely) or nil
    end
    period = text(now)
  end
  rows[#rows + 1] = {
    run ~= '' and redis.call('HGET', rowsKey(run, math.floor(tonumber(line) / 100)), line) or '', holders[1] or '', period,
    same or '', table.concat(before, ' '),
    flag(beneficiary ~= '' and hasBlocked and redis.call('HEXISTS', BLOCKED, beneficiary) == 1),
    flag(beneficiary ~= '' and wasPaid(beneficiary)),
    flag(run ~= '' and isGivenUp(line)),
    (holders[1] or '') .. ' ' .. (holders[2] or ''),
  }
end
local f = run ~= '' and redis.call('HMGET', runKey(run), 'state', 'doubted', 'purgedAt', 'lastLine') or {}
local isOpen = redis.call('HGET', HEAD, 'season') == serverNow()
return { text(at), isOpen and 1 or 0, f[1] or '', flag(f[2]), flag(f[3]), flag(f[4]), flag(run ~= '' and hasAllRows(run)), rows }
`;
