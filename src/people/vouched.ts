import type { Random } from '../clock.ts';
import { noProposal, type PeopleRecord, type StoredUser, userField } from '../ledger/people.ts';
import { changePeople, type Decision } from './change.ts';
import { requireName } from './names.ts';
import type { Role } from './roles.ts';
import { isSamePerson } from './same-person.ts';
import { type SignedIn, type SignInDeps, tellRefused } from './sign-in.ts';
import { USERS_MAX } from './users.ts';

const UNKNOWABLE_BYTES = 32;

export interface VouchedDeps extends SignInDeps {
  readonly random: Pick<Random, 'bytes'>;
}

/** Somebody for whom an identity provider stands up. */
export interface Vouched {
  readonly name: string;
  /** What the provider's claims make them; null where admins give the roles. */
  readonly role: Role | null;
  /** The provider. */
  readonly issuer: string;
  readonly ip: string;
}

/** What a user has from the moment at which they are added. */
type Fresh = Pick<StoredUser, 'password' | 'addedAt'>;

type Answer =
  | { readonly kind: 'in'; readonly user: SignedIn }
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'disabled' | 'too-many' };

/**
 * Lets somebody in whom an identity provider vouches for. Where the provider gives the roles, it also adds them, and its
 * word needs no second admin; whoever was disabled here stays out. A one-time secret that was never used is void. Throws a
 * Refusal (exit 2) for a new name that is none.
 */
export async function letInVouched(deps: VouchedDeps, vouched: Vouched): Promise<Answer> {
  const { issuer, ip } = vouched;
  // Nobody knows it: a password is for whom an admin resets.
  const password = await deps.passwords.hash(deps.random.bytes(UNKNOWABLE_BYTES).toString('base64url'));
  const addedAt = deps.clock.now();
  const answer = await changePeople(deps, { actor: `payrun for ${issuer}`, ip }, (people) =>
    decide(people, vouched, { password, addedAt }),
  );
  if (answer.kind === 'refused') {
    const { users } = await deps.ledger.people.read();
    await tellRefused(
      deps,
      users.find(({ name }) => isSamePerson(name, vouched.name)),
      ip,
    );
    return answer;
  }
  const { name } = answer.user;
  const details = { ip, issuer };
  await deps.ledger.audit.append({ actor: name, action: 'user.signed-in', target: `user ${name}`, details });
  return answer;
}

function decide(people: PeopleRecord, vouched: Vouched, fresh: Fresh): Decision<Answer> {
  const there = people.users.find(({ name }) => isSamePerson(name, vouched.name));
  if (there === undefined) return decideNew(people, vouched, fresh);
  if (there.isDisabled) return refused('disabled');
  const { issuer } = vouched;
  const role = vouched.role ?? there.role;
  const isPending = there.secretUntil !== null;
  if (!isPending && role === there.role) return { answer: { kind: 'in', user: { name: there.name, role } } };
  const known = isPending ? { password: fresh.password, secretUntil: null } : {};
  return written(
    { ...there, ...known, role, epoch: there.epoch + 1 },
    role === there.role
      ? { action: 'user.secret-voided', details: { issuer } }
      : { action: 'user.role-changed', details: { issuer, from: there.role, to: role } },
  );
}

function decideNew({ users }: PeopleRecord, { name: text, role, issuer }: Vouched, fresh: Fresh): Decision<Answer> {
  if (role === null) return refused('unknown');
  if (users.length >= USERS_MAX) return refused('too-many');
  const name = requireName(text, 'user');
  const user = { name, role, isDisabled: false, secretUntil: null, epoch: 0, addedBy: issuer, ...fresh };
  return written(user, { action: 'user.added', details: { role, issuer } });
}

function refused(why: Extract<Answer, { kind: 'refused' }>['why']): Decision<Answer> {
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
