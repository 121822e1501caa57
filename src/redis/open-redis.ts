import type { Config } from '../config/config.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { letsAnybodyIn, type RedisAddress } from './connect.ts';

/** A server over the network that asks for no password, as people are told of it. */
export const OPEN_REDIS = 'Redis lets in anybody who reaches it, without a password';
export const OPEN_REDIS_REMEDY =
  'Give each of its users a password, switch the user "default" off (docs/redis.acl), and write ours into REDIS_URL: ' +
  'redis://user:password@host:6379, best in a file that REDIS_URL_FILE names; or let it listen on a socket alone: ' +
  'unix:///path/to/socket.';

/** Prod takes no Redis over the network that lets anybody in; test only says so. Throws a Refusal. */
export async function requirePassword(
  address: RedisAddress,
  { config, log }: { config: Pick<Config, 'service'>; log: Pick<Log, 'warn'> },
): Promise<void> {
  if (!(await letsAnybodyIn(address))) return;
  if (config.service?.environment === 'prod')
    throw new Refusal(`${OPEN_REDIS}; prod does not take it.`, OPEN_REDIS_REMEDY);
  log.warn(`${OPEN_REDIS}. ${OPEN_REDIS_REMEDY}`);
}
