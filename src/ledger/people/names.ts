import type { Redis } from 'ioredis';
import type { ListedName } from '../../people/listed-name.ts';
import type { LedgerKeys } from '../keys.ts';
import { integerOf } from '../script.ts';

/** What the payer calls the identities of the service. It is for people to read: only ids decide anything. */
export interface Names {
  /** In one call. Of an id that was never listed there is none. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, ListedName>>;
  /** Notes names by ids in lower case, over those that were there. */
  note(names: ReadonlyMap<string, string>, listedAt: number): Promise<void>;
}

/** Beyond so many, those that were listed before are forgotten. */
const NAMES_MAX = 500_000;
const NAMES_PER_CALL = 1000;

export function openNames(redis: Redis, { names: key }: LedgerKeys): Names {
  return {
    async read(ids) {
      const asked = [...new Set(ids)];
      if (asked.length === 0) return new Map();
      const texts = await redis.hmget(key, ...asked);
      return new Map(asked.flatMap((id, at) => readName(id, texts[at] ?? null)));
    },
    async note(names, listedAt) {
      if ((await redis.hlen(key)) + names.size > NAMES_MAX) await redis.del(key);
      const fields = Array.from(names, ([id, name]) => [id, `${listedAt} ${name}`] as const);
      for (let from = 0; from < fields.length; from += NAMES_PER_CALL) {
        await redis.hset(key, ...fields.slice(from, from + NAMES_PER_CALL).flat());
      }
    },
  };
}

function readName(id: string, text: string | null): (readonly [string, ListedName])[] {
  const [, listedAt, name] = /^([0-9]{1,15}) (.+)$/s.exec(text ?? '') ?? [];
  return listedAt === undefined || name === undefined ? [] : [[id, { name, listedAt: integerOf(listedAt) }]];
}
