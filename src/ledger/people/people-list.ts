import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { Refusal, withSteps } from '../../refusal.ts';
import type { LedgerKeys } from '../keys.ts';
import { redisTime } from '../script.ts';
import { type Seals, type SealVerdict, UNKNOWN_KEY } from '../seals.ts';
import type { SeenVersions } from './seen-versions.ts';

/** Users, keys of programs and what is proposed of them, by the fields in which they are kept. */
export interface PeopleList {
  /** Goes up with each change. */
  readonly version: number;
  readonly entries: ReadonlyMap<string, string>;
}

interface Stored extends PeopleList {
  readonly seal: string;
  readonly verdict: SealVerdict;
}

export interface PeopleSealing {
  readonly seals: Pick<Seals, 'people' | 'judgePeople'>;
  readonly halt: (reason: string) => Promise<void>;
  readonly seen: SeenVersions;
}

/**
 * The list is sealed as a whole, with its version: a former record of somebody, or one that is missing, is noticed. So is a former
 * list with its seal, by who has seen a later one.
 */
export interface SealedPeopleList {
  /** As Redis has it now. Throws a Refusal (unavailable) where its seal is not true; a false one halts everything. */
  read(): Promise<PeopleList>;
  /** The same; as long as nobody changed it, what was read before. */
  recent(): Promise<PeopleList>;
  /** As it stands, whatever its seal says. */
  stored(): Promise<PeopleList>;
  /** The same; as long as nobody changed it, what was read before. */
  recentlyStored(): Promise<PeopleList>;
  /** What a change of the list writes, with the seal; '' removes. */
  sealed(before: PeopleList, fields: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** Of the list as it stands. */
  digest(): Promise<string>;
  /** Seals the list as it stands, on the word of people who saw this digest of it, where its seal is false. */
  sealAsItStands(digest: string): Promise<void>;
}

/** Why everything is halted, as the halt says it. */
export const PEOPLE_CHANGED = 'the users and keys of programs were changed in Redis by something else than payrun';

export function openPeopleList(redis: Redis, keys: LedgerKeys, { seals, halt, seen }: PeopleSealing): SealedPeopleList {
  let known: Stored | undefined;

  async function stored(): Promise<Stored> {
    const { version: text, seal = '', 'last-call': _call, ...fields } = await redis.hgetall(keys.people);
    const version = versionOf(text);
    const entries = new Map(Object.entries(fields));
    const isNew = seal === '' && version === 0 && entries.size === 0;
    const isFormer = version < seen.highest('people');
    const verdict = isFormer ? 'false' : isNew ? 'true' : seals.judgePeople(seal, version, entries);
    return { version, seal, entries, verdict };
  }

  async function recentlyStored(): Promise<Stored> {
    const [version, seal] = await redis.hmget(keys.people, 'version', 'seal');
    if (known === undefined || known.version !== versionOf(version) || known.seal !== (seal ?? ''))
      return await stored();
    return known;
  }

  async function believe(list: Stored): Promise<Stored> {
    if (list.verdict === 'false') await halt(PEOPLE_CHANGED);
    if (list.verdict !== 'true') throw refuse(list.verdict);
    await seen.saw('people', list.version);
    known = list;
    return list;
  }

  return {
    stored,
    recentlyStored,
    read: async () => await believe(await stored()),
    recent: async () => await believe(await recentlyStored()),
    sealed({ version, entries }, fields) {
      const next = new Map(
        Object.entries({ ...Object.fromEntries(entries), ...fields }).filter(([, text]) => text !== ''),
      );
      return { ...fields, seal: seals.people(version + 1, next) };
    },
    digest: async () => digestOfEntries((await stored()).entries),
    async sealAsItStands(digest) {
      const { version, entries, verdict } = await stored();
      if (verdict !== 'false' || digestOfEntries(entries) !== digest) return;
      // Above any version that anybody has seen.
      const next = Math.max(version, await redisTime(redis));
      await redis.hset(keys.people, { version: next, seal: seals.people(next, entries) });
    },
  };
}

/** SHA-256 of a list's entries, whatever their order. */
export function digestOfEntries(entries: ReadonlyMap<string, string>): string {
  const sorted = [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted), 'hex');
}

function versionOf(text: string | null | undefined): number {
  return z.coerce.number().parse(text ?? 0);
}

function refuse(verdict: Exclude<SealVerdict, 'true'>): Refusal {
  if (verdict === 'unknown-key') {
    return new Refusal(
      `Nobody can be let in: of the users and keys of programs, ${UNKNOWN_KEY}.`,
      'Tell whoever runs payrun. Nothing was changed.',
      { kind: 'unavailable' },
    );
  }
  return new Refusal(
    `Nobody is let in, for ${PEOPLE_CHANGED}.`,
    withSteps`Everything is halted. Compare ${{ to: 'see-users' }} and ${{ to: 'see-keys' }} with what you know; when two people release the halt, the lists hold as they stand.`,
    { kind: 'unavailable' },
  );
}
