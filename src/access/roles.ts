export const ROLES = ['viewer', 'maker', 'checker', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** What a program's key may be: it prepares and stops; whatever needs a second person needs a person. */
export const KEY_ROLES = ['viewer', 'maker'] as const satisfies readonly Role[];
export type KeyRole = (typeof KEY_ROLES)[number];

/**
 * Who may do what. Stopping is for everybody who works with runs; letting go is not for whoever hands in. `settle` is to
 * allow, drop, resolve and release, for which the ledger asks two people (docs/security.md); `audit` is to read the log.
 */
export const PERMISSIONS = {
  read: ROLES,
  audit: ROLES,
  submit: ['maker', 'checker', 'admin'],
  preview: ['maker', 'checker', 'admin'],
  pause: ['maker', 'checker', 'admin'],
  cancel: ['maker', 'checker', 'admin'],
  halt: ['maker', 'checker', 'admin'],
  settle: ['maker', 'checker', 'admin'],
  resume: ['checker', 'admin'],
  approve: ['checker', 'admin'],
  block: ['checker', 'admin'],
  schedule: ['checker', 'admin'],
  settings: ['admin'],
  users: ['admin'],
  queues: ['admin'],
} as const satisfies Record<string, readonly Role[]>;
export type Act = keyof typeof PERMISSIONS;

const KEY_ACTS: ReadonlySet<Act> = new Set<Act>(['read', 'submit', 'preview', 'pause', 'cancel', 'halt']);

/** Whether a person with this role may do it. */
export function may(role: Role, act: Act): boolean {
  const allowed: readonly Role[] = PERMISSIONS[act];
  return allowed.includes(role);
}

/** Whether a program with a key of this role may do it: nothing that is decided by people, and no reading about them. */
export function mayKey(role: KeyRole, act: Act): boolean {
  return KEY_ACTS.has(act) && may(role, act);
}
