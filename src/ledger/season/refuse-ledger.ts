import type { Redis } from 'ioredis';
import { Refusal, withSteps } from '../../refusal.ts';

/**
 * Version of the ledger's layout. An older payrun refuses a ledger of a newer one. This one refuses an older one: it has no list of
 * known payments, without which too little is asked before a quote is proven dead.
 */
export const SCHEMA_VERSION = 6;
export const SCHEMA_VERSION_MIN = 6;

/** A key of its own name, outside all prefixes: set with the first ledger, so that further ones may join it. */
const DATABASE_MARK = 'payrun-database';

/** Refuses a database that holds something and no ledger: nothing is ever written to a Redis that is not ours. */
export async function requireOurs(redis: Redis, head: string): Promise<void> {
  const type = await redis.type(head);
  if (type === 'hash' && (await redis.hexists(head, 'instance')) === 1) return;
  const isFree = type === 'none';
  // The mark is looked for last: another process may make the first ledger meanwhile, and the mark comes with it.
  if (isFree && ((await redis.dbsize()) === 0 || (await redis.exists(DATABASE_MARK)) === 1)) return;
  throw new Refusal(
    isFree ? "This Redis database holds data that is not payrun's." : `The key ${head} in this Redis is not payrun's.`,
    'Give payrun a database of its own, for example redis://host:6379/1; nothing was written.',
  );
}

/** Why the ledger cannot be opened, of the word that the ledger answered with. */
export function refuseHead(result: string, about: { found: string; service: string; safety: string }): Refusal {
  switch (result) {
    case 'gone':
      return new Refusal(
        'The data directory belongs to a ledger that this Redis does not hold.',
        withSteps`Point REDIS_URL to the Redis that holds it, or restore that Redis; nothing was written. If it is gone for good: ${{ to: 'adopt-ledger' }}.`,
      );
    case 'other-instance':
      return new Refusal(
        'The data directory belongs to another ledger than the one in this Redis.',
        'Use the data directory and the Redis that belong together; nothing was written.',
      );
    case 'newer':
      return new Refusal(
        `The ledger was written by a newer payrun (layout ${about.found}, this one knows ${SCHEMA_VERSION}).`,
        'Use the newer payrun.',
      );
    case 'older':
      return new Refusal(
        `The ledger was written by an older payrun (layout ${about.found}; this one needs ${SCHEMA_VERSION_MIN} at least).`,
        'Let the payrun that made it finish its runs, and give this one a prefix of its own (PAYRUN_PREFIX) or an empty Redis; nothing was written.',
      );
    case 'other-service':
      return new Refusal(
        `The ledger belongs to another service: ${about.found}. This process is set to ${about.service}.`,
        'Correct the settings of this process. If those of the ledger are wrong, as after a typing error before the first payment, begin a new ledger: set PAYRUN_DATA_DIR to an empty folder, and PAYRUN_PREFIX to another prefix where REDIS_URL is set.',
      );
    default:
      return new Refusal(
        `The ledger was opened with other safety settings.\n  ledger:       ${about.found}\n  this process: ${about.safety}`,
        withSteps`Start every process with the same settings, or change the ledger's with ${{ to: 'adopt-settings' }} while no worker runs.`,
      );
  }
}
