import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyRole } from '../access/roles.ts';
import { isSamePerson } from '../access/same-person.ts';
import { type Random, rfc3339, timeOrNull } from '../clock.ts';
import {
  keyField,
  noKey,
  noProposal,
  type PeopleRecord,
  type StoredKey,
  type StoredProposal,
} from '../ledger/people/people.ts';
import { Refusal, type Remedy, withSteps } from '../refusal.ts';
import { type By, type ChangeDeps, changePeople, type Decision, decideByTwo, type Proposed } from './change.ts';
import { looksLike } from './look-alikes.ts';
import { requireName } from './names.ts';

/** More would be a slip. */
const KEYS_MAX = 100;
const ID_BYTES = 8;
const SECRET_BYTES = 32;
const HASH_BYTES = 32;
/** Not each use is written down. */
const USED_EVERY_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

export interface KeyDeps extends ChangeDeps {
  readonly random: Pick<Random, 'bytes'>;
}

/** A key as people may see it. Times are milliseconds since 1970. */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly createdBy: string;
  readonly createdAt: number;
  /** Null for a key that holds until it is revoked. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

/** A key as JSON. */
export function keyDocument({ createdAt, expiresAt, lastUsedAt, ...key }: Key) {
  const times = { createdAt: rfc3339(createdAt), expiresAt: timeOrNull(expiresAt), lastUsedAt: timeOrNull(lastUsedAt) };
  return { ...key, ...times };
}

interface KeyAsked extends By {
  readonly name: string;
  readonly role: KeyRole;
  /** From now on; without it the key holds until it is revoked. */
  readonly lifeMs?: number;
}

/** `bearer` is shown to whoever made it alone; null when somebody else was shown it who proposed it. */
interface MadeKey {
  readonly kind: 'done';
  readonly key: Key;
  readonly bearer: string | null;
}

interface ProposedKey extends Proposed {
  readonly bearer: string;
}

/**
 * Makes a key for a program, `pr_<id>_<secret>`, which is shown once; by two people once there is another admin, for it
 * hands in payouts as a user does. Whoever proposes it is shown it, and acts by it once another has confirmed. Throws a
 * Refusal for a name that a key has already, or that is none.
 */
export async function createKey(
  deps: KeyDeps,
  { name: text, role, lifeMs, ...by }: KeyAsked,
): Promise<MadeKey | ProposedKey> {
  const name = requireName(text, 'key');
  const id = deps.random.bytes(ID_BYTES).toString('hex');
  const secret = deps.random.bytes(SECRET_BYTES).toString('base64url');
  const createdAt = deps.clock.now();
  const expiresAt = lifeMs === undefined ? null : createdAt + lifeMs;
  const fresh = { id, hash: hashOf(secret).toString('hex') };
  const bearer = `pr_${id}_${secret}`;
  const target = `key ${name}`;
  const what = `make it as ${role}${lifeMs === undefined ? '' : ` for ${lifeMs / DAY_MS} days`}`;
  return await changePeople(deps, by, (people) => {
    const there = find(people, name);
    if (there !== undefined) {
      throw refuse(`There is a key ${there.name} already`, 'Revoke it first, or give another name.');
    }
    const like = people.keys.find((other) => looksLike(other.name, name));
    if (like !== undefined)
      throw refuse(`${name} looks like the key ${like.name}`, 'Take a name that nobody mistakes.');
    if (people.keys.length >= KEYS_MAX)
      throw refuse(`There are ${KEYS_MAX} keys already`, 'Revoke those that nobody uses.');
    if (people.users.length === 0)
      throw refuse('There is no admin yet', withSteps`Add one first: ${{ to: 'add-admin' }}.`);
    const carryOut = (proposal: StoredProposal | undefined) => {
      const { id: proposedId, hash } = proposal?.hashes ?? {};
      const isProposed = proposedId !== undefined && hash !== undefined;
      const own = isProposed ? { id: proposedId, hash } : fresh;
      // Whoever was shown it is behind what it does.
      const createdBy = isProposed ? (proposal?.by ?? by.actor) : by.actor;
      const key = { ...own, name, role, createdBy, createdAt, expiresAt };
      const details = { id: own.id, role, ...(expiresAt === null ? {} : { expiresAt: String(expiresAt) }) };
      const answer = { kind: 'done', key: shown(key, null), bearer: isProposed ? null : bearer } as const;
      return { answer, change: { action: 'key.created', target, details, fields: keyField(key) } };
    };
    const proposed = { kind: 'proposed', bearer } as const;
    return decideByTwo(people, { by, target, what, now: createdAt, proposed, hashes: fresh, carryOut });
  });
}

/** All keys by name. */
export async function listKeys({ ledger }: Pick<ChangeDeps, 'ledger'>): Promise<Key[]> {
  const { keys } = await ledger.people.stored();
  const used = await ledger.people.keysUsed();
  return keys
    .map((key) => shown(key, used.get(key.id) ?? null))
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
}

/** Ends a key at once, or withdraws the proposal to make it; one person is enough. Throws a Refusal for neither. */
export async function revokeKey(deps: ChangeDeps, { name, ...by }: By & { readonly name: string }): Promise<void> {
  await changePeople(deps, by, (people): Decision<void> => {
    const key = find(people, name);
    const target = `key ${key?.name ?? name}`;
    if (key === undefined && !people.proposals.some((one) => isSamePerson(one.target, target))) {
      throw refuse(`There is no key ${name}`, withSteps`${{ to: 'see-keys' }} shows those that there are.`);
    }
    const fields = { ...noProposal(target), ...(key === undefined ? {} : noKey(key)) };
    const details: Record<string, string> = key === undefined ? {} : { id: key.id };
    const action = key === undefined ? 'key.create-withdrawn' : 'key.revoked';
    return { answer: undefined, change: { action, target, details, fields } };
  });
}

/** Who brings this key: its name, as `key <name>` in histories; undefined for one that does not hold. Takes the same time for each. */
export async function readKey(
  { ledger, clock }: ChangeDeps,
  bearer: string,
): Promise<Pick<Key, 'name' | 'role' | 'createdBy'> | undefined> {
  const [, id = '', secret = ''] = /^pr_([0-9a-f]{16})_([\w-]{43})$/.exec(bearer) ?? [];
  const key = await ledger.people.key(id);
  const expected = key === undefined ? Buffer.alloc(HASH_BYTES) : Buffer.from(key.hash, 'hex');
  const isRight = timingSafeEqual(hashOf(secret), expected);
  const now = clock.now();
  if (key === undefined || !isRight || (key.expiresAt !== null && now >= key.expiresAt)) return undefined;
  if (now >= (await ledger.people.keyUsed(id)) + USED_EVERY_MS) await ledger.people.noteKeyUse(id, now);
  return { name: key.name, role: key.role, createdBy: key.createdBy };
}

function find({ keys }: PeopleRecord, name: string): StoredKey | undefined {
  return keys.find((key) => isSamePerson(key.name, name));
}

function shown({ hash: _hash, ...key }: StoredKey, lastUsedAt: number | null): Key {
  return { ...key, lastUsedAt };
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function refuse(why: string, remedy: Remedy): Refusal {
  return new Refusal(`${why}.`, remedy);
}
