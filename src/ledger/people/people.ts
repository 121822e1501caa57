import type { Redis } from 'ioredis';
import { z } from 'zod';
import { KEY_ROLES, ROLES } from '../../access/roles.ts';
import { foldedName, isAnyBehind } from '../../access/same-person.ts';
import { type AuditPlace, openAuditLog } from '../../audit/audit-log.ts';
import { type AuditAct, readEntry } from '../../audit/entry.ts';
import { openAuditStore } from '../audit.ts';
import type { LedgerKeys } from '../keys.ts';
import { LedgerFault, runScript, script, textOf } from '../script.ts';
import { CHANGE_PEOPLE } from '../scripts/people.ts';
import type { Seals } from '../seals.ts';
import { openPeopleList, type PeopleList, type PeopleSealing, type SealedPeopleList } from './people-list.ts';
import { openSessions, type Sessions } from './sessions.ts';
import { openSignIns, type SignIns } from './sign-ins.ts';

const userSchema = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  isDisabled: z.boolean(),
  /** Hash of the password, or of the one-time secret (src/people/password.ts). */
  password: z.string(),
  /** Until when the one-time secret may be used; null once there is a password. */
  secretUntil: z.int().nullable(),
  /** Sessions of another epoch are over. */
  epoch: z.int(),
  addedBy: z.string(),
  addedAt: z.int(),
  /** Who they are at an identity provider; null for whom none has vouched yet. */
  vouched: z.object({ issuer: z.string(), subject: z.string() }).nullable().default(null),
  /** What they prove themselves by beside the password; null for nothing. */
  factor: z
    .object({
      /** Of their authenticator app, sealed (src/people/factor-seal.ts); null for no app. */
      secret: z.string().nullable(),
      passkeys: z
        .array(
          z.object({
            /** As base64url, like the key, which is in the form of COSE. */
            id: z.string(),
            publicKey: z.string(),
            /** How often it was used, as far as it counts: one that goes back is a copy. */
            counter: z.int(),
            since: z.int(),
          }),
        )
        .default([]),
      /** SHA-256 of each recovery code that was not used yet, in hex. */
      recovery: z.array(z.string()),
      since: z.int(),
    })
    .nullable()
    .default(null),
});
export type StoredUser = Readonly<z.infer<typeof userSchema>>;

const keySchema = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(KEY_ROLES),
  /** SHA-256 of the secret, in hex. */
  hash: z.string(),
  createdBy: z.string(),
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
});
export type StoredKey = Readonly<z.infer<typeof keySchema>>;

const proposalSchema = z.object({
  /** `user NAME` or `key NAME`. */
  target: z.string(),
  /** What is to be done with it, in words; who confirms it means the same words. */
  what: z.string(),
  by: z.string(),
  at: z.int(),
  /** Hashes of what the proposer was shown, which the change takes over: no page has them. */
  hashes: z.record(z.string(), z.string()).default({}),
});
export type StoredProposal = Readonly<z.infer<typeof proposalSchema>>;
/** What one person wants to be changed, and another one has to confirm. */
export type Proposal = Omit<StoredProposal, 'hashes'>;

/** All that is known of people at one moment. */
export interface PeopleRecord {
  /** Goes up with each change. */
  readonly version: number;
  readonly users: readonly StoredUser[];
  readonly keys: readonly StoredKey[];
  readonly proposals: readonly StoredProposal[];
}

/** What a change writes; an empty text removes. Made by the functions below. */
export type PeopleFields = Readonly<Record<string, string>>;

type PeoplePlace = AuditPlace & PeopleSealing & { readonly seals: Seals };

export interface PeopleChange {
  /** The version on which it was decided. */
  readonly version: number;
  readonly act: AuditAct;
  readonly fields: PeopleFields;
}

/** Users, keys of programs, sessions and tries to sign in. It stores them, and decides nothing about them. */
export interface People {
  /** All of them. Throws a Refusal (unavailable) where something else than payrun changed them, as do all but `stored`. */
  read(): Promise<PeopleRecord>;
  /** The same as it stands, for people to look at. */
  stored(): Promise<PeopleRecord>;
  /** Names of disabled users, as the list stands: their word counts no more. */
  disabled(): Promise<readonly string[]>;
  /** Lets users and keys hold as they stand although they were changed, on the word of people. */
  sealAsTheyStand(digest: string): Promise<void>;
  /** Of users and keys as they stand. */
  digest(): Promise<string>;
  user(name: string): Promise<StoredUser | undefined>;
  /** Undefined also for one whose maker was disabled: they know it. */
  key(id: string): Promise<StoredKey | undefined>;
  /** Makes the change and its audit entry together; `changed`: somebody else was faster, and nothing was written. */
  change(change: PeopleChange): Promise<'made' | 'changed'>;
  /** When each key was used last, in milliseconds since 1970. */
  keysUsed(): Promise<ReadonlyMap<string, number>>;
  keyUsed(id: string): Promise<number>;
  noteKeyUse(id: string, at: number): Promise<void>;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
}

export function openPeople(redis: Redis, keys: LedgerKeys, place: PeoplePlace): People {
  const list = openPeopleList(redis, keys, place);
  const found = async (field: string): Promise<unknown> => {
    const text = (await list.recent()).entries.get(field);
    return text === undefined ? undefined : JSON.parse(text);
  };
  return {
    read: async () => recordOf(await list.read()),
    stored: async () => recordOf(await list.stored()),
    user: async (name) => userSchema.optional().parse(await found(userFieldName(name))),
    async key(id) {
      const key = keySchema.optional().parse(await found(`key ${id}`));
      if (key === undefined) return undefined;
      return isAnyBehind(disabledOf(await list.recent()), key.createdBy) ? undefined : key;
    },
    disabled: async () => disabledOf(await list.recentlyStored()),
    sealAsTheyStand: async (digest) => await list.sealAsItStands(digest),
    digest: async () => await list.digest(),
    change: openChange(redis, keys, { place, list }),
    async keysUsed() {
      const entries = Object.entries(await redis.hgetall(keys.peopleUsed));
      return new Map(entries.map(([id, at]) => [id, Number.parseInt(at, 10)]));
    },
    async keyUsed(id) {
      return Number.parseInt((await redis.hget(keys.peopleUsed, id)) ?? '0', 10);
    },
    async noteKeyUse(id, at) {
      await redis.hset(keys.peopleUsed, id, at);
    },
    sessions: openSessions(redis, keys, place.seals),
    signIns: openSignIns(redis, keys),
  };
}

/** Carries an answer of the script out of the audit log's search for its end. */
class PeopleChanged extends Error {}

function recordOf({ version, entries }: PeopleList): PeopleRecord {
  const records = (kind: string): unknown[] =>
    [...entries].filter(([field]) => field.startsWith(`${kind} `)).map(([, text]): unknown => JSON.parse(text));
  return {
    version,
    users: z.array(userSchema).parse(records('user')),
    keys: z.array(keySchema).parse(records('key')),
    proposals: z.array(proposalSchema).parse(records('proposal')),
  };
}

const enabledSchema = z.object({ isDisabled: z.literal(false) });

/** Of a list that may have been changed by something else: whoever cannot be read there has no word. */
function disabledOf({ entries }: PeopleList): string[] {
  return [...entries].flatMap(([field, text]) => {
    const name = /^user (.*)$/s.exec(field)?.[1];
    return name === undefined || enabledSchema.safeParse(jsonOf(text)).success ? [] : [name];
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A log of its own, which pushes the act's entry by the script that makes the change, and all others as they are. */
function openChange(
  redis: Redis,
  keys: LedgerKeys,
  { place, list }: { readonly place: AuditPlace; readonly list: SealedPeopleList },
): People['change'] {
  const store = openAuditStore(redis, keys);
  const changeScript = script(CHANGE_PEOPLE);
  let calls = 0;
  return async ({ version, act, fields }) => {
    calls += 1;
    const call = `${place.dataDirId} ${process.pid} ${calls}`;
    const before = await list.read();
    if (before.version !== version) return 'changed';
    const written = Object.entries(list.sealed(before, fields)).flat();
    let lookedAt = 0;
    const log = openAuditLog(
      {
        ...store,
        async look() {
          const look = await store.look();
          lookedAt = look.at;
          return look;
        },
        async push(line, head, waiting) {
          // The log may first need its beginning, or an entry that Redis lost.
          const entry = readEntry(line);
          if (entry?.action !== act.action || entry.target !== act.target || entry.at !== lookedAt) {
            return await store.push(line, head, waiting);
          }
          const args = [head.number, head.hash, line, version, call, ...written];
          const answer = textOf(await runScript(redis, changeScript, { prefix: keys.prefix, args }));
          if (answer === 'changed') throw new PeopleChanged();
          if (answer !== 'made' && answer !== 'moved')
            throw new LedgerFault('the people script gave an unknown answer');
          return answer === 'made';
        },
      },
      place,
    );
    try {
      await log.append(act);
      return 'made';
    } catch (error) {
      if (error instanceof PeopleChanged) return 'changed';
      throw error;
    }
  };
}

export function userField(user: StoredUser): PeopleFields {
  return { [userFieldName(user.name)]: JSON.stringify(user) };
}

export function keyField(key: StoredKey): PeopleFields {
  return { [`key ${key.id}`]: JSON.stringify(key) };
}

export function noKey({ id }: StoredKey): PeopleFields {
  return { [`key ${id}`]: '' };
}

export function proposalField(proposal: StoredProposal): PeopleFields {
  return { [proposalFieldName(proposal.target)]: JSON.stringify(proposal) };
}

/** Nothing is proposed for the target any more. */
export function noProposal(target: string): PeopleFields {
  return { [proposalFieldName(target)]: '' };
}

function userFieldName(name: string): string {
  return `user ${foldedName(name)}`;
}

function proposalFieldName(target: string): string {
  return `proposal ${foldedName(target)}`;
}
