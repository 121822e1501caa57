import { createHash } from 'node:crypto';
import type { Role } from '../access/roles.ts';
import { isSamePerson } from '../access/same-person.ts';
import type { Clock, Random } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type StoredUser, userField } from '../ledger/people/people.ts';
import type { StoredSession } from '../ledger/people/sessions.ts';
import { type By, type ChangeDeps, changePeople, type Decision } from './change.ts';

/** OWASP ASVS 7.3.1 and 7.3.2. */
const IDLE_MS_MAX = 15 * 60_000;
const LIFE_MS_MAX = 8 * 60 * 60_000;
/** A second factor comes within this, or the sign-in begins anew. */
const FACTOR_MS_MAX = 5 * 60_000;
/** Not each request is written down. */
const TOUCHED_EVERY_MS = 30_000;
const ID_BYTES = 32;
const CSRF_BYTES = 32;
const LABEL_CHARACTERS = 16;

export interface SessionDeps {
  readonly ledger: Pick<Ledger, 'people'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'bytes'>;
}

/** Whoever asks, as they are now. */
export interface Session {
  readonly name: string;
  readonly role: Role;
  /** What forms repeat. */
  readonly csrf: string;
  readonly createdAt: number;
  /** When they last proved who they are, at the sign-in or by the second factor. */
  readonly reauthAt: number;
  readonly hasFactor: boolean;
}

/** Where a session began. */
export interface SessionPlace {
  readonly ip: string;
  /** In words for people, such as `Firefox on Linux`. */
  readonly browser: string;
}

/**
 * Begins a session of a user who has just proved who they are; gives its id, which is stored nowhere. Whoever has a second
 * factor is in once that has come (`renewSession`), within five minutes.
 */
export async function startSession(
  { ledger, clock, random }: SessionDeps,
  name: string,
  place: SessionPlace = { ip: '', browser: '' },
): Promise<string> {
  const user = await ledger.people.user(name);
  if (user === undefined) throw new Error('a session was to begin for a user that there is not');
  const now = clock.now();
  const csrf = random.bytes(CSRF_BYTES).toString('base64url');
  const times = { createdAt: now, seenAt: now, reauthAt: now };
  const awaitsFactor = user.factor !== null;
  const session = { name: user.name, epoch: user.epoch, csrf, ...times, awaitsFactor, ...place };
  return await store({ ledger, random }, session, lifeMs(session));
}

/**
 * The session with an id, with the role that its user has at this moment; undefined once it is over: idle for 15 minutes, 8
 * hours old, ended, or its user was disabled or given another role or password. Finding it keeps it from being idle, unless
 * `touches` is false: a page that looks by itself is nobody at work.
 */
export async function findSession(
  deps: Omit<SessionDeps, 'random'>,
  id: string,
  { touches = true }: { readonly touches?: boolean } = {},
): Promise<Session | undefined> {
  const { people } = deps.ledger;
  const session = await people.sessions.read(hashOf(id));
  if (session === undefined) return undefined;
  const now = deps.clock.now();
  const user = await people.user(session.name);
  if (user === undefined || session.awaitsFactor || !holds(session, user, now)) return undefined;
  if (touches && now >= session.seenAt + TOUCHED_EVERY_MS) {
    const seen = { ...session, seenAt: now };
    await people.sessions.touch(hashOf(id), seen, lifeMs(seen));
  }
  const { csrf, createdAt, reauthAt } = session;
  return { name: user.name, role: user.role, csrf, createdAt, reauthAt, hasFactor: user.factor !== null };
}

/** Whose session it is for which a second factor is still to come; undefined for none. */
export async function awaitedName(deps: Omit<SessionDeps, 'random'>, id: string): Promise<string | undefined> {
  const session = (await sessionsBeside(deps, id)).get(hashOf(id));
  return session?.awaitsFactor === true ? session.name : undefined;
}

/**
 * Gives a session whose user has just proved anew who they are, or has brought the second factor for which it waited,
 * another id and token; the old id is over, and its 8 hours go on. Undefined when the session is over.
 */
export async function renewSession(deps: SessionDeps, id: string): Promise<string | undefined> {
  const session = (await sessionsBeside(deps, id)).get(hashOf(id));
  // Of two that renew it at once one is too late.
  if (session === undefined || !(await deps.ledger.people.sessions.end(hashOf(id)))) return undefined;
  const now = deps.clock.now();
  return await storeAnew(deps, { ...session, awaitsFactor: false, seenAt: now, reauthAt: now });
}

/** One of a user's sessions, as its user may see it. */
export interface OwnSession extends SessionPlace {
  /** Names it among the user's; nobody comes in by it. */
  readonly label: string;
  readonly createdAt: number;
  /** To half a minute. */
  readonly seenAt: number;
  /** Whether it is the one that asks. */
  readonly isThis: boolean;
}

/** All sessions of the user of this one, the one used last first; none when it is over. */
export async function ownSessions(deps: Omit<SessionDeps, 'random'>, id: string): Promise<OwnSession[]> {
  const found = await sessionsBeside(deps, id);
  return [...found]
    .filter(([, { awaitsFactor }]) => !awaitsFactor)
    .map(([hash, { createdAt, seenAt, ip, browser }]) => {
      return { label: labelOf(hash), createdAt, seenAt, ip, browser, isThis: hash === hashOf(id) };
    })
    .toSorted((one, other) => other.seenAt - one.seenAt);
}

/** Ends another session of the same user; false when there is none of this label any more. It is on the audit log. */
export async function endOwnSession(
  deps: Omit<SessionDeps, 'random'> & { readonly ledger: Pick<Ledger, 'audit'> },
  { id, label, ...by }: By & { readonly id: string; readonly label: string },
): Promise<boolean> {
  const [hash, session] = [...(await sessionsBeside(deps, id))].find(([one]) => labelOf(one) === label) ?? [];
  if (hash === undefined || session === undefined || !(await deps.ledger.people.sessions.end(hash))) return false;
  const details = { session: label, begunFrom: session.ip, ...(by.ip === undefined ? {} : { ip: by.ip }) };
  const target = `user ${session.name}`;
  await deps.ledger.audit.append({ actor: by.actor, action: 'user.session-ended', target, details });
  return true;
}

/** Ends all sessions of the user of this one; gives the id by which this one goes on, or undefined where there are no others. */
export async function endOtherSessions(
  deps: SessionDeps & ChangeDeps,
  { id, ...by }: By & { readonly id: string },
): Promise<string | undefined> {
  if ((await sessionsBeside(deps, id)).size < 2) return undefined;
  return await keepSessionThrough(deps, id, async (name) => await endSessionsOf(deps, { name, ...by }));
}

/**
 * Makes a change that ends all sessions of the user of this one; gives the id by which this one goes on, or undefined when
 * it was over, and then nothing is changed.
 */
export async function keepSessionThrough(
  deps: SessionDeps,
  id: string,
  change: (name: string) => Promise<void>,
): Promise<string | undefined> {
  const session = (await sessionsBeside(deps, id)).get(hashOf(id));
  if (session === undefined || session.awaitsFactor) return undefined;
  await change(session.name);
  const user = await deps.ledger.people.user(session.name);
  const kept = { ...session, epoch: session.epoch + 1, seenAt: deps.clock.now() };
  // Something else ended them in this very moment.
  return user?.epoch === kept.epoch ? await storeAnew(deps, kept) : undefined;
}

/** The sessions of the user of this one, by their hashes. */
async function sessionsBeside(
  { ledger, clock }: Omit<SessionDeps, 'random'>,
  id: string,
): Promise<ReadonlyMap<string, StoredSession>> {
  const { people } = ledger;
  const session = await people.sessions.read(hashOf(id));
  const user = session === undefined ? undefined : await people.user(session.name);
  const now = clock.now();
  if (session === undefined || user === undefined || !holds(session, user, now)) return new Map();
  return new Map([...(await people.sessions.of(user.name))].filter(([, one]) => holds(one, user, now)));
}

/** Ends a session; one that is over already stays so. */
export async function endSession({ ledger }: Pick<SessionDeps, 'ledger'>, id: string): Promise<void> {
  await ledger.people.sessions.end(hashOf(id));
}

/** Ends all sessions of a user, in all browsers. To disable them, or to change role or password, does so too. */
export async function endSessionsOf(deps: ChangeDeps, { name, ...by }: By & { readonly name: string }): Promise<void> {
  await changePeople(deps, by, ({ users }): Decision<void> => {
    const user = users.find((one) => isSamePerson(one.name, name));
    if (user === undefined) return { answer: undefined };
    const fields = userField({ ...user, epoch: user.epoch + 1 });
    return { answer: undefined, change: { action: 'user.sessions-ended', target: `user ${user.name}`, fields } };
  });
}

async function storeAnew(deps: SessionDeps, session: StoredSession): Promise<string> {
  const csrf = deps.random.bytes(CSRF_BYTES).toString('base64url');
  return await store(deps, { ...session, csrf }, lifeMs(session));
}

async function store(
  { ledger, random }: Pick<SessionDeps, 'ledger' | 'random'>,
  session: StoredSession,
  ms: number,
): Promise<string> {
  const id = random.bytes(ID_BYTES).toString('base64url');
  await ledger.people.sessions.start(hashOf(id), session, ms);
  return id;
}

function holds(session: StoredSession, { isDisabled, secretUntil, epoch }: StoredUser, now: number): boolean {
  return !isDisabled && secretUntil === null && epoch === session.epoch && now < session.seenAt + lifeMs(session);
}

/** How long a session lives from when it was last seen. */
function lifeMs({ createdAt, seenAt, awaitsFactor }: StoredSession): number {
  return Math.max(1, Math.min(awaitsFactor ? FACTOR_MS_MAX : IDLE_MS_MAX, createdAt + LIFE_MS_MAX - seenAt));
}

function labelOf(hash: string): string {
  return hash.slice(0, LABEL_CHARACTERS);
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
