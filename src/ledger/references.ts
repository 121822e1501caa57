import type { Redis } from 'ioredis';
import { type LedgerKeys, referencesKey } from './keys.ts';

/** Which payouts references stand for. */
export interface References {
  /** The payouts' ids by the references' hashes, in their order; null where there is none. */
  holders(hashes: readonly string[]): Promise<(string | null)[]>;
}

export function openReferences(redis: Redis, { prefix }: LedgerKeys): References {
  return {
    holders: (hashes) => Promise.all(hashes.map((hash) => redis.hget(referencesKey(prefix, hash), hash))),
  };
}
