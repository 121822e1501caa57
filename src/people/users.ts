import type { Role } from '../access/roles.ts';
import { isSamePerson } from '../access/same-person.ts';
import { type Clock, type Random, rfc3339, timeOrNull } from '../clock.ts';
import {
  noProposal,
  type PeopleRecord,
  type Proposal,
  type StoredProposal,
  type StoredUser,
  userField,
} from '../ledger/people/people.ts';
import { Refusal, type Remedy, withSteps } from '../refusal.ts';
import {
  type By,
  type ChangeDeps,
  changePeople,
  type Decision,
  decideByTwo,
  type Proposed,
  type ProposedSecret,
} from './change.ts';
import { looksLike } from './look-alikes.ts';
import { requireName } from './names.ts';
import type { Passwords } from './password.ts';

/** More would be a slip; all of them are read at each change. */
export const USERS_MAX = 500;
const SECRET_BYTES = 16;
const SECRET_HOLDS_MS = 24 * 60 * 60_000;

export interface UserDeps extends ChangeDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly passwords: Passwords;
}

/** A user as others may see them. */
export interface User {
  readonly name: string;
  readonly role: Role;
  readonly isDisabled: boolean;
  /** Until when the one-time secret may be used; null for whoever has a password. */
  readonly secretUntil: number | null;
  readonly addedBy: string;
  readonly addedAt: number;
  /** Whether they have a second factor. */
  readonly hasFactor: boolean;
}

/** A user as JSON. */
export function userDocument({ secretUntil, addedAt, ...user }: User) {
  return { ...user, secretUntil: timeOrNull(secretUntil), addedAt: rfc3339(addedAt) };
}

/** A secret that is shown once, and has to be changed at the first sign-in. */
export interface WithSecret {
  readonly kind: 'done';
  readonly user: User;
  readonly secret: string;
}

export interface Done {
  readonly kind: 'done';
  readonly user: User;
}

interface Asked extends By {
  readonly name: string;
}

/**
 * Adds a user, with a one-time secret; by two people once there is another admin (`decideByTwo`), of whom the proposer alone
 * is shown the secret. The first user is an admin. Throws a Refusal for a name that somebody has already, in whatever spelling, or that is none.
 */
export async function addUser(
  deps: UserDeps,
  { name: text, role, ...by }: Asked & { readonly role: Role },
): Promise<WithSecret | Done | ProposedSecret> {
  const name = requireName(text, 'user');
  const made = await makeSecret(deps);
  const addedAt = deps.clock.now();
  return await changePeople(deps, by, (people) => {
    const there = find(people, name);
    if (there !== undefined) throw refuse(`There is a user ${there.name} already`, REMEDY_LIST);
    const like = people.users.find((user) => looksLike(user.name, name));
    if (like !== undefined)
      throw refuse(`${name} looks like the user ${like.name}`, 'Take a name that nobody mistakes.');
    if (people.users.length >= USERS_MAX)
      throw refuse(
        `There are ${USERS_MAX} users already`,
        'They are not removed, for histories name them; payrun is not made for so many.',
      );
    if (role !== 'admin' && people.users.length === 0) {
      throw refuse('There is no admin yet', withSteps`Add one first: ${{ to: 'add-admin' }}.`);
    }
    return withSecret(people, {
      by,
      made,
      now: addedAt,
      what: `add as ${role}`,
      action: 'user.added',
      details: { role },
      userWith: (secret) => ({
        name,
        role,
        isDisabled: false,
        ...secret,
        epoch: 0,
        addedBy: by.actor,
        addedAt,
        vouched: null,
        factor: null,
      }),
    });
  });
}

/** Gives a user another role, by two people; their sessions end. Throws a Refusal, also for the last admin's. */
export async function changeRole(
  deps: ChangeDeps,
  { name, role, ...by }: Asked & { readonly role: Role },
): Promise<Done | Proposed> {
  return await changePeople(deps, by, (people): Decision<Done | Proposed> => {
    const user = requireUser(people, name);
    if (user.role === role) return { answer: { kind: 'done', user: shown(user) } };
    if (
      user.role === 'admin' &&
      !people.users.some((other) => other !== user && other.role === 'admin' && !other.isDisabled)
    ) {
      throw refuse(`${user.name} is the only admin`, 'Make somebody else an admin first.');
    }
    const changed = { ...user, role, epoch: user.epoch + 1 };
    const details = { from: user.role, to: role };
    return requiresSecondPerson(people, {
      by,
      user: changed,
      now: deps.clock.now(),
      what: `give the role ${role}`,
      action: 'user.role-changed',
      details,
    });
  });
}

/** Lets a disabled user sign in again, by two people. Throws a Refusal. */
export async function enableUser(deps: ChangeDeps, { name, ...by }: Asked): Promise<Done | Proposed> {
  return await changePeople(deps, by, (people): Decision<Done | Proposed> => {
    const user = requireUser(people, name);
    if (!user.isDisabled) return { answer: { kind: 'done', user: shown(user) } };
    return requiresSecondPerson(people, {
      by,
      user: { ...user, isDisabled: false },
      now: deps.clock.now(),
      what: 'enable',
      action: 'user.enabled',
    });
  });
}

/**
 * Gives a user a new one-time secret in place of the password, by two people, of whom the proposer alone is shown it; their
 * sessions end, and who they were at an identity provider is forgotten. Throws a Refusal.
 */
export async function resetUser(deps: UserDeps, { name, ...by }: Asked): Promise<WithSecret | Done | ProposedSecret> {
  const made = await makeSecret(deps);
  return await changePeople(deps, by, (people) => {
    const user = requireUser(people, name);
    return withSecret(people, {
      by,
      made,
      now: deps.clock.now(),
      what: 'reset',
      action: 'user.reset',
      userWith: (secret) => ({ ...user, ...secret, vouched: null, epoch: user.epoch + 1 }),
    });
  });
}

/**
 * Keeps a user out, at once: their sessions end, and what is proposed for them is void. One person is enough, as for
 * everything that stops; it also withdraws a proposal to add somebody. Throws a Refusal when there is neither.
 */
export async function disableUser(deps: ChangeDeps, { name, ...by }: Asked): Promise<void> {
  await changePeople(deps, by, (people): Decision<void> => {
    const target = `user ${name}`;
    const isProposed = people.proposals.some((one) => isSamePerson(one.target, target));
    if (find(people, name) === undefined && isProposed) {
      return { answer: undefined, change: { action: 'user.add-withdrawn', target, fields: noProposal(target) } };
    }
    const user = requireUser(people, name);
    if (user.isDisabled && !isProposed) return { answer: undefined };
    const disabled = { ...user, isDisabled: true, epoch: user.epoch + 1 };
    const fields = { ...userField(disabled), ...noProposal(target) };
    return { answer: undefined, change: { action: 'user.disabled', target: `user ${user.name}`, fields } };
  });
}

/** All users by name, and what is proposed and not confirmed. */
export async function listUsers({
  ledger,
}: Pick<ChangeDeps, 'ledger'>): Promise<{ users: User[]; proposals: readonly Proposal[] }> {
  const { users, proposals } = await ledger.people.stored();
  const seen = proposals.map(({ hashes: _hashes, ...one }) => one);
  return {
    users: users.map(shown).toSorted((one, other) => one.name.localeCompare(other.name, 'en')),
    proposals: seen,
  };
}

interface UserByTwo {
  readonly by: By;
  /** As they are to be. */
  readonly user: StoredUser;
  readonly now: number;
  readonly what: string;
  readonly action: string;
  readonly details?: Readonly<Record<string, string>>;
}

export function requiresSecondPerson(
  people: PeopleRecord,
  { user, action, details = {}, ...asked }: UserByTwo,
): Decision<Done | Proposed> {
  const target = `user ${user.name}`;
  const change = { action, target, details, fields: userField(user) };
  const answer = { kind: 'done', user: shown(user) } as const;
  return decideByTwo(people, {
    ...asked,
    target,
    proposed: { kind: 'proposed' },
    carryOut: () => ({ answer, change }),
  });
}

interface MadeSecret {
  readonly secret: string;
  readonly password: string;
}

interface SecretByTwo extends Omit<UserByTwo, 'user'> {
  readonly made: MadeSecret;
  /** The user as they are to be. */
  readonly userWith: (secret: Pick<StoredUser, 'password' | 'secretUntil'>) => StoredUser;
}

/** The same for a change by which a user has a one-time secret: the one that the proposer was shown. */
function withSecret(
  people: PeopleRecord,
  { made, userWith, action, details = {}, ...asked }: SecretByTwo,
): Decision<WithSecret | Done | ProposedSecret> {
  const secretUntil = asked.now + SECRET_HOLDS_MS;
  const { name } = userWith({ password: made.password, secretUntil });
  const target = `user ${name}`;
  const carryOut = (proposal: StoredProposal | undefined) => {
    const password = proposal?.hashes['password'];
    const user = userWith({ password: password ?? made.password, secretUntil });
    const known = { kind: 'done', user: shown(user) } as const;
    const answer = password === undefined ? { ...known, secret: made.secret } : known;
    return { answer, change: { action, target, details, fields: userField(user) } };
  };
  const proposed = { kind: 'proposed', secret: made.secret } as const;
  return decideByTwo<WithSecret | Done, ProposedSecret>(people, {
    ...asked,
    target,
    proposed,
    hashes: { password: made.password },
    carryOut,
  });
}

async function makeSecret({ random, passwords }: UserDeps): Promise<MadeSecret> {
  const secret = random.bytes(SECRET_BYTES).toString('base64url');
  return { secret, password: await passwords.hash(secret) };
}

function find({ users }: PeopleRecord, name: string): StoredUser | undefined {
  return users.find((user) => isSamePerson(user.name, name));
}

const REMEDY_LIST = withSteps`${{ to: 'see-users' }} shows those that there are.`;

export function requireUser(people: PeopleRecord, name: string): StoredUser {
  const user = find(people, name);
  if (user !== undefined) return user;
  throw refuse(`There is no user ${name}`, REMEDY_LIST);
}

function shown({ name, role, isDisabled, secretUntil, addedBy, addedAt, factor }: StoredUser): User {
  return { name, role, isDisabled, secretUntil, addedBy, addedAt, hasFactor: factor !== null };
}

function refuse(why: string, remedy: Remedy): Refusal {
  return new Refusal(`${why}.`, remedy);
}
