import { createHash } from 'node:crypto';
import type { Clock, Random } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { userField } from '../ledger/people.ts';
import type { StoredSession } from '../ledger/sessions.ts';
import { type By, type ChangeDeps, changePeople, type Decision } from './change.ts';
import type { Role } from './roles.ts';
import { isSamePerson } from './same-person.ts';

/** OWASP ASVS 7.3.1 and 7.3.2. */
const IDLE_MS_MAX = 15 * 60_000;
const LIFE_MS_MAX = 8 * 60 * 60_000;
/** Not each request is written down. */
const TOUCHED_EVERY_MS = 30_000;
const ID_BYTES = 32;
const CSRF_BYTES = 32;

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
  /** When they last proved by password who they are. */
  readonly reauthAt: number;
}

/** Begins a session of a user who has just proved who they are; gives its id, which is stored nowhere. */
export async function startSession({ ledger, clock, random }: SessionDeps, name: string): Promise<string> {
  const user = await ledger.people.user(name);
  if (user === undefined) throw new Error('a session was to begin for a user that there is not');
  const now = clock.now();
  const csrf = random.bytes(CSRF_BYTES).toString('base64url');
  const session = { name: user.name, epoch: user.epoch, csrf, createdAt: now, seenAt: now, reauthAt: now };
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
  if (user === undefined || user.isDisabled || user.secretUntil !== null || user.epoch !== session.epoch)
    return undefined;
  if (now >= session.seenAt + lifeMs(session)) return undefined;
  if (touches && now >= session.seenAt + TOUCHED_EVERY_MS) {
    const seen = { ...session, seenAt: now };
    await people.sessions.touch(hashOf(id), seen, lifeMs(seen));
  }
  const { csrf, createdAt, reauthAt } = session;
  return { name: user.name, role: user.role, csrf, createdAt, reauthAt };
}

/**
 * Gives a session whose user has just proved anew who they are another id and token; the old id is over, and its 8 hours go
 * on. Undefined when the session is over.
 */
export async function renewSession(deps: SessionDeps, id: string): Promise<string | undefined> {
  if ((await findSession(deps, id)) === undefined) return undefined;
  const { sessions } = deps.ledger.people;
  const session = await sessions.read(hashOf(id));
  // Of two that renew it at once one is too late.
  if (session === undefined || !(await sessions.end(hashOf(id)))) return undefined;
  const now = deps.clock.now();
  const renewed = { ...session, csrf: deps.random.bytes(CSRF_BYTES).toString('base64url'), seenAt: now, reauthAt: now };
  return await store(deps, renewed, lifeMs(renewed));
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

async function store(
  { ledger, random }: Pick<SessionDeps, 'ledger' | 'random'>,
  session: StoredSession,
  ms: number,
): Promise<string> {
  const id = random.bytes(ID_BYTES).toString('base64url');
  await ledger.people.sessions.start(hashOf(id), session, ms);
  return id;
}

/** How long a session lives from when it was last seen. */
function lifeMs({ createdAt, seenAt }: Pick<StoredSession, 'createdAt' | 'seenAt'>): number {
  return Math.max(1, Math.min(IDLE_MS_MAX, createdAt + LIFE_MS_MAX - seenAt));
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
