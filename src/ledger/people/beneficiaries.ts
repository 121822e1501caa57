import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { BENEFICIARY_HASH_CHARACTERS, type LedgerKeys, paidKey } from '../keys.ts';

/** To whom something was paid from this ledger. */
export interface Beneficiaries {
  /** Those of the identity ids to whom no payment was ever accepted. */
  neverPaid(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

export function openBeneficiaries(redis: Redis, { prefix }: LedgerKeys): Beneficiaries {
  return {
    async neverPaid(ids) {
      const paid = await Promise.all(
        ids.map((id) => {
          const hash = createHash('sha1').update(id).digest('hex').slice(0, BENEFICIARY_HASH_CHARACTERS);
          return redis.hexists(paidKey(prefix, hash), hash);
        }),
      );
      return new Set(ids.filter((_id, index) => paid[index] === 0));
    },
  };
}
