import type { Role } from '../access/roles.ts';
import { isSamePerson } from '../access/same-person.ts';
import type { Random } from '../clock.ts';
import { noProposal, type PeopleRecord, type StoredUser, userField } from '../ledger/people/people.ts';
import { changePeople, type Decision } from './change.ts';
import { looksLike } from './look-alikes.ts';
import { requireName } from './names.ts';
import { type SignedIn, type SignInDeps, tellRefused } from './sign-in.ts';
import { USERS_MAX } from './users.ts';

const UNKNOWABLE_BYTES = 32;

export interface OidcDeps extends SignInDeps {
  readonly random: Pick<Random, 'bytes'>;
}

/** Somebody for whom an identity provider stands up. */
export interface OidcUser {
  /** As the provider writes it. People may be able to change it there. */
  readonly name: string;
  /** What the provider never gives to somebody else. */
  readonly subject: string;
  /** What the provider's claims make them; null where admins give the roles. */
  readonly role: Role | null;
  /** The provider. */
  readonly issuer: string;
  readonly ip: string;
}

/** What a user has from the moment at which they are added. */
type Fresh = Pick<StoredUser, 'password' | 'addedAt'>;

type Why = 'unknown' | 'disabled' | 'too-many' | 'somebody-else' | 'not-invited' | 'taken';
type Answer = { readonly kind: 'in'; readonly user: SignedIn } | { readonly kind: 'refused'; readonly why: Why };

/**
 * Lets somebody in whom an identity provider vouches for. At the first sign-in the user of exactly that name, whom admins
 * have invited by a one-time secret that still holds, is bound to the provider and its subject, and the secret is void; from
 * then on only the subject counts. Where the provider gives the roles, it also adds users, and its word needs no second
 * admin; whoever was disabled here stays out. Throws a Refusal for a new name that is none.
 */
export async function signInOidcUser(deps: OidcDeps, vouched: OidcUser): Promise<Answer> {
  const { issuer, ip } = vouched;
  // Nobody knows it: a password is for whom an admin resets.
  const password = await deps.passwords.hash(deps.random.bytes(UNKNOWABLE_BYTES).toString('base64url'));
  const addedAt = deps.clock.now();
  const answer = await changePeople(deps, { actor: `payrun for ${issuer}`, ip }, (people) =>
    decide(people, vouched, { password, addedAt }),
  );
  if (answer.kind === 'refused') {
    const user = findOidcUser(await deps.ledger.people.read(), vouched);
    await tellRefused(deps, { user, ip, action: 'user.sign-in-refused' });
    return answer;
  }
  const { name } = answer.user;
  const details = { ip, issuer };
  await deps.ledger.audit.append({ actor: name, action: 'user.signed-in', target: `user ${name}`, details });
  return answer;
}

/** Names are compared as they are: a provider may take `ANNA` for another person than `anna`. */
function findOidcUser({ users }: PeopleRecord, vouched: OidcUser): StoredUser | undefined {
  return users.find((user) => isBound(user, vouched)) ?? users.find(({ name }) => name === vouched.name);
}

function isBound({ vouched }: StoredUser, { issuer, subject }: OidcUser): boolean {
  return vouched?.issuer === issuer && vouched.subject === subject;
}

function decide(people: PeopleRecord, vouched: OidcUser, fresh: Fresh): Decision<Answer> {
  const there = findOidcUser(people, vouched);
  if (there === undefined) return decideNew(people, vouched, fresh);
  if (there.isDisabled) return refused('disabled');
  const role = vouched.role ?? there.role;
  if (!isBound(there, vouched)) return decideFirst(there, { ...vouched, role }, fresh);
  if (role === there.role) return { answer: { kind: 'in', user: { name: there.name, role } } };
  const details = { issuer: vouched.issuer, from: there.role, to: role };
  return written({ ...there, role, epoch: there.epoch + 1 }, { action: 'user.role-changed', details });
}

function decideFirst(
  there: StoredUser,
  { issuer, subject, role }: OidcUser & { readonly role: Role },
  { password, addedAt: now }: Fresh,
): Decision<Answer> {
  if (there.vouched !== null) return refused('somebody-else');
  if (there.secretUntil === null || there.secretUntil <= now) return refused('not-invited');
  const vouched = { issuer, subject };
  const bound = { ...there, password, secretUntil: null, vouched, role, epoch: there.epoch + 1 };
  const roles = role === there.role ? {} : { from: there.role, to: role };
  return written(bound, { action: 'user.bound', details: { issuer, subject, ...roles } });
}

function decideNew({ users }: PeopleRecord, vouched: OidcUser, fresh: Fresh): Decision<Answer> {
  const { name: text, role, issuer, subject } = vouched;
  if (role === null) return refused('unknown');
  if (users.some(({ name }) => isSamePerson(name, text) || looksLike(name, text))) return refused('taken');
  if (users.length >= USERS_MAX) return refused('too-many');
  const name = requireName(text, 'user');
  const account = { name, role, isDisabled: false, secretUntil: null, epoch: 0, addedBy: issuer };
  const user = { ...account, ...fresh, vouched: { issuer, subject }, factor: null };
  return written(user, { action: 'user.added', details: { role, issuer, subject } });
}

function refused(why: Why): Decision<Answer> {
  return { answer: { kind: 'refused', why } };
}

function written(
  user: StoredUser,
  { action, details }: { readonly action: string; readonly details: Readonly<Record<string, string>> },
): Decision<Answer> {
  const target = `user ${user.name}`;
  const fields = { ...userField(user), ...noProposal(target) };
  return {
    answer: { kind: 'in', user: { name: user.name, role: user.role } },
    change: { action, target, details, fields },
  };
}
