import { JOB_NAMES } from './catalog.ts';
import type { JobQueues } from './open.ts';

/** A job of a worker that died is given to another one after this, and at most STALLED_EVERY_MS more. */
export const LOCK_MS = 8000;
export const STALLED_EVERY_MS = 4000;

/**
 * Makes the locks of jobs as long as they are given, after the clock of Redis stepped back: it ends them, so that those of a dead
 * worker would keep its jobs for as long as the step. What lives renews its own.
 */
export async function shortenLocks({ redis, prefix }: Pick<JobQueues, 'redis' | 'prefix'>): Promise<void> {
  for (const name of JOB_NAMES) {
    const key = (what: string): string => `${prefix}:${name}:${what}`;
    await redis.pexpire(key('stalled-check'), STALLED_EVERY_MS);
    for (const id of await redis.lrange(key('active'), 0, -1)) await redis.pexpire(key(`${id}:lock`), LOCK_MS);
  }
}
