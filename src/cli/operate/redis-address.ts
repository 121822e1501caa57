import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { RedisAddress } from '../../redis/connect.ts';
import { openPrivateRedis } from '../../redis/private-redis.ts';
import { say } from '../print.ts';

/** Where Redis is: as configured, else the private one, which is started; `closing` is told how it is stopped. */
export async function openAddress(
  { redisUrl, prefix, dataDir }: Config,
  closing: (() => Promise<void>)[],
): Promise<RedisAddress> {
  if (redisUrl !== undefined) return { url: redisUrl, prefix };
  const server = await openPrivateRedis(dataDir, { clock: systemClock, report: say });
  closing.push(() => server.close());
  return { socket: server.socket };
}
