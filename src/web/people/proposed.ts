import { KEY_ROLES, ROLES } from '../../access/roles.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import { REMOVE_FACTOR } from '../../people/second-factor.ts';

/** A form of ours: where it goes, and what it says. */
export interface SameAct {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * The form by which another admin does what one has proposed; undefined for what only the command line can say. Who
 * confirms names the act again: if the proposal has changed since, theirs is a new one.
 */
export function sameAct({ target, what }: Proposal): SameAct | undefined {
  const [, kind, name = ''] = /^(user|key) (.+)$/.exec(target) ?? [];
  if (kind === 'user') return sameUserAct(name, what);
  const [, word, days] = /^make it as ([a-z]+)(?: for ([0-9]+) days)?$/.exec(what) ?? [];
  const role = KEY_ROLES.find((one) => one === word);
  if (kind !== 'key' || role === undefined) return undefined;
  return { action: '/keys', fields: { name, role, ...(days === undefined ? {} : { days }) } };
}

function sameUserAct(name: string, what: string): SameAct | undefined {
  if (what === 'enable' || what === 'reset') return { action: `/users/${what}`, fields: { name } };
  if (what === REMOVE_FACTOR) return { action: '/users/factor', fields: { name } };
  const [, verb, word] = /^(add as|give the role) ([a-z]+)$/.exec(what) ?? [];
  const role = ROLES.find((one) => one === word);
  if (role === undefined) return undefined;
  return { action: verb === 'add as' ? '/users' : '/users/role', fields: { name, role } };
}
