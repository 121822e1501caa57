import { LUA_PRELUDE } from './prelude.ts';

/**
 * The end of the audit log, Redis's time, and which ledger it is.
 *
 * KEYS[1] prefix
 * Returns [number of entries, last line or '', time, instance or '', service or '', the lost ledger that it was adopted for or '',
 * the act that waits for longest or ''].
 */
export const LOOK_AUDIT = `${LUA_PRELUDE}
local head = redis.call('HMGET', HEAD, 'instance', 'service', 'adopted')
return { redis.call('LLEN', AUDIT), redis.call('LINDEX', AUDIT, -1) or '', text(now()), head[1] or '', head[2] or '',
  head[3] or '', redis.call('LINDEX', AUDIT_WAITING, 0) or '' }
`;

/**
 * Appends a line to the audit log, if the log still ends as its writer saw it. A second run of the same call, whose first
 * reply was lost, appends nothing and answers as the first one did.
 *
 * KEYS[1] prefix
 * ARGV[1] number of entries and ARGV[2] hash of the last one as the writer saw them; ARGV[3] line; ARGV[4] the act that waited
 *   and that the line records, or ''
 * Returns 1 when the line is in the log in its place, else 0.
 */
export const APPEND_AUDIT = `${LUA_PRELUDE}
local count = redis.call('LLEN', AUDIT)
local last = redis.call('LINDEX', AUDIT, -1)
local isEnd = text(count) == ARGV[1] and (not last or string.sub(last, 1, 64) == ARGV[2])
if isEnd and (ARGV[4] == '' or redis.call('LREM', AUDIT_WAITING, 1, ARGV[4]) == 1) then
  redis.call('RPUSH', AUDIT, ARGV[3])
  return 1
end
return redis.call('LINDEX', AUDIT, ARGV[1]) == ARGV[3] and 1 or 0
`;

/**
 * Notes that the loss of entries was said of this very server.
 *
 * KEYS[1] prefix; ARGV[1] server; ARGV[2...] hashes of entries
 * Returns 1, or 0 on another server.
 */
export const NOTE_LOST = `${LUA_PRELUDE}
if serverNow() ~= ARGV[1] then return 0 end
redis.call('SADD', P .. ':missed', unpack(ARGV, 2))
return 1
`;
