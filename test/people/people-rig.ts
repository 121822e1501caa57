import type { Redis } from 'ioredis';
import type { Role } from '../../src/access/roles.ts';
import type { AuditAct } from '../../src/audit/entry.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { type Clock, systemRandom } from '../../src/clock.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerKeySource } from '../../src/ledger-key.ts';
import { openPasswords, type Passwords } from '../../src/people/password.ts';
import { changePassword, type SignInDeps } from '../../src/people/sign-in.ts';
import { addUser, type UserDeps } from '../../src/people/users.ts';
import { all } from '../audit/audit-rig.ts';
import { freshPrefix } from '../support/redis.ts';

export const CHEAP = { N: 2 ** 8, r: 8, p: 1 };
export const PASSWORD = 'four words for this test';
export const IP = '192.0.2.1';

export interface PeopleRig {
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: typeof systemRandom;
  readonly passwords: Passwords;
  readonly redis: Redis;
  /** The test may change its keys. */
  config: LedgerKeySource;
  readonly prefix: string;
  readonly keys: ReturnType<typeof ledgerKeys>;
  /** Lets time pass, for all but Redis. */
  pass(ms: number): void;
  /** The audit log without its beginning, of these actions when they are named. */
  acts(...actions: string[]): Promise<Pick<AuditAct, 'actor' | 'action' | 'target' | 'details'>[]>;
}

/** Nobody yet, on a ledger of its own, at a time that only the test moves. */
export async function peopleRig(redis: Redis): Promise<PeopleRig> {
  const prefix = freshPrefix();
  const ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: 'dir-a' });
  await ledger.state.open({
    knownInstance: '',
    newInstance: prefix,
    service: 'sandbox',
    safety: 'test',
    requireMatch: true,
  });
  let now = Date.parse('2026-01-31T09:00:00Z');
  return {
    ledger,
    clock: { now: () => now },
    random: systemRandom,
    passwords: openPasswords(systemRandom, CHEAP),
    config: { ledgerKey: ['k'.repeat(32)], service: undefined },
    redis,
    prefix,
    keys: ledgerKeys(prefix),
    pass(ms) {
      now += ms;
    },
    async acts(...actions) {
      const entries = (await all(ledger.audit.lines())).slice(1).map((line) => readEntry(line));
      return entries.flatMap((entry) => {
        if (entry === undefined) throw new Error('an entry of the audit log is damaged');
        const { actor, action, target, details } = entry;
        return actions.length > 0 && !actions.includes(action) ? [] : [{ actor, action, target, details }];
      });
    },
  };
}

/** Adds a user, with a second person where that is needed; gives the one-time secret. */
export async function add(rig: UserDeps, name: string, role: Role): Promise<string> {
  const first = await addUser(rig, { name, role, actor: 'one' });
  if (first.kind === 'proposed') await addUser(rig, { name, role, actor: 'another' });
  if (!('secret' in first)) throw new Error('not added');
  return first.secret;
}

/** The same for one who has chosen `PASSWORD`. */
export async function addWithPassword(rig: UserDeps & SignInDeps, name: string, role: Role): Promise<void> {
  const password = await add(rig, name, role);
  const { kind } = await changePassword(rig, { name, password, newPassword: PASSWORD, ip: IP });
  if (kind !== 'changed') throw new Error(`not changed: ${kind}`);
}
