import { beforeEach, describe, expect, test } from 'vitest';
import {
  acceptFactor,
  offerFactor,
  ownFactor,
  proveFactor,
  readOffer,
  removeFactor,
  renewRecoveryCodes,
} from '../../src/people/second-factor.ts';
import { awaitedName, findSession, ownSessions, renewSession, startSession } from '../../src/people/sessions.ts';
import { changePassword, signIn } from '../../src/people/sign-in.ts';
import { listUsers, resetUser } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { codeAt, wrongCodeAt } from './authenticator.ts';
import { addWithPassword, IP, PASSWORD, type PeopleRig, peopleRig } from './people-rig.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

const server = await useTestRedis();
let rig: PeopleRig;

beforeEach(async () => {
  rig = await peopleRig(server.redis);
  await addWithPassword(rig, 'anna', 'admin');
});

const prove = (code: string, name = 'anna', ip = IP) => proveFactor(rig, { name, code, ip, origin: '' });
const now = (): number => rig.clock.now();

/** Sets an app up for anna; gives its secret, and what came of it. */
async function setUp() {
  const begun = await startSession(rig, 'anna');
  const before = (await awaitedName(rig, begun)) === undefined ? begun : ((await renewSession(rig, begun)) ?? '');
  const name = 'anna';
  const own = { id: before, name };
  await offerFactor(rig, own);
  const { secret, uri } = (await readOffer(rig, own)) ?? { secret: '', uri: '' };
  const result = await acceptFactor(rig, { id: before, name, code: codeAt(secret, now()), ip: IP });
  if (result.kind !== 'set-up') throw new Error(`not set up: ${result.kind}`);
  rig.pass(MINUTE_MS);
  return { secret, uri, before, ...result };
}

describe('setting up an authenticator app', () => {
  test('keeps its secret from who reads Redis, and from the account of somebody else', async () => {
    await addWithPassword(rig, 'bob', 'viewer');
    const { secret } = await setUp();
    const own = { id: await startSession(rig, 'anna'), name: 'anna' };
    await offerFactor(rig, own);
    const offered = (await readOffer(rig, own))?.secret ?? '';
    const kept = await Promise.all([
      rig.redis.hgetall(rig.keys.people),
      ...(await rig.redis.keys(`${rig.prefix}:sign-in:offer:*`)).map(async (key) => await rig.redis.get(key)),
    ]);
    expect(JSON.stringify(kept)).toContain('sealed.');
    for (const each of [secret, offered]) expect(JSON.stringify(kept)).not.toContain(each);

    const [anna, bob] = await Promise.all(
      ['anna', 'bob'].map((name) => rig.redis.hget(rig.keys.people, `user ${name}`)),
    );
    const { factor } = JSON.parse(anna ?? '');
    await rig.redis.hset(rig.keys.people, 'user bob', JSON.stringify({ ...JSON.parse(bob ?? ''), factor }));
    await rig.ledger.people.sealAsTheyStand(await rig.ledger.people.digest());
    await expect(prove(codeAt(secret, now()), 'bob')).rejects.toThrow('cannot be read');
  });

  test('holds on while a former key is a later line, and not without it', async () => {
    const { secret } = await setUp();
    const [former = ''] = rig.config.ledgerKey ?? [];
    rig.config = { ...rig.config, ledgerKey: ['n'.repeat(32), former] };
    expect(await prove(codeAt(secret, now()))).toMatchObject({ kind: 'proven' });
    rig.pass(MINUTE_MS);
    rig.config = { ledgerKey: undefined, service: { clientSecret: former } };
    expect(await prove(codeAt(secret, now()))).toMatchObject({ kind: 'proven' });
    rig.pass(MINUTE_MS);
    rig.config = { ...rig.config, ledgerKey: ['n'.repeat(32)] };
    await expect(prove(codeAt(secret, now()))).rejects.toThrow('cannot be read');
  });

  test('takes a code of it; its session goes on, all others end, and it is on the audit log without the secret', async () => {
    const other = await startSession(rig, 'anna');
    const { id, before, secret, uri, recoveryCodes } = await setUp();
    expect(uri).toBe(`otpauth://totp/payrun:anna?issuer=payrun&secret=${secret}&algorithm=SHA1&digits=6&period=30`);
    expect(Buffer.byteLength(secret)).toBe(32);
    expect([await findSession(rig, before), await findSession(rig, other)]).toEqual([undefined, undefined]);
    expect(await findSession(rig, id)).toMatchObject({ name: 'anna', hasFactor: true });
    expect(await ownFactor(rig, 'anna')).toEqual({
      since: now() - MINUTE_MS,
      hasApp: true,
      passkeys: [],
      recoveryCodesLeft: 10,
    });
    expect((await listUsers(rig)).users).toMatchObject([{ name: 'anna', hasFactor: true }]);
    const acts = await rig.acts('user.second-factor-added');
    expect(acts).toMatchObject([{ actor: 'anna', target: 'user anna', details: { ip: IP } }]);
    expect(JSON.stringify(acts)).not.toContain(secret);
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes) expect(code).toMatch(/^[A-Z2-7]{24}$/);
  });

  test('is offered for ten minutes, and never shown again once it was set up', async () => {
    await offerFactor(rig, { id: 'one session', name: 'anna' });
    const key = (await rig.redis.keys(`${rig.prefix}:sign-in:offer:*`)).at(0) ?? '';
    expect(await rig.redis.pttl(key)).toBeGreaterThan(9 * MINUTE_MS);
    expect(await rig.redis.pttl(key)).toBeLessThanOrEqual(10 * MINUTE_MS);
    const { before } = await setUp();
    expect(await readOffer(rig, { id: before, name: 'anna' })).toBeUndefined();
  });

  test('does nothing by a wrong code, without an offer, or in a session that is over', async () => {
    const id = await startSession(rig, 'anna');
    const asked = { id, name: 'anna', ip: IP };
    expect(await acceptFactor(rig, { ...asked, code: '123456' })).toEqual({ kind: 'late' });
    await offerFactor(rig, asked);
    const secret = (await readOffer(rig, asked))?.secret ?? '';
    expect(await acceptFactor(rig, { ...asked, code: wrongCodeAt(secret, now()) })).toEqual({ kind: 'refused' });
    const code = codeAt(secret, now());
    expect(await acceptFactor(rig, { ...asked, id: 'x', code })).toEqual({ kind: 'late' });
    expect(await ownFactor(rig, 'anna')).toBeUndefined();
  });

  test('is seen and ended in the session alone in which it began', async () => {
    const own = { id: await startSession(rig, 'anna'), name: 'anna' };
    const stolen = { id: await startSession(rig, 'anna'), name: 'anna' };
    await offerFactor(rig, own);
    expect(await readOffer(rig, stolen)).toBeUndefined();
    const secret = (await readOffer(rig, own))?.secret ?? '';
    expect(await acceptFactor(rig, { ...stolen, code: codeAt(secret, now()), ip: IP })).toEqual({ kind: 'late' });
    expect((await acceptFactor(rig, { ...own, code: codeAt(secret, now()), ip: IP })).kind).toBe('set-up');
  });

  test('again replaces the former app and its recovery codes', async () => {
    const former = await setUp();
    const next = await setUp();
    expect(await prove(codeAt(former.secret, now()))).toEqual({ kind: 'refused' });
    expect(await prove(former.recoveryCodes[0] ?? '')).toEqual({ kind: 'refused' });
    expect(await prove(codeAt(next.secret, now()))).toEqual({ kind: 'proven', by: 'app' });
    expect(await rig.acts('user.second-factor-replaced')).toHaveLength(1);
  });
});

describe('a code', () => {
  test('is good for once, also by two at the same moment', async () => {
    const { secret } = await setUp();
    const both = await Promise.all([prove(codeAt(secret, now())), prove(codeAt(secret, now()))]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['proven', 'refused']);
    expect(await prove(codeAt(secret, now()))).toEqual({ kind: 'refused' });
    rig.pass(30 * SECOND_MS);
    expect(await prove(codeAt(secret, now()))).toEqual({ kind: 'proven', by: 'app' });
  });

  test('that sets the app up is good for nothing else', async () => {
    const own = { id: await startSession(rig, 'anna'), name: 'anna' };
    await offerFactor(rig, own);
    const secret = (await readOffer(rig, own))?.secret ?? '';
    const code = codeAt(secret, now());
    await acceptFactor(rig, { ...own, code, ip: IP });
    expect(await prove(code)).toEqual({ kind: 'refused' });
  });

  test.each([
    [-61, 'refused'],
    [-30, 'proven'],
    [0, 'proven'],
    [30, 'proven'],
    [61, 'refused'],
  ])('of a clock that is %i seconds off is %s', async (offS, kind) => {
    const { secret } = await setUp();
    expect(await prove(codeAt(secret, now() + offS * SECOND_MS))).toMatchObject({ kind });
  });

  test.each(['', '12345', '1234567', 'abcdef', '１２３４５６', 'A'.repeat(24), '*'])('is not %j', async (code) => {
    await setUp();
    expect(await prove(code)).toEqual({ kind: 'refused' });
  });

  test('of nobody, or of whoever has no second factor, is refused', async () => {
    expect(await prove('123456')).toEqual({ kind: 'refused' });
    expect(await prove('123456', 'nobody')).toEqual({ kind: 'refused' });
  });

  test('may be wrong five times; then each next one waits twice as long, from wherever it comes', async () => {
    const { secret } = await setUp();
    for (let tries = 0; tries < 6; tries++) {
      expect(await prove(wrongCodeAt(secret, now()), 'anna', `192.0.2.${tries}`)).toEqual({ kind: 'refused' });
    }
    expect(await prove(codeAt(secret, now()), 'ANNA', '198.51.100.7')).toEqual({ kind: 'wait', ms: SECOND_MS });
    const waits: number[] = [];
    for (let tries = 0; tries < 12; tries++) {
      const answer = await prove(wrongCodeAt(secret, now()));
      if (answer.kind === 'wait') waits.push(answer.ms);
      rig.pass(answer.kind === 'wait' ? answer.ms : 0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32].map((seconds) => seconds * SECOND_MS));
    rig.pass(15 * MINUTE_MS);
    expect(await prove(codeAt(secret, now()))).toEqual({ kind: 'proven', by: 'app' });
    expect((await rig.acts('user.second-factor-refused')).length).toBe(12);
  });
});

describe('recovery codes', () => {
  test('are good for once each, in any spelling, and stored as hashes alone', async () => {
    const { recoveryCodes } = await setUp();
    const [one = '', other = ''] = recoveryCodes;
    expect(await rig.redis.hget(rig.keys.people, 'user anna')).not.toContain(one);
    const spelled = (one.match(/.{4}/g) ?? []).join('-').toLowerCase();
    expect(await prove(` ${spelled} `)).toEqual({ kind: 'proven', by: 'recovery-code' });
    expect(await prove(one)).toEqual({ kind: 'refused' });
    expect((await ownFactor(rig, 'anna'))?.recoveryCodesLeft).toBe(9);
    const both = await Promise.all([prove(other), prove(other)]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['proven', 'refused']);
    expect(await rig.acts('user.recovery-code-used')).toHaveLength(2);
  });

  test('are made anew in the place of the former ones', async () => {
    const { recoveryCodes } = await setUp();
    const renewed = await renewRecoveryCodes(rig, { name: 'anna', ip: IP });
    expect(renewed).toHaveLength(10);
    expect(await prove(recoveryCodes[0] ?? '')).toEqual({ kind: 'refused' });
    expect(await prove(renewed[0] ?? '')).toMatchObject({ kind: 'proven' });
    expect(await rig.acts('user.recovery-codes-renewed')).toHaveLength(1);
    await addWithPassword(rig, 'bob', 'maker');
    expect(await renewRecoveryCodes(rig, { name: 'bob', ip: IP })).toEqual([]);
  });
});

describe('signing in with a second factor', () => {
  test('is a password first, which lets nobody in, and then a code, within five minutes', async () => {
    await setUp();
    expect(await signIn(rig, { name: 'anna', password: PASSWORD, ip: IP })).toMatchObject({ kind: 'factor' });
    expect(await rig.acts('user.password-accepted')).toHaveLength(1);
    expect(await rig.acts('user.signed-in')).toEqual([]);
    const id = await startSession(rig, 'anna');
    expect(await findSession(rig, id)).toBeUndefined();
    expect((await ownSessions(rig, id)).filter(({ isThis }) => isThis)).toEqual([]);
    expect(await awaitedName(rig, id)).toBe('anna');
    const late = await startSession(rig, 'anna');
    const renewed = (await renewSession(rig, id)) ?? '';
    expect(await findSession(rig, renewed)).toMatchObject({ name: 'anna', hasFactor: true });
    expect(await awaitedName(rig, renewed)).toBeUndefined();
    rig.pass(5 * MINUTE_MS);
    expect(await awaitedName(rig, late)).toBeUndefined();
    expect(await renewSession(rig, late)).toBeUndefined();
  });

  test('goes on after a reset of the password; a password alone changes no password', async () => {
    await setUp();
    const credentials = { name: 'anna', password: PASSWORD, newPassword: 'five quite other words here', ip: IP };
    expect(await changePassword(rig, credentials)).toEqual({ kind: 'refused' });
    expect(await changePassword(rig, { ...credentials, isSignedIn: true })).toMatchObject({ kind: 'changed' });
    await resetUser(rig, { name: 'anna', actor: 'anna' });
    expect(await ownFactor(rig, 'anna')).toBeDefined();
  });
});

describe('a lost second factor', () => {
  test('is taken away by two admins, and never by one; its user is signed out', async () => {
    await addWithPassword(rig, 'bob', 'admin');
    const { id } = await setUp();
    expect(await removeFactor(rig, { name: 'anna', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
    await expect(removeFactor(rig, { name: 'anna', actor: 'Bob' })).rejects.toThrow('another person has to confirm');
    expect(await ownFactor(rig, 'anna')).toBeDefined();
    expect(await removeFactor(rig, { name: 'anna', actor: 'carl' })).toMatchObject({ kind: 'done' });
    expect(await ownFactor(rig, 'anna')).toBeUndefined();
    expect(await findSession(rig, id)).toBeUndefined();
    const [removed] = await rig.acts('user.second-factor-removed');
    expect(removed).toMatchObject({ actor: 'carl', target: 'user anna', details: { proposedBy: 'bob' } });
    await expect(removeFactor(rig, { name: 'anna', actor: 'bob' })).rejects.toThrow('has no second factor');
  });
});
