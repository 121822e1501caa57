import type { Clock, Random } from '../clock.ts';
import { noProposal, type PeopleRecord, type Proposal, type StoredUser, userField } from '../ledger/people.ts';
import { EXIT, Refusal } from '../refusal.ts';
import { type By, type ChangeDeps, changePeople, type Decision, decideByTwo, type Proposed } from './change.ts';
import { looksLike, requireName } from './names.ts';
import type { Passwords } from './password.ts';
import type { Role } from './roles.ts';
import { isSamePerson } from './same-person.ts';

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
 * Adds a user, with a one-time secret; by two people once there is another admin (`decideByTwo`). The first user is an
 * admin. Throws a Refusal (exit 2) for a name that somebody has already, in whatever spelling, or that is none.
 */
export async function addUser(
  deps: UserDeps,
  { name: text, role, ...by }: Asked & { readonly role: Role },
): Promise<WithSecret | Proposed> {
  const name = requireName(text, 'user');
  const { secret, password, secretUntil } = await makeSecret(deps);
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
      throw refuse('There is no admin yet', 'Add one first: payrun user add NAME --role admin --as NAME.');
    }
    const user = {
      name,
      role,
      isDisabled: false,
      password,
      secretUntil,
      epoch: 0,
      addedBy: by.actor,
      addedAt,
      vouched: null,
      factor: null,
    };
    const answer = { kind: 'done', user: shown(user), secret } as const;
    const change = { action: 'user.added', target: `user ${name}`, details: { role }, fields: userField(user) };
    return decideByTwo(people, {
      by,
      target: `user ${name}`,
      what: `add as ${role}`,
      now: addedAt,
      carryOut: { answer, change },
    });
  });
}

/** Gives a user another role, by two people; their sessions end. Throws a Refusal (exit 2), also for the last admin's. */
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
    return byTwo(people, {
      by,
      user: changed,
      now: deps.clock.now(),
      what: `give the role ${role}`,
      action: 'user.role-changed',
      details,
    });
  });
}

/** Lets a disabled user sign in again, by two people. Throws a Refusal (exit 2). */
export async function enableUser(deps: ChangeDeps, { name, ...by }: Asked): Promise<Done | Proposed> {
  return await changePeople(deps, by, (people): Decision<Done | Proposed> => {
    const user = requireUser(people, name);
    if (!user.isDisabled) return { answer: { kind: 'done', user: shown(user) } };
    return byTwo(people, {
      by,
      user: { ...user, isDisabled: false },
      now: deps.clock.now(),
      what: 'enable',
      action: 'user.enabled',
    });
  });
}

/**
 * Gives a user a new one-time secret in place of the password, by two people; their sessions end, and who they were at an
 * identity provider is forgotten. Throws a Refusal (exit 2).
 */
export async function resetUser(deps: UserDeps, { name, ...by }: Asked): Promise<WithSecret | Proposed> {
  const { secret, password, secretUntil } = await makeSecret(deps);
  return await changePeople(deps, by, (people) => {
    const user = requireUser(people, name);
    const changed = { ...user, password, secretUntil, vouched: null, epoch: user.epoch + 1 };
    const { answer, change } = byTwo(people, {
      by,
      user: changed,
      now: deps.clock.now(),
      what: 'reset',
      action: 'user.reset',
    });
    return {
      answer: answer.kind === 'done' ? { ...answer, secret } : answer,
      ...(change === undefined ? {} : { change }),
    };
  });
}

/**
 * Keeps a user out, at once: their sessions end, and what is proposed for them is void. One person is enough, as for
 * everything that stops; it also withdraws a proposal to add somebody. Throws a Refusal (exit 2) when there is neither.
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
  const { users, proposals } = await ledger.people.read();
  return { users: users.map(shown).toSorted((one, other) => one.name.localeCompare(other.name, 'en')), proposals };
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

export function byTwo(
  people: PeopleRecord,
  { user, action, details = {}, ...asked }: UserByTwo,
): Decision<Done | Proposed> {
  const target = `user ${user.name}`;
  const change = { action, target, details, fields: userField(user) };
  return decideByTwo(people, {
    ...asked,
    target,
    carryOut: { answer: { kind: 'done', user: shown(user) } as const, change },
  });
}

async function makeSecret({ random, clock, passwords }: UserDeps) {
  const secret = random.bytes(SECRET_BYTES).toString('base64url');
  return { secret, password: await passwords.hash(secret), secretUntil: clock.now() + SECRET_HOLDS_MS };
}

function find({ users }: PeopleRecord, name: string): StoredUser | undefined {
  return users.find((user) => isSamePerson(user.name, name));
}

const REMEDY_LIST = '"payrun user list" shows those that there are.';

export function requireUser(people: PeopleRecord, name: string): StoredUser {
  const user = find(people, name);
  if (user !== undefined) return user;
  throw refuse(`There is no user ${name}`, REMEDY_LIST);
}

function shown({ name, role, isDisabled, secretUntil, addedBy, addedAt, factor }: StoredUser): User {
  return { name, role, isDisabled, secretUntil, addedBy, addedAt, hasFactor: factor !== null };
}

function refuse(why: string, remedy: string): Refusal {
  return new Refusal(`${why}.`, { exitCode: EXIT.usage, remedy });
}
