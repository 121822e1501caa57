import { ROLES, type Role } from '../../access/roles.ts';
import type { OidcSettings } from '../../config/web.ts';

/** Who an ID token says somebody is, and what they may be here; or what is missing in it, in words for people. */
export type Claimed =
  | { readonly name: string; readonly subject: string; readonly role: Role | null }
  | { readonly problem: string };

/** OpenID Connect Core 1.0, section 2. */
const SUBJECT_CHARACTERS_MAX = 255;

/** Reads the claims of an ID token as the settings say. Of several roles the one that may most counts. */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
  settings: Pick<OidcSettings, 'nameClaim' | 'users'>,
): Claimed {
  const { nameClaim, users } = settings;
  const name = claims[nameClaim];
  if (typeof name !== 'string' || name.trim() === '') {
    return { problem: `The identity provider did not say "${nameClaim}", which is the name of a user here.` };
  }
  // An address that its owner never proved may be anybody's.
  if (nameClaim === 'email' && claims['email_verified'] !== true) {
    return { problem: 'The identity provider has not verified your e-mail address, which is the name of a user here.' };
  }
  const subject = claims['sub'];
  if (typeof subject !== 'string' || subject === '' || subject.length > SUBJECT_CHARACTERS_MAX) {
    return { problem: 'The identity provider did not say by "sub" who you are.' };
  }
  if (users === 'known') return { name, subject, role: null };
  const given = [claims[users.claim]].flat().filter((value) => typeof value === 'string');
  const role = ROLES.toReversed().find((one) => given.some((value) => users.roles.get(value) === one));
  if (role === undefined) return { problem: `By the identity provider's "${users.claim}" you have no role here.` };
  return { name, subject, role };
}
