import { createHash } from 'node:crypto';
import { isSamePerson } from '../access/same-person.ts';
import type { Clock, Random } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type StoredUser, userField } from '../ledger/people/people.ts';
import type { LedgerKeySource } from '../ledger-key.ts';
import { type ChangeDeps, changePeople, type Decision } from './change.ts';

const RECOVERY_CODES = 10;
/** 120 bits, which nobody guesses: a plain hash is enough (OWASP ASVS 6.5.2). */
const RECOVERY_BYTES = 15;

export interface FactorDeps extends ChangeDeps {
  readonly ledger: Pick<Ledger, 'people' | 'audit'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'bytes'>;
  /** What seals the secrets of apps. */
  readonly config: LedgerKeySource;
}

interface OwnChange {
  readonly user: StoredUser;
  readonly action: string;
}

/** Makes a change of somebody's own account; false when there is none to make. */
export async function changeOwn(
  deps: ChangeDeps,
  { name, ip }: { readonly name: string; readonly ip: string },
  change: (user: StoredUser) => OwnChange | undefined,
): Promise<boolean> {
  return await changePeople(deps, { actor: name, ip }, ({ users }): Decision<boolean> => {
    const found = users.find((one) => isSamePerson(one.name, name));
    const made = found === undefined ? undefined : change(found);
    if (made === undefined) return { answer: false };
    const { user, action } = made;
    return { answer: true, change: { action, target: `user ${user.name}`, fields: userField(user) } };
  });
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Ten recovery codes, in base32. */
export function newRecoveryCodes(random: Pick<Random, 'bytes'>): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const bits = [...random.bytes(RECOVERY_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('');
  });
}

/** SHA-256, in hex. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
