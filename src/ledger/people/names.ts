import type { Redis } from 'ioredis';
import type { ListedName } from '../../access/listed-name.ts';
import type { LedgerKeys } from '../keys.ts';
import { integerOf } from '../script.ts';
import type { Seals } from '../seals.ts';

/** What the payer calls the identities of the service. It is for people to read: only ids decide anything. */
export interface Names {
  /** In one call. Of an id that was never listed there is none. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, ListedName>>;
  /** The same without those that somebody else may have put there, for who decides by them. */
  proven(ids: readonly string[]): Promise<ReadonlyMap<string, ListedName>>;
  /** Notes names by ids in lower case, over those that were there. */
  note(names: ReadonlyMap<string, string>, listedAt: number): Promise<void>;
}

/** Beyond so many, those that were listed before are forgotten. */
const NAMES_MAX = 500_000;
const NAMES_PER_CALL = 1000;

export function openNames(redis: Redis, { names: key }: LedgerKeys, seals: Pick<Seals, 'name' | 'judgeName'>): Names {
  const stored = async (ids: readonly string[]): Promise<Stored[]> => {
    const asked = [...new Set(ids)];
    if (asked.length === 0) return [];
    const texts = await redis.hmget(key, ...asked);
    return asked.flatMap((id, at) => readName(id, texts[at] ?? null));
  };
  return {
    read: async (ids) => new Map((await stored(ids)).map(({ id, listed }) => [id, listed])),
    async proven(ids) {
      const proven = (await stored(ids)).filter(({ id, seal, listed }) => seals.judgeName(seal, id, listed) === 'true');
      return new Map(proven.map(({ id, listed }) => [id, listed]));
    },
    async note(names, listedAt) {
      if ((await redis.hlen(key)) + names.size > NAMES_MAX) await redis.del(key);
      const all = [...names];
      for (let from = 0; from < all.length; from += NAMES_PER_CALL) {
        const part = all.slice(from, from + NAMES_PER_CALL);
        const text = ([id, name]: [string, string]) => `${listedAt} ${seals.name(id, { name, listedAt })} ${name}`;
        await redis.hset(key, ...part.flatMap((one) => [one[0], text(one)]));
      }
    },
  };
}

interface Stored {
  readonly id: string;
  readonly listed: ListedName;
  readonly seal: string;
}

/** An earlier payrun kept no seal. */
function readName(id: string, text: string | null): Stored[] {
  const [, listedAt, seal = '', name] = /^([0-9]{1,15}) (?:([0-9a-f]{8}\.[0-9a-f]{28}) )?(.+)$/s.exec(text ?? '') ?? [];
  return listedAt === undefined || name === undefined
    ? []
    : [{ id, seal, listed: { name, listedAt: integerOf(listedAt) } }];
}
