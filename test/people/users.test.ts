import { beforeEach, describe, expect, test } from 'vitest';
import { verifyAudit } from '../../src/audit/verify.ts';
import { findSession, startSession } from '../../src/people/sessions.ts';
import { signIn } from '../../src/people/sign-in.ts';
import { addUser, changeRole, disableUser, enableUser, listUsers, resetUser } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { add, addWithPassword, IP, PASSWORD, type PeopleRig, peopleRig } from './people-rig.ts';

const DAY_MS = 24 * 60 * 60_000;

const server = await useTestRedis();
let rig: PeopleRig;

beforeEach(async () => {
  rig = await peopleRig(server.redis);
});

const names = async (): Promise<string[]> => (await listUsers(rig)).users.map(({ name }) => name);

/** `anna` and `bob`, of whom one proposes and the other confirms. */
async function twoAdmins(): Promise<void> {
  await add(rig, 'anna', 'admin');
  await addUser(rig, { name: 'bob', role: 'admin', actor: 'anna' });
}

describe('the first user', () => {
  test('is an admin, made by one person, with a secret that holds a day and stands nowhere', async () => {
    const added = await addUser(rig, { name: ' Anna  Berg ', role: 'admin', actor: 'ops' });
    const secretUntil = rig.clock.now() + DAY_MS;
    expect(added).toMatchObject({
      kind: 'done',
      user: { name: 'Anna  Berg', role: 'admin', isDisabled: false, secretUntil },
    });
    const secret = 'secret' in added ? added.secret : '';
    expect(Buffer.from(secret, 'base64url')).toHaveLength(16);
    const stored = JSON.stringify(await rig.redis.hgetall(rig.keys.people)) + JSON.stringify(await rig.acts());
    expect(stored).not.toContain(secret);
    expect(await rig.acts()).toEqual([
      { actor: 'ops', action: 'user.added', target: 'user Anna  Berg', details: { role: 'admin' } },
    ]);
  });

  test('cannot be anything else', async () => {
    await expect(addUser(rig, { name: 'anna', role: 'maker', actor: 'anna' })).rejects.toThrow('There is no admin yet');
  });

  test('adds others alone while nobody else is an admin', async () => {
    await twoAdmins();
    expect(await names()).toEqual(['anna', 'bob']);
  });
});

describe('a name', () => {
  test.each(['ANNA', ' anna ', 'ａｎｎａ'])('is taken by whoever has it in another spelling: %j', async (name) => {
    await add(rig, 'anna', 'admin');
    await expect(addUser(rig, { name, role: 'maker', actor: 'anna' })).rejects.toThrow('There is a user anna already');
  });

  test('is none that is taken for another one at a glance', async () => {
    await add(rig, 'Bepa', 'admin');
    await expect(addUser(rig, { name: 'Вера', role: 'maker', actor: 'Bepa' })).rejects.toThrow(
      'Вера looks like the user Bepa.',
    );
  });

  test.each<[name: string, why: RegExp]>([
    ['', /begin and end with a letter/],
    ['a|b', /begin and end/],
    ['anna\u202e', /begin and end/],
    ['\u0430nna', /not of one alphabet/],
    ['key accounting', /payrun names its own doings so/],
    ['Process 7', /own doings/],
    ['a'.repeat(65), /more than 64/],
  ])('that is none is refused: %j', async (name, why) => {
    await expect(addUser(rig, { name, role: 'admin', actor: 'anna' })).rejects.toThrow(why);
  });
});

describe('once there is another admin', () => {
  beforeEach(twoAdmins);

  test('a user is added when another person confirms the same', async () => {
    expect(await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna', ip: IP })).toMatchObject({
      kind: 'proposed',
    });
    expect(await names()).toEqual(['anna', 'bob']);
    const { proposals } = await listUsers(rig);
    expect(proposals).toEqual([{ target: 'user cleo', what: 'add as maker', by: 'anna', at: rig.clock.now() }]);
    const added = await addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' });
    expect(added).toMatchObject({ kind: 'done', user: { name: 'cleo', addedBy: 'bob' } });
    expect((await listUsers(rig)).proposals).toEqual([]);
    expect((await rig.acts()).slice(-2)).toEqual([
      {
        actor: 'anna',
        action: 'user.added-proposed',
        target: 'user cleo',
        details: { role: 'maker', what: 'add as maker', ip: IP },
      },
      { actor: 'bob', action: 'user.added', target: 'user cleo', details: { role: 'maker', proposedBy: 'anna' } },
    ]);
  });

  test.each(['addUser', 'resetUser'] as const)(
    'the secret of %s is shown to who proposes it alone, and is good for nothing before it is confirmed',
    async (act) => {
      const ask = (actor: string) =>
        act === 'addUser'
          ? addUser(rig, { name: 'cleo', role: 'maker', actor })
          : resetUser(rig, { name: 'cleo', actor });
      if (act === 'resetUser') await addWithPassword(rig, 'cleo', 'maker');
      const proposed = await ask('anna');
      const password = 'secret' in proposed ? proposed.secret : '';
      expect(Buffer.from(password, 'base64url')).toHaveLength(16);
      const attempt = async () => (await signIn(rig, { name: 'cleo', password, ip: IP })).kind;
      expect(await attempt()).toBe('refused');
      const stored = JSON.stringify([await rig.redis.hgetall(rig.keys.people), await rig.acts()]);
      expect(stored).not.toContain(password);
      rig.pass(3 * DAY_MS);
      const confirmed = await ask('bob');
      const secretUntil = rig.clock.now() + DAY_MS;
      expect(confirmed).toMatchObject({ kind: 'done', user: { name: 'cleo', secretUntil } });
      expect(confirmed).not.toHaveProperty('secret');
      expect(JSON.stringify((await listUsers(rig)).proposals)).not.toContain('scrypt');
      expect(await attempt()).toBe('change-password');
    },
  );

  test('nobody confirms their own proposal, in whatever spelling', async () => {
    await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna' });
    await expect(addUser(rig, { name: 'cleo', role: 'maker', actor: ' ANNA' })).rejects.toThrow(
      'another person has to',
    );
    expect(await names()).toEqual(['anna', 'bob']);
  });

  test('another role is another proposal, which takes the place of the first', async () => {
    await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna' });
    expect(await addUser(rig, { name: 'cleo', role: 'admin', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
    expect(await addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
    expect(await names()).toEqual(['anna', 'bob']);
  });

  test('a proposal that nobody confirms within a week is void', async () => {
    await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna' });
    rig.pass(7 * DAY_MS);
    expect(await addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
  });

  test('one person withdraws it', async () => {
    await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna' });
    await disableUser(rig, { name: 'cleo', actor: 'bob' });
    expect(await addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
    expect(await rig.acts('user.add-withdrawn')).toHaveLength(1);
  });

  test('two that confirm at once make one user, and each of them is told what is so', async () => {
    await addUser(rig, { name: 'cleo', role: 'maker', actor: 'anna' });
    const both = await Promise.allSettled([
      addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' }),
      addUser(rig, { name: 'cleo', role: 'maker', actor: 'bob' }),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await rig.acts('user.added')).toHaveLength(3);
  });

  test.each<[what: string, ask: (actor: string) => Promise<{ kind: string }>, action: string]>([
    ['a role', (actor) => changeRole(rig, { name: 'bob', role: 'maker', actor }), 'user.role-changed'],
    ['a new secret', (actor) => resetUser(rig, { name: 'bob', actor }), 'user.reset'],
    ['coming back', (actor) => enableUser(rig, { name: 'bob', actor }), 'user.enabled'],
  ])('%s needs two people', async (what, ask, action) => {
    if (what === 'coming back') await disableUser(rig, { name: 'bob', actor: 'anna' });
    const before = (await listUsers(rig)).users;
    expect(await ask('anna')).toMatchObject({ kind: 'proposed' });
    expect((await listUsers(rig)).users).toEqual(before);
    await expect(ask('anna')).rejects.toThrow('anna has proposed this');
    expect(await ask('cleo')).toMatchObject({ kind: 'done', user: { name: 'bob' } });
    expect(await rig.acts(action)).toMatchObject([
      { actor: 'cleo', target: 'user bob', details: { proposedBy: 'anna' } },
    ]);
  });

  test('whoever disabled the others cannot act alone', async () => {
    await disableUser(rig, { name: 'bob', actor: 'anna' });
    expect(await addUser(rig, { name: 'anna 2', role: 'checker', actor: 'anna' })).toMatchObject({ kind: 'proposed' });
  });
});

describe('disabling', () => {
  test('takes one person, ends the sessions at once, voids what is proposed, and keeps the user out', async () => {
    await twoAdmins();
    await addWithPassword(rig, 'cleo', 'maker');
    const session = await startSession(rig, 'cleo');
    await resetUser(rig, { name: 'cleo', actor: 'anna' });
    await disableUser(rig, { name: 'CLEO', actor: 'bob', ip: IP });
    expect(await findSession(rig, session)).toBeUndefined();
    expect((await listUsers(rig)).proposals).toEqual([]);
    expect(await signIn(rig, { name: 'cleo', password: PASSWORD, ip: IP })).toEqual({ kind: 'refused' });
    expect(await rig.acts('user.disabled')).toMatchObject([{ actor: 'bob', target: 'user cleo', details: { ip: IP } }]);
  });

  test('a second time changes nothing, and nobody is there to be disabled under another name', async () => {
    await twoAdmins();
    await disableUser(rig, { name: 'bob', actor: 'anna' });
    await disableUser(rig, { name: 'bob', actor: 'anna' });
    expect(await rig.acts('user.disabled')).toHaveLength(1);
    await expect(disableUser(rig, { name: 'rob', actor: 'anna' })).rejects.toThrow('There is no user rob');
  });

  test('ends no session of a user who is let in again later', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const session = await startSession(rig, 'anna');
    await disableUser(rig, { name: 'anna', actor: 'anna' });
    await enableUser(rig, { name: 'anna', actor: 'anna' });
    expect(await findSession(rig, session)).toBeUndefined();
    expect(await signIn(rig, { name: 'anna', password: PASSWORD, ip: IP })).toMatchObject({ kind: 'in' });
  });
});

describe('a role', () => {
  test('of the last admin cannot be taken', async () => {
    await twoAdmins();
    await disableUser(rig, { name: 'bob', actor: 'anna' });
    await expect(changeRole(rig, { name: 'anna', role: 'viewer', actor: 'bob' })).rejects.toThrow(
      'anna is the only admin',
    );
  });

  test('that somebody has already changes nothing, also not their sessions', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const session = await startSession(rig, 'anna');
    expect(await changeRole(rig, { name: 'anna', role: 'admin', actor: 'anna' })).toMatchObject({ kind: 'done' });
    expect(await findSession(rig, session)).toMatchObject({ name: 'anna' });
    expect(await rig.acts('user.role-changed')).toEqual([]);
  });

  test('that is changed ends the sessions', async () => {
    await add(rig, 'anna', 'admin');
    await addWithPassword(rig, 'cleo', 'maker');
    const session = await startSession(rig, 'cleo');
    await changeRole(rig, { name: 'cleo', role: 'checker', actor: 'anna' });
    expect(await findSession(rig, session)).toBeUndefined();
    expect(await rig.acts('user.role-changed')).toMatchObject([{ details: { from: 'maker', to: 'checker' } }]);
  });
});

test('ten changes at once are all made, each with its entry in a chain that holds', async () => {
  await add(rig, 'anna', 'admin');
  const many = Array.from({ length: 10 }, (_one, index) => `user ${index}`);
  await Promise.all(many.map((name) => addUser(rig, { name, role: 'maker', actor: 'anna' })));
  expect(await names()).toEqual(['anna', ...many]);
  expect(await rig.acts('user.added')).toHaveLength(11);
  expect((await verifyAudit(rig.ledger.audit, { known: null })).findings).toEqual([]);
});
