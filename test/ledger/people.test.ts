import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyAudit } from '../../src/audit/verify.ts';
import { type PeopleChange, proposalField, type StoredUser, userField } from '../../src/ledger/people/people.ts';
import { CHANGE_PEOPLE } from '../../src/ledger/scripts/people.ts';
import { type AuditRig, all, auditRig } from '../audit/audit-rig.ts';
import { useTestRedis } from '../support/redis.ts';

const ANNA: StoredUser = {
  name: 'Anna',
  role: 'admin',
  isDisabled: false,
  password: 'hash',
  secretUntil: null,
  epoch: 0,
  addedBy: 'ops',
  addedAt: 1,
  vouched: null,
  factor: null,
};
const ADDED = { actor: 'ops', action: 'user.added', target: 'user Anna', details: { role: 'admin' } };

const server = await useTestRedis();
let rig: AuditRig;

beforeEach(async () => {
  rig = await auditRig(server.redis);
});
afterEach(() => {
  rmSync(rig.dataDir, { recursive: true, force: true });
});

function changeOf(other: Partial<PeopleChange> = {}): PeopleChange {
  return { version: 0, act: ADDED, fields: userField(ANNA), ...other };
}

const entries = async (): Promise<string[]> => await all(rig.ledger.audit.lines());

test('a change is made together with its entry, which is copied to the data directory as any other', async () => {
  const { people, audit } = rig.ledger;
  expect(await people.change(changeOf())).toBe('made');
  expect(await people.read()).toEqual({ version: 1, users: [ANNA], keys: [], proposals: [] });
  expect(await entries()).toEqual([
    expect.stringContaining('"ledger.made"'),
    expect.stringContaining('"actor":"ops","action":"user.added","target":"user Anna","details":{"role":"admin"}'),
  ]);
  expect(await audit.copies()).toHaveLength(2);
  expect(await verifyAudit(audit, { known: null })).toMatchObject({ findings: [], uncopied: 0, entries: 2 });
});

test('a change that was decided on what is no more leaves neither a trace nor an entry', async () => {
  const { people } = rig.ledger;
  await people.change(changeOf());
  const before = await entries();
  expect(await people.change(changeOf({ fields: userField({ ...ANNA, role: 'viewer' }) }))).toBe('changed');
  expect((await people.read()).users).toEqual([ANNA]);
  expect(await entries()).toEqual(before);
});

test('an audit log that cannot be written keeps the change out', async () => {
  await rig.redis.set(rig.key, 'no list');
  await expect(rig.ledger.people.change(changeOf())).rejects.toThrow('WRONGTYPE');
  expect((await rig.ledger.people.read()).users).toEqual([]);
});

test('the same call again, whose reply was lost, changes nothing and answers as the first', async () => {
  const { people } = rig.ledger;
  await people.change(changeOf());
  const [first = '', line = ''] = await entries();
  const key = rig.key.replace(/:audit$/, ':people');
  const call = (await rig.redis.hget(key, 'last-call')) ?? '';
  const args = ['1', first.slice(0, 64), line, '0', call, ...Object.entries(userField(ANNA)).flat()];
  expect(await rig.redis.eval(CHANGE_PEOPLE, 1, rig.key.replace(/:audit$/, ''), ...args)).toBe('made');
  // Another call that makes the very same change at the same moment is told that somebody was faster.
  const other = args.with(4, 'another call');
  expect(await rig.redis.eval(CHANGE_PEOPLE, 1, rig.key.replace(/:audit$/, ''), ...other)).toBe('changed');
  expect(await people.read()).toMatchObject({ version: 1, users: [ANNA] });
  expect(await entries()).toHaveLength(2);
});

test('entries that Redis lost come back before the change, which is made once', async () => {
  const { people, audit } = rig.ledger;
  await people.change(changeOf());
  // Redis goes back to before it knew of anybody; the data directory has the entry.
  await rig.redis.rpop(rig.key);
  await rig.redis.del(rig.key.replace(/audit$/, 'people'));
  expect(await people.change(changeOf())).toBe('made');
  expect(await people.read()).toMatchObject({ version: 1, users: [ANNA] });
  expect((await entries()).filter((line) => line.includes('user.added'))).toHaveLength(2);
  expect((await verifyAudit(audit, { known: null })).findings).toEqual([]);
});

test('of changes at once on one version one is made, also when their entries are the same', async () => {
  const { people } = rig.ledger;
  const users = Array.from({ length: 5 }, (_one, index) => ({ ...ANNA, password: `hash ${index}` }));
  const answers = await Promise.all(users.map((user) => people.change(changeOf({ fields: userField(user) }))));
  const { version, users: kept } = await people.read();
  expect(answers.filter((answer) => answer === 'changed')).toHaveLength(4);
  expect(kept).toEqual([users[answers.indexOf('made')]]);
  expect(version).toBe(1);
  expect(await entries()).toHaveLength(2);
});

test('changes and other entries at once all find their place in the chain', async () => {
  const { people, audit } = rig.ledger;
  const other = (number: number) => audit.append({ ...ADDED, action: 'run.paused', target: `run ${number}` });
  const [answer] = await Promise.all([people.change(changeOf()), other(1), other(2), other(3)]);
  expect(answer).toBe('made');
  expect(await verifyAudit(audit, { known: null })).toMatchObject({ findings: [], entries: 5 });
});

test('users are found by any spelling of their name; a removed field is gone', async () => {
  const { people } = rig.ledger;
  const proposal = { target: 'user Cleo', what: 'add as maker', by: 'Anna', at: 1, hashes: { password: 'h' } };
  await people.change(changeOf({ fields: { ...userField(ANNA), ...proposalField(proposal) } }));
  expect(await people.user(' ANNA ')).toEqual(ANNA);
  expect(await people.user('cleo')).toBeUndefined();
  expect((await people.read()).proposals).toEqual([proposal]);
  await people.change(changeOf({ version: 1, fields: { 'proposal user cleo': '' } }));
  expect((await people.read()).proposals).toEqual([]);
});

test('people are kept where Redis keeps all else: a restart forgets nobody', async () => {
  const own = await useTestRedis();
  try {
    const other = await auditRig(own.redis);
    await other.ledger.people.change(changeOf());
    await own.restart('SIGKILL');
    expect((await other.ledger.people.read()).users).toEqual([ANNA]);
    rmSync(other.dataDir, { recursive: true, force: true });
  } finally {
    await own.stop();
  }
});
