import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LedgerKeys } from './keys.ts';

const sessionSchema = z.object({
  name: z.string(),
  /** The user's when the session began; when it is another one by now, the session is over. */
  epoch: z.int(),
  csrf: z.string(),
  createdAt: z.int(),
  seenAt: z.int(),
  /** When the person last proved with the password who they are. */
  reauthAt: z.int(),
});
export type StoredSession = Readonly<z.infer<typeof sessionSchema>>;

/** Sessions by the SHA-256 of their id, which is nowhere stored; each is gone by itself after the time it is given. */
export interface Sessions {
  start(hash: string, session: StoredSession, lifeMs: number): Promise<void>;
  read(hash: string): Promise<StoredSession | undefined>;
  /** Writes a session that is still there. */
  touch(hash: string, session: StoredSession, lifeMs: number): Promise<void>;
  /** True for whoever ended it, when there was one. */
  end(hash: string): Promise<boolean>;
}

export function openSessions(redis: Redis, keys: LedgerKeys): Sessions {
  return {
    async start(hash, session, lifeMs) {
      await redis.set(keys.session(hash), JSON.stringify(session), 'PX', lifeMs);
    },
    async read(hash) {
      const text = await redis.get(keys.session(hash));
      return text === null ? undefined : sessionSchema.parse(JSON.parse(text));
    },
    async touch(hash, session, lifeMs) {
      await redis.set(keys.session(hash), JSON.stringify(session), 'PX', lifeMs, 'XX');
    },
    async end(hash) {
      return (await redis.del(keys.session(hash))) === 1;
    },
  };
}
