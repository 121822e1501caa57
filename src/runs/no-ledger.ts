import type { Config } from '../config.ts';
import { readAddress } from '../redis/address.ts';
import { EXIT, Refusal } from '../refusal.ts';

type Place = Pick<Config, 'redisUrl' | 'prefix' | 'dataDir'>;

/** Where a ledger is, for people: its data directory, or its keys and the server without a password. */
export function placeOf({ redisUrl, prefix, dataDir }: Place): string {
  return redisUrl === undefined ? dataDir : `${prefix} on Redis at ${readAddress({ url: redisUrl, prefix }).shown}`;
}

/** For a command that finds no ledger where its settings lead; `purpose` is what it is for, as a verb. */
export function refuseNoLedger({ config, purpose = 'look at' }: { config: Place; purpose?: string }): Refusal {
  return new Refusal(`There is no ledger in ${placeOf(config)}: nothing to ${purpose}.`, {
    exitCode: EXIT.usage,
    remedy:
      'Load the settings that payrun runs with. "payrun run" makes a ledger, and so does what is given --sandbox; for a service, "payrun worker" and "payrun serve".',
  });
}
