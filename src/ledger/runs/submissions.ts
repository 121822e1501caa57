import type { Redis } from 'ioredis';
import type { LedgerKeys } from '../keys.ts';

/** For so long a name is known; the content of a run is known for ever. */
const REMEMBERED_MS = 30 * 24 * 60 * 60_000;

/** The names that programs gave to their handings in, and what each of them was for. */
export interface Submissions {
  /** Notes for 30 days what a name is for, and gives that: the same as was given, or what came first. */
  claim(name: string, contentSha256: string): Promise<string>;
}

export function openSubmissions(redis: Redis, keys: LedgerKeys): Submissions {
  return {
    async claim(name, contentSha256) {
      await redis.set(keys.submission(name), contentSha256, 'PX', REMEMBERED_MS, 'NX');
      return (await redis.get(keys.submission(name))) ?? contentSha256;
    },
  };
}
