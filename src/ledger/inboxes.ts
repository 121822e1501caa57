import type { Redis } from 'ioredis';
import type { LedgerKeys } from './keys.ts';

/** The settings under which inboxes were watched last. */
export interface Inboxes {
  /** SHA-256 of the settings, in hex; undefined for an inbox that nobody watched yet. */
  settings(inbox: string): Promise<string | undefined>;
  noteSettings(inbox: string, sha256: string): Promise<void>;
}

export function openInboxes(redis: Redis, keys: LedgerKeys): Inboxes {
  return {
    settings: async (inbox) => (await redis.hget(keys.inboxes, inbox)) ?? undefined,
    async noteSettings(inbox, sha256) {
      await redis.hset(keys.inboxes, inbox, sha256);
    },
  };
}
