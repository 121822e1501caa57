import { beforeEach, describe, expect, test } from 'vitest';
import { findSession, startSession } from '../../src/people/sessions.ts';
import { changePassword, knowDevice, signIn } from '../../src/people/sign-in.ts';
import { addressGroup } from '../../src/people/sign-in-attempts.ts';
import { disableUser } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { add, addWithPassword, IP, PASSWORD, type PeopleRig, peopleRig } from './people-rig.ts';

const DAY_MS = 24 * 60 * 60_000;
const NEW_PASSWORD = 'quite another phrase';

const server = await useTestRedis();
let rig: PeopleRig;

beforeEach(async () => {
  rig = await peopleRig(server.redis);
});

/** Kinds of answers to so many tries with a wrong password, one after another. */
async function guess(name: string, count: number, ipOf: (index: number) => string = () => IP): Promise<string[]> {
  const kinds: string[] = [];
  for (let index = 0; index < count; index++) {
    kinds.push((await signIn(rig, { name, password: `guess ${index}`, ip: ipOf(index) })).kind);
  }
  return kinds;
}

const enter = (name: string, password = PASSWORD, ip = IP) => signIn(rig, { name, password, ip });

const change = (password: string, newPassword: string) =>
  changePassword(rig, { name: 'anna', password, newPassword, ip: IP });

describe('a sign-in', () => {
  test('with the password lets in, in whatever spelling of the name, and is on the audit log', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    expect(await enter(' ANNA ')).toEqual({ kind: 'in', user: { name: 'anna', role: 'admin' } });
    expect(await rig.acts('user.signed-in')).toEqual([
      { actor: 'anna', action: 'user.signed-in', target: 'user anna', details: { ip: IP } },
    ]);
  });

  test('is refused alike for a wrong password, an unknown and a disabled user, and a secret that is too old', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const secret = await add(rig, 'bob', 'maker');
    await addWithPassword(rig, 'cleo', 'maker');
    await disableUser(rig, { name: 'cleo', actor: 'anna' });
    rig.pass(DAY_MS);
    const answers = [
      await enter('anna', 'wrong'),
      await enter('nobody'),
      await enter('cleo'),
      await enter('bob', secret),
    ];
    expect(answers).toEqual([{ kind: 'refused' }, { kind: 'refused' }, { kind: 'refused' }, { kind: 'refused' }]);
  });

  test('does the work of one hash for whomever it refuses', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    await addWithPassword(rig, 'cleo', 'maker');
    await disableUser(rig, { name: 'cleo', actor: 'anna' });
    const worked: boolean[] = [];
    const passwords = {
      ...rig.passwords,
      async verify(password: string, hash: string | undefined) {
        worked.push(hash !== undefined);
        return await rig.passwords.verify(password, hash);
      },
    };
    for (const name of ['anna', 'cleo', 'nobody'])
      await signIn({ ...rig, passwords }, { name, password: 'wrong', ip: IP });
    expect(worked).toEqual([true, true, false]);
  });

  test('that is refused is on the audit log without the password, and without a name that nobody has', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    await enter('anna', 'canary-one');
    await enter('canary-two', 'canary-three');
    const acts = await rig.acts('user.sign-in-refused');
    expect(acts).toEqual([
      {
        actor: 'stranger',
        action: 'user.sign-in-refused',
        target: 'user anna',
        details: { ip: IP, refusedWithinHour: '1' },
      },
      {
        actor: 'stranger',
        action: 'user.sign-in-refused',
        target: 'user unknown',
        details: { ip: IP, refusedWithinHour: '2' },
      },
    ]);
    const keys = await rig.redis.keys(`${rig.prefix}*`);
    expect(keys.join() + JSON.stringify(await rig.acts())).not.toContain('canary');
    expect(keys.join()).not.toContain(IP);
  });
});

describe('a one-time secret', () => {
  test('lets nobody in before they have chosen a password, and then is nothing any more', async () => {
    const secret = await add(rig, 'anna', 'admin');
    expect(await enter('anna', secret)).toEqual({ kind: 'change-password', user: { name: 'anna', role: 'admin' } });
    const choice = { name: 'anna', password: secret, newPassword: PASSWORD, ip: IP };
    expect(await changePassword(rig, choice)).toEqual({ kind: 'changed', user: { name: 'anna', role: 'admin' } });
    expect(await enter('anna', secret)).toEqual({ kind: 'refused' });
    expect(await enter('anna')).toMatchObject({ kind: 'in' });
    expect((await rig.acts()).map(({ action }) => action)).toEqual([
      'user.added',
      'user.secret-accepted',
      'user.password-changed',
      'user.sign-in-refused',
      'user.signed-in',
    ]);
  });
});

describe('another password', () => {
  beforeEach(async () => await addWithPassword(rig, 'anna', 'admin'));

  test('takes the place of the former one, and ends all sessions', async () => {
    const session = await startSession(rig, 'anna');
    expect(await change(PASSWORD, NEW_PASSWORD)).toMatchObject({ kind: 'changed' });
    expect(await findSession(rig, session)).toBeUndefined();
    expect(await enter('anna')).toEqual({ kind: 'refused' });
    expect(await enter('anna', NEW_PASSWORD)).toMatchObject({ kind: 'in' });
  });

  test.each([
    ['is too short', 'short', /fewer than 8/],
    ['is the user’s name', 'anna-anna-1', /first that others would try/],
    ['is the former one', PASSWORD, /is the one that you have/],
  ])('that %s is no choice', async (_what, newPassword, message) => {
    expect(await change(PASSWORD, newPassword)).toEqual({ kind: 'problem', message: expect.stringMatching(message) });
    expect(await enter('anna')).toMatchObject({ kind: 'in' });
  });

  test('is for nobody who does not know the former one, and guessing that is limited as signing in is', async () => {
    for (let tries = 0; tries < 6; tries++)
      expect(await change(`wrong ${tries}`, NEW_PASSWORD)).toEqual({ kind: 'refused' });
    expect(await change(PASSWORD, NEW_PASSWORD)).toMatchObject({ kind: 'wait' });
  });

  test('that is chosen while the user is disabled is not taken', async () => {
    const passwords = {
      ...rig.passwords,
      async hash(password: string) {
        await disableUser(rig, { name: 'anna', actor: 'bob' });
        return await rig.passwords.hash(password);
      },
    };
    const choice = { name: 'anna', password: PASSWORD, newPassword: NEW_PASSWORD, ip: IP };
    expect(await changePassword({ ...rig, passwords }, choice)).toEqual({ kind: 'refused' });
  });
});

describe('guessing', () => {
  test('from one address waits after five tries, each time twice as long, up to a quarter of an hour', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    expect(await guess('anna', 6)).toEqual(Array(6).fill('refused'));
    const waits: number[] = [];
    for (let tries = 0; tries < 13; tries++) {
      const answer = await enter('anna', 'wrong');
      if (answer.kind !== 'wait') throw new Error(`no wait: ${answer.kind}`);
      waits.push(answer.ms / 1000);
      rig.pass(answer.ms);
      expect(await enter('anna', 'wrong')).toEqual({ kind: 'refused' });
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  test('is no use while one has to wait: not even the right password is looked at', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    await guess('anna', 6);
    const answer = await enter('anna');
    expect(answer).toEqual({ kind: 'wait', ms: 1000 });
    rig.pass(1000);
    expect(await enter('anna')).toMatchObject({ kind: 'in' });
  });

  test('is forgotten once the password was right', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    await guess('anna', 5);
    await enter('anna');
    expect(await guess('anna', 6)).toEqual(Array(6).fill('refused'));
  });

  test('a thousand at once are as many as one after another, for a user that there is and for one that there is not', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    for (const name of ['anna', 'nobody']) {
      const tries = Array.from({ length: 1000 }, (_one, index) =>
        signIn(rig, { name, password: `guess ${index}`, ip: `${IP}1` }),
      );
      const kinds = (await Promise.all(tries)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(6);
      expect(kinds.filter((kind) => kind === 'wait')).toHaveLength(994);
    }
    expect(await rig.acts('user.sign-in-refused')).toHaveLength(12);
  });

  test('one address cannot go through names', async () => {
    const kinds: string[] = [];
    for (let index = 0; index < 30; index++) kinds.push(...(await guess(`name ${index}`, 1)));
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(21);
  });

  test('from many addresses is slowed down, and never keeps out whoever signed in from theirs', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const kinds = await guess('anna', 40, (index) => `198.51.100.${index}`);
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(21);
    expect(await enter('anna')).toMatchObject({ kind: 'in' });
    // Elsewhere it takes a moment, and no more.
    const elsewhere = await enter('anna', PASSWORD, '203.0.113.7');
    expect(elsewhere).toMatchObject({ kind: 'wait' });
    rig.pass(10_000);
    expect(await enter('anna', PASSWORD, '203.0.113.7')).toMatchObject({ kind: 'in' });
  });

  test('of strangers does not fill the audit log', async () => {
    await rig.redis.set(`${rig.prefix}:sign-in:refused`, '199');
    await guess('nobody', 3, (index) => `198.51.100.${index}`);
    expect(await rig.acts('user.sign-in-refused')).toMatchObject([{ details: { refusedWithinHour: '200' } }]);
    await rig.redis.set(`${rig.prefix}:sign-in:refused`, '399');
    await guess('nobody', 2, (index) => `198.51.100.${index}`);
    expect(await rig.acts('user.sign-in-refused')).toHaveLength(2);
  });

  test('is remembered for an hour, and what Redis keeps of it goes by itself', async () => {
    await guess('nobody', 1);
    const keys = await rig.redis.keys(`${rig.prefix}:sign-in:*`);
    expect(keys).toHaveLength(4);
    for (const key of keys) {
      const ttl = await rig.redis.pttl(key);
      expect(ttl).toBeGreaterThan(0);
      expect(ttl).toBeLessThanOrEqual(60 * 60_000);
    }
  });

  test('a process that has too many passwords to check says so, and looks at none', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const passwords = { ...rig.passwords, verify: async () => 'busy' as const };
    const credentials = { name: 'anna', password: PASSWORD, ip: IP };
    expect(await signIn({ ...rig, passwords }, credentials)).toEqual({ kind: 'wait', ms: 2000 });
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['::', '0:0:0:0'],
  ['2001:db8:1:2:3:4:5::', '2001:db8:1:2'],
  ['no address', 'no address'],
])('the address %s counts as %s', (ip, group) => {
  expect(addressGroup(ip)).toBe(group);
});

const known = async (name: string) => (await knowDevice(rig, { name, device: undefined })).device;

describe('a device that signed in before', () => {
  test('is let in however many wrong tries came from its address and with its name', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const device = await known('anna');
    for (let index = 0; index < 31; index++) await signIn(rig, { name: `user ${index}`, password: 'x', ip: IP });
    await guess('anna', 31, (index) => `198.51.100.${index}`);
    expect(await enter('anna')).toMatchObject({ kind: 'wait' });
    const credentials = { name: 'Anna', password: PASSWORD, ip: IP };
    expect(await signIn(rig, { ...credentials, device })).toMatchObject({ kind: 'in' });
  });

  test('is known for its own account alone, for 30 days, and only by what it was given', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    await addWithPassword(rig, 'bob', 'maker');
    const device = await known('bob');
    const key = (await rig.redis.keys(`${rig.prefix}:sign-in:known:*`)).map(async (one) => await rig.redis.pttl(one));
    expect(Math.max(...(await Promise.all(key)))).toBeLessThanOrEqual(30 * DAY_MS);
    await guess('anna', 6);
    for (const one of [device, 'A'.repeat(43), '', 'x'.repeat(5000)]) {
      expect(await signIn(rig, { name: 'anna', password: PASSWORD, ip: IP, device: one })).toMatchObject({
        kind: 'wait',
      });
    }
    expect((await rig.redis.keys(`${rig.prefix}*`)).join()).not.toContain(device);
    expect((await knowDevice(rig, { name: 'bob', device })).device).toBe(device);
    expect((await knowDevice(rig, { name: 'bob', device: 'short' })).device).toMatch(/^[\w-]{43}$/);
  });

  test('waits after five wrong tries of its own', async () => {
    await addWithPassword(rig, 'anna', 'admin');
    const device = await known('anna');
    const wrong = { name: 'anna', password: 'wrong', ip: IP, device };
    for (let tries = 0; tries < 6; tries++) expect((await signIn(rig, wrong)).kind).toBe('refused');
    expect(await signIn(rig, { ...wrong, password: PASSWORD })).toEqual({ kind: 'wait', ms: 1000 });
  });
});
