import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LedgerKeys } from '../keys.ts';
import type { Seals } from '../seals.ts';

const sessionSchema = z.object({
  name: z.string(),
  /** The user's when the session began; when it is another one by now, the session is over. */
  epoch: z.int(),
  csrf: z.string(),
  createdAt: z.int(),
  seenAt: z.int(),
  /** When the person last proved who they are: by password and second factor at first, then by the latter. */
  reauthAt: z.int(),
  /** The second factor has yet to come: nobody is in before. */
  awaitsFactor: z.boolean().default(false),
  /** From where it began, and with which browser. */
  ip: z.string().default(''),
  browser: z.string().default(''),
});
export type StoredSession = Readonly<z.infer<typeof sessionSchema>>;

/** Of one user; whoever begins more ends the oldest. */
const SESSIONS_MAX = 50;
/** Longer than any session lives. */
const INDEX_MS = 24 * 60 * 60_000;

/**
 * Sessions by the SHA-256 of their id, which is nowhere stored; each is gone by itself after the time it is given. One whose
 * seal is not true is none.
 */
export interface Sessions {
  start(hash: string, session: StoredSession, lifeMs: number): Promise<void>;
  read(hash: string): Promise<StoredSession | undefined>;
  /** All of a user that are stored, also those of a former epoch, by their hashes. */
  of(name: string): Promise<ReadonlyMap<string, StoredSession>>;
  /** Writes a session that is still there. */
  touch(hash: string, session: StoredSession, lifeMs: number): Promise<void>;
  /** True for whoever ended it, when there was one. */
  end(hash: string): Promise<boolean>;
}

export function openSessions(redis: Redis, keys: LedgerKeys, seals: Seals): Sessions {
  function written(hash: string, session: StoredSession): string {
    const record = JSON.stringify(session);
    return `${seals.session(hash, record)} ${record}`;
  }

  function readSession(hash: string, text: string | null | undefined): StoredSession | undefined {
    const [seal = '', ...rest] = text?.split(' ') ?? [];
    const record = rest.join(' ');
    return seals.judgeSession(seal, hash, record) === 'true' ? sessionSchema.parse(JSON.parse(record)) : undefined;
  }

  return {
    async start(hash, session, lifeMs) {
      const own = keys.sessionsOf(session.name);
      await redis.set(keys.session(hash), written(hash, session), 'PX', lifeMs);
      await redis.zadd(own, session.seenAt, hash);
      await redis.pexpire(own, INDEX_MS);
      const tooMany = await redis.zrange(own, 0, -1 - SESSIONS_MAX);
      if (tooMany.length === 0) return;
      await redis.del(tooMany.map((old) => keys.session(old)));
      await redis.zrem(own, tooMany);
    },
    async read(hash) {
      return readSession(hash, await redis.get(keys.session(hash)));
    },
    async of(name) {
      const hashes = await redis.zrange(keys.sessionsOf(name), 0, -1);
      const texts = hashes.length === 0 ? [] : await redis.mget(hashes.map((hash) => keys.session(hash)));
      const found = hashes.map((hash, index) => [hash, readSession(hash, texts[index])] as const);
      return new Map(found.flatMap(([hash, session]) => (session === undefined ? [] : [[hash, session]])));
    },
    async touch(hash, session, lifeMs) {
      await redis.set(keys.session(hash), written(hash, session), 'PX', lifeMs, 'XX');
    },
    async end(hash) {
      const session = readSession(hash, await redis.get(keys.session(hash)));
      if (session !== undefined) await redis.zrem(keys.sessionsOf(session.name), hash);
      return (await redis.del(keys.session(hash))) === 1;
    },
  };
}
