import type { Redis } from 'ioredis';
import type { LedgerKeys } from './keys.ts';

/** The names that programs gave to their handings in, and what each of them was for. */
export interface Submissions {
  /** Notes what a name is for, once and for ever, and gives that: the same as was given, or what came first. */
  claim(name: string, contentSha256: string): Promise<string>;
}

export function openSubmissions(redis: Redis, keys: LedgerKeys): Submissions {
  return {
    async claim(name, contentSha256) {
      await redis.hsetnx(keys.submissions, name, contentSha256);
      return (await redis.hget(keys.submissions, name)) ?? contentSha256;
    },
  };
}
