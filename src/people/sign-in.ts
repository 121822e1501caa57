import type { Role } from '../access/roles.ts';
import { isSamePerson } from '../access/same-person.ts';
import type { Clock, Random } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type StoredUser, userField } from '../ledger/people/people.ts';
import type { TryLimits } from '../ledger/people/sign-ins.ts';
import { changePeople, type Decision } from './change.ts';
import { commonPasswords } from './common-passwords.ts';
import { type Passwords, passwordProblem } from './password.ts';
import { deviceLimit, TRIES_REMEMBERED_MS, tryLimits } from './sign-in-attempts.ts';

/** For so long an account is known at an address from which it signed in, and with a device. */
const KNOWN_MS = 30 * 24 * 60 * 60_000;
/** When more passwords are to be checked than this process can. */
const BUSY_MS = 2000;
const REFUSED_PERIOD_MS = 60 * 60_000;
/** Of so many in an hour each is on the audit log, of further ones every so many: strangers shall not fill Redis with it. */
const REFUSED_TOLD_MAX = 200;

export interface SignInDeps {
  readonly ledger: Pick<Ledger, 'people' | 'audit'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly passwords: Passwords;
}

export interface Credentials {
  readonly name: string;
  readonly password: string;
  /** Where it comes from, as far as that can be believed (a proxy's word only from a proxy that is configured). */
  readonly ip: string;
  /** What the browser keeps since an earlier sign-in (`knowDevice`); undefined for nothing. */
  readonly device?: string | undefined;
}

export interface SignedIn {
  readonly name: string;
  readonly role: Role;
}

/** No password was looked at: come again after so many milliseconds. */
export interface Wait {
  readonly kind: 'wait';
  readonly ms: number;
}

/** Nothing tells whether the name, the password or something else was wrong. */
export interface Refused {
  readonly kind: 'refused';
}

/**
 * Checks who somebody is. `change-password`: they are who they say, by their one-time secret, and get no session before
 * they have chosen a password (`changePassword`). `factor`: their second factor is still to come (second-factor.ts). The
 * same answer, after the same work, for unknown and disabled users.
 */
export async function signIn(
  deps: SignInDeps,
  credentials: Credentials,
): Promise<{ readonly kind: keyof typeof ACTIONS; readonly user: SignedIn } | Refused | Wait> {
  const proof = await prove(deps, credentials);
  if (proof.kind !== 'proven') return proof;
  const { name, role, secretUntil, factor } = proof.user;
  const kind = secretUntil !== null ? 'change-password' : factor === null ? 'in' : 'factor';
  const details = { ip: credentials.ip };
  await deps.ledger.audit.append({ actor: name, action: ACTIONS[kind], target: `user ${name}`, details });
  return { kind, user: { name, role } };
}

const ACTIONS = {
  in: 'user.signed-in',
  factor: 'user.password-accepted',
  'change-password': 'user.secret-accepted',
} as const;

export interface NewPassword extends Credentials {
  readonly newPassword: string;
  /** Whether it comes from a session of theirs. */
  readonly isSignedIn?: boolean;
}

/**
 * Gives whoever proves who they are another password; all their sessions end. `problem`: why it is not taken, in words for
 * people. Tries with a wrong former password count as those to sign in. Whoever has a second factor has to be signed in.
 */
export async function changePassword(
  deps: SignInDeps,
  { newPassword, isSignedIn = false, ...credentials }: NewPassword,
): Promise<
  | { readonly kind: 'changed'; readonly user: SignedIn }
  | { readonly kind: 'problem'; readonly message: string }
  | Refused
  | Wait
> {
  const problem = passwordProblem(newPassword, credentials.name, await commonPasswords());
  if (problem !== undefined) return { kind: 'problem', message: problem };
  if (newPassword === credentials.password) {
    return { kind: 'problem', message: 'The new password is the one that you have. Choose another one.' };
  }
  const proof = await prove(deps, credentials);
  if (proof.kind !== 'proven') return proof;
  const { user } = proof;
  if (user.factor !== null && user.secretUntil === null && !isSignedIn) return { kind: 'refused' };
  const password = await deps.passwords.hash(newPassword);
  const by = { actor: user.name, ip: credentials.ip };
  type Answer = { readonly kind: 'changed'; readonly user: SignedIn } | Refused;
  return await changePeople(deps, by, ({ users }): Decision<Answer> => {
    const now = users.find((one) => isSamePerson(one.name, user.name));
    // Somebody reset or disabled them in this very moment.
    if (now === undefined || now.password !== user.password || now.isDisabled) return { answer: { kind: 'refused' } };
    const changed = { ...now, password, secretUntil: null, epoch: now.epoch + 1 };
    const change = { action: 'user.password-changed', target: `user ${now.name}`, fields: userField(changed) };
    return { answer: { kind: 'changed', user: { name: now.name, role: now.role } }, change };
  });
}

async function prove(
  deps: SignInDeps,
  { name, password, ip, device }: Credentials,
): Promise<{ readonly kind: 'proven'; readonly user: StoredUser } | Refused | Wait> {
  const { people } = deps.ledger;
  const { limits, row } = await laneOf(deps, { name, ip, device });
  const ms = await people.signIns.take(limits, { now: deps.clock.now(), rememberMs: TRIES_REMEMBERED_MS });
  if (ms > 0) return { kind: 'wait', ms };
  const user = await people.user(name);
  const isRight = await deps.passwords.verify(password, user?.password, row);
  if (isRight === 'busy') return { kind: 'wait', ms: BUSY_MS };
  if (isRight && user !== undefined && mayComeIn(user, deps.clock.now())) {
    await people.signIns.forgive(limits);
    await people.signIns.know(tryLimits(name, ip)[0].what, KNOWN_MS);
    return { kind: 'proven', user };
  }
  await tellRefused(deps, { user, ip, action: 'user.sign-in-refused' });
  return { kind: 'refused' };
}

/** By what a try is counted, and in which row it waits: a device that signed in before has a lane of its own. */
async function laneOf(
  { ledger }: Pick<SignInDeps, 'ledger'>,
  { name, ip, device }: Pick<Credentials, 'name' | 'ip' | 'device'>,
): Promise<{ readonly limits: TryLimits; readonly row: 'known' | 'strangers' }> {
  const { signIns } = ledger.people;
  const own = device === undefined ? undefined : deviceLimit(name, device);
  if (own !== undefined && (await signIns.isKnown(own.what))) return { limits: [own], row: 'known' };
  const [pair, address, account] = tryLimits(name, ip);
  // Whoever signed in from an address lately does not wait for what others try with the account.
  const limits: TryLimits = (await signIns.isKnown(pair.what)) ? [pair, address] : [pair, address, account];
  return { limits, row: 'strangers' };
}

/** Remembers for 30 days that somebody has signed in with a device; gives what it has to keep, at each sign-in. */
export async function knowDevice(
  { ledger, random }: Pick<SignInDeps, 'ledger'> & { readonly random: Pick<Random, 'bytes'> },
  { name, device }: { readonly name: string; readonly device: string | undefined },
): Promise<{ readonly device: string; readonly ms: number }> {
  const kept = device !== undefined && DEVICE.test(device) ? device : random.bytes(DEVICE_BYTES).toString('base64url');
  await ledger.people.signIns.know(deviceLimit(name, kept).what, KNOWN_MS);
  return { device: kept, ms: KNOWN_MS };
}

const DEVICE_BYTES = 32;
const DEVICE = /^[\w-]{43}$/;

function mayComeIn({ isDisabled, secretUntil }: StoredUser, now: number): boolean {
  return !isDisabled && (secretUntil === null || now < secretUntil);
}

interface RefusedSignIn {
  readonly user: StoredUser | undefined;
  readonly ip: string;
  readonly action: 'user.sign-in-refused' | 'user.second-factor-refused';
}

/**
 * Puts a refusal on the audit log. A name that nobody has is not written down: it may be a password that was typed into the
 * wrong field.
 */
export async function tellRefused(
  { ledger }: Pick<SignInDeps, 'ledger'>,
  { user, ip, action }: RefusedSignIn,
): Promise<void> {
  const count = await ledger.people.signIns.countRefused(REFUSED_PERIOD_MS);
  if (count > REFUSED_TOLD_MAX && count % REFUSED_TOLD_MAX !== 0) return;
  await ledger.audit.append({
    actor: 'stranger',
    action,
    target: user === undefined ? 'user unknown' : `user ${user.name}`,
    details: { ip, refusedWithinHour: String(count) },
  });
}
