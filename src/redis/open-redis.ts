import { EXIT, Refusal } from '../refusal.ts';

/** A server over the network that asks for no password, as people are told of it. */
export const OPEN_REDIS = 'Redis lets in anybody who reaches it, without a password';
export const OPEN_REDIS_REMEDY =
  'Give each of its users a password, switch the user "default" off (docs/redis.acl), and write ours into REDIS_URL: ' +
  'redis://user:password@host:6379, best in a file that REDIS_URL_FILE names; or let it listen on a socket alone: ' +
  'unix:///path/to/socket.';

/** The refusal (exit 2) of such a server, which prod does not take. */
export function refuseOpenRedis(): Refusal {
  return new Refusal(`${OPEN_REDIS}; prod does not take it.`, { exitCode: EXIT.usage, remedy: OPEN_REDIS_REMEDY });
}
