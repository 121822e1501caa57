import type { Redis } from 'ioredis';
import type { TokenStore } from '../../service/token.ts';

/**
 * Keys: the lock. Args: who takes it, milliseconds. Returns 1 when that owner has it now, 0 when somebody else does. A
 * second run by the same owner (a command sent again after a lost reply) gives 1 again.
 */
const LOCK = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0
`;

/**
 * Keys: the lock. Args: who gives it back. Deletes the lock only while that owner still has it, so that an asker who was
 * stopped past the end of its lock never takes it from the next one. Returns the number of keys deleted.
 */
const UNLOCK = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;

/** The shared access token in Redis: the sealed token, and who is asking for a new one. Both end by themselves. */
export function openTokenStore(redis: Redis, keys: { readonly token: string; readonly lock: string }): TokenStore {
  return {
    read: () => redis.getBuffer(keys.token),
    async write(sealed, ttlMs) {
      await redis.set(keys.token, Buffer.from(sealed), 'PX', ttlMs);
    },
    async lock(owner, ttlMs) {
      return (await redis.eval(LOCK, 1, keys.lock, owner, ttlMs)) === 1;
    },
    async unlock(owner) {
      await redis.eval(UNLOCK, 1, keys.lock, owner);
    },
  };
}
