import { JOB_NAMES } from './catalog.ts';
import type { JobQueues } from './open.ts';

/** After a worker died, another one gets its job within LOCK_MS and STALLED_EVERY_MS. */
export const LOCK_MS = 8000;
export const STALLED_EVERY_MS = 4000;

/**
 * Gives the locks of all jobs their usual length, after the clock of Redis stepped back: by that clock, a dead worker's locks would
 * keep its jobs for as long as the step. A living worker renews its own.
 */
export async function shortenLocks({ redis, prefix }: Pick<JobQueues, 'redis' | 'prefix'>): Promise<void> {
  for (const name of JOB_NAMES) {
    const key = (what: string): string => `${prefix}:${name}:${what}`;
    await redis.pexpire(key('stalled-check'), STALLED_EVERY_MS);
    for (const id of await redis.lrange(key('active'), 0, -1)) await redis.pexpire(key(`${id}:lock`), LOCK_MS);
  }
}
