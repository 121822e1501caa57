import { LUA_KEYS } from '../keys.ts';

/**
 * Reads payouts, and beside them what every step has to know.
 *
 * KEYS[1] prefix
 * ARGV    run id and line of each payout, one after the other
 * Returns [wait ms, halt or '', disproved capabilities, time, payouts, arming counter]; the payouts are JSON: each is its hash as
 * a flat array of names and values, or false. One text is read far faster than as many replies.
 */
export const READ = `${LUA_KEYS}
local payouts = {}
for i = 1, #ARGV, 2 do
  local fields = redis.call('HGETALL', payoutKey(ARGV[i], ARGV[i + 1]))
  payouts[#payouts + 1] = #fields > 0 and fields
end
local head = redis.call('HMGET', HEAD, 'halt', 'disproved', 'armings')
local t = redis.call('TIME')
return { math.max(0, redis.call('PTTL', WAIT)), head[1] or '', head[2] or '',
  string.format('%.0f', tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)), cjson.encode(payouts), head[3] or '0' }
`;

/**
 * What payouts are searched by, which never changes.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] first line; ARGV[3] last line
 * Returns line, beneficiary, amount in minor units, its currency and reference of each payout, with tabs between them and line
 * feeds after them. No value of a row holds either.
 */
export const ROW_TEXTS = `${LUA_KEYS}
local texts = {}
for line = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  local name = string.format('%d', line)
  local f = redis.call('HMGET', payoutKey(ARGV[1], name), 'rh', 'ben', 'amt', 'typ', 'src', 'dst', 'ref')
  if f[1] and f[2] and f[3] and f[7] then
    local currency = f[4] == 'S' and f[5] or f[6]
    texts[#texts + 1] = table.concat({ name, f[2], f[3], currency, f[7] }, '\\t') .. '\\n'
  end
end
return table.concat(texts)
`;

/**
 * The seals of a run's rows.
 *
 * KEYS[1] prefix; ARGV[1] run id; ARGV[2] first line; ARGV[3] last line
 * Returns line and seal of each row that has one, with blanks between them and line feeds after them.
 */
export const ROW_SEALS = `${LUA_KEYS}
local texts = {}
for line = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  local name = string.format('%d', line)
  local seal = redis.call('HGET', payoutKey(ARGV[1], name), 'rh')
  if seal then texts[#texts + 1] = name .. ' ' .. seal .. '\\n' end
end
return table.concat(texts)
`;
