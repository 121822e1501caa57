import { FREE_STATES } from '../../payout.ts';
import { LINES_PER_BLOCK } from '../keys.ts';
import { PLACES, STATE_LETTERS } from '../payouts/stored.ts';

/** In Lua the first element is 1, and the values come after version, state, due and history. */
const FIRST_PLACE = 5;

const places = PLACES.map((name, index) => `['${name}'] = ${index + FIRST_PLACE}`);
const letters = Object.entries(STATE_LETTERS).map(([state, letter]) => `${state} = '${letter}'`);

/**
 * Reads and writes records in a script: for what has to be one act with the season, and happens only after Redis went back. All
 * else is decided before (decide.ts). Stands below LUA_PRELUDE.
 */
export const LUA_RECORDS = `
local FREE = { ${FREE_STATES.map((state) => `${state} = true`).join(', ')} }
local PLACE = { ${places.join(', ')} }
local LETTER = { ${letters.join(', ')} }
local STATE = {}
for state, letter in pairs(LETTER) do STATE[letter] = state end

local function blockOf(line) return math.floor(tonumber(line) / ${LINES_PER_BLOCK}) end

-- A value of a record, as text; nil where it is absent.
local function get(p, name)
  local value = p.record[PLACE[name]]
  if value == nil or value == 0 then return nil end
  return type(value) == 'number' and text(value) or value
end

local function set(p, name, value)
  while #p.record < PLACE[name] do p.record[#p.record + 1] = 0 end
  p.record[PLACE[name]] = value
end

-- The record of a line, or nil.
local function load(run, line)
  local found = redis.call('HGET', rowsKey(run, blockOf(line)), line)
  if not found then return nil end
  local record = cjson.decode(found)
  return { run = run, line = line, record = record, state = STATE[record[2]] }
end

local function outcomeField(p, state)
  return 'm:' .. (get(p, get(p, 'typ') == 'S' and 'src' or 'dst') or '') .. ':' .. OUTCOME[state]
end

-- Writes the record, and makes the payout due at a time unless that is nil.
local function save(p, dueAt)
  p.record[1] = p.record[1] + 1
  if dueAt then
    p.record[3] = dueAt
    redis.call('ZADD', p.state == 'accepted' and TRACKED or DUE, 'LT', text(dueAt), p.run .. ':' .. blockOf(p.line))
  end
  local key = rowsKey(p.run, blockOf(p.line))
  redis.call('HSET', key, p.line, cjson.encode(p.record), 'v', text(tonumber(redis.call('HGET', key, 'v') or '0') + 1))
end

-- Puts the payout into a state, with a step of its history. The caller saves it.
local function enter(p, to, reason, at)
  redis.call('SETRANGE', statesKey(p.run), p.line, LETTER[to])
  if p.state then
    redis.call('HINCRBY', runKey(p.run), 'n:' .. p.state, -1)
    if get(p, 'amt') then redis.call('HINCRBY', runKey(p.run), outcomeField(p, p.state), '-' .. get(p, 'amt')) end
  end
  redis.call('HINCRBY', runKey(p.run), 'n:' .. to, 1)
  if get(p, 'amt') then redis.call('HINCRBY', runKey(p.run), outcomeField(p, to), get(p, 'amt')) end
  redis.call('HINCRBY', runKey(p.run), 'changes', 1)
  local last = 0
  for _, step in ipairs(p.record[4]) do last = last + step[2] end
  table.insert(p.record[4], { LETTER[to], at - last, 'season', reason })
  p.record[2] = LETTER[to]
  p.state = to
  if get(p, 'pr') then set(p, 'pr', 0) end
end

-- A quote that is not the payout's present one: it is looked up at each decision and at the run's end, also where that is past.
local function noteQuote(p, quote)
  redis.call('RPUSH', besideKey(p.run), p.line .. ' ' .. quote)
  redis.call('HDEL', runKey(p.run), 'deadQuotesFound')
  redis.call('SADD', LIVE, p.run)
end

-- Whether an id is that of a quote which the payout left behind.
local function isFormerQuote(p, id)
  for _, list in ipairs({ deadKey(p.run), besideKey(p.run) }) do
    if redis.call('LPOS', list, p.line .. ' ' .. id) then return true end
  end
  return false
end

local function leaveBeside(p, id)
  if not isFormerQuote(p, id) then noteQuote(p, id) end
end
`;
