import type { Config } from '../../config/config.ts';
import type { LedgerState } from '../../ledger/season/ledger-state.ts';
import { readAddress } from '../../redis/address.ts';
import { hadPrivateRedis } from '../../redis/private-place.ts';
import { Refusal, withSteps } from '../../refusal.ts';

type Place = Pick<Config, 'redisUrl' | 'prefix' | 'dataDir'>;

/** Where a ledger is, for people: its data directory, or its keys and the server without a password. */
export function placeOf({ redisUrl, prefix, dataDir }: Place): string {
  return redisUrl === undefined ? dataDir : `${prefix} on Redis at ${readAddress({ url: redisUrl, prefix }).shown}`;
}

export interface Wanted {
  readonly config: Place;
  readonly purpose?: string;
  /** The ledger that the data directory belongs to; empty for a new one. */
  readonly folder: { readonly instance: string };
  /** Whether a ledger is made where there is none. */
  readonly makes: boolean;
}

/**
 * Throws a Refusal where Redis holds no ledger and none is to be made, and for a data directory whose ledger is in
 * its private Redis while REDIS_URL names another one.
 */
export async function requireLedger(head: Pick<LedgerState, 'read'>, wanted: Wanted): Promise<void> {
  const { folder, makes, config } = wanted;
  if ((await head.read()).instance !== '') return;
  if (folder.instance === '' && !makes) throw refuseNoLedger(wanted);
  if (folder.instance !== '' && config.redisUrl !== undefined && hadPrivateRedis(config.dataDir)) {
    throw new Refusal(
      `The ledger of ${config.dataDir} is in its private Redis, and REDIS_URL names another Redis.`,
      'To start a ledger there, set PAYRUN_DATA_DIR to another folder. To use the ledger of this one, unset REDIS_URL.',
    );
  }
}

/** For a command that finds no ledger where its settings lead; `purpose` is what it is for, as a verb. */
export function refuseNoLedger({ config, purpose = 'look at' }: { config: Place; purpose?: string }): Refusal {
  return new Refusal(
    `There is no ledger in ${placeOf(config)}: nothing to ${purpose}.`,
    withSteps`Load the settings that payrun runs with. For the first start: ${{ to: 'make-ledger' }}.`,
  );
}
