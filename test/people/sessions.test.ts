import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  endOtherSessions,
  endOwnSession,
  endSession,
  endSessionsOf,
  findSession,
  ownSessions,
  renewSession,
  startSession,
} from '../../src/people/sessions.ts';
import { resetUser } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { addWithPassword, type PeopleRig, peopleRig } from './people-rig.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const server = await useTestRedis();
let rig: PeopleRig;

beforeEach(async () => {
  rig = await peopleRig(server.redis);
  await addWithPassword(rig, 'anna', 'admin');
});

const keyOf = (id: string): string => rig.keys.session(createHash('sha256').update(id).digest('hex'));

test('a session is its user, with the role of this moment, and a token of its own', async () => {
  const now = rig.clock.now();
  const id = await startSession(rig, 'ANNA');
  const session = await findSession(rig, id);
  expect(session).toEqual({
    name: 'anna',
    role: 'admin',
    csrf: expect.stringMatching(/^[\w-]{43}$/),
    createdAt: now,
    reauthAt: now,
    hasFactor: false,
  });
  const other = await findSession(rig, await startSession(rig, 'anna'));
  expect(other?.csrf).not.toBe(session?.csrf);
});

test('its id is 256 bits of chance, and stands nowhere in Redis', async () => {
  const id = await startSession(rig, 'anna');
  expect(Buffer.from(id, 'base64url')).toHaveLength(32);
  const keys = await rig.redis.keys(`${rig.prefix}*`);
  expect(keys).toContain(keyOf(id));
  expect(keys.join()).not.toContain(id);
  expect(await rig.redis.get(keyOf(id))).not.toContain(id);
});

test.each(['', 'x', 'a'.repeat(43), 'constructor', '*'])('there is no session %j', async (id) => {
  await startSession(rig, 'anna');
  expect(await findSession(rig, id)).toBeUndefined();
});

test('it is over after 15 minutes without a request, by our clock and by itself in Redis', async () => {
  const id = await startSession(rig, 'anna');
  expect(await rig.redis.pttl(keyOf(id))).toBeGreaterThan(14 * MINUTE_MS);
  expect(await rig.redis.pttl(keyOf(id))).toBeLessThanOrEqual(15 * MINUTE_MS);
  rig.pass(15 * MINUTE_MS - 1);
  expect(await findSession(rig, id, { touches: false })).toBeDefined();
  rig.pass(1);
  expect(await findSession(rig, id)).toBeUndefined();
});

test('a request keeps it; a page that looks by itself does not', async () => {
  const id = await startSession(rig, 'anna');
  rig.pass(10 * MINUTE_MS);
  await findSession(rig, id);
  rig.pass(10 * MINUTE_MS);
  expect(await findSession(rig, id, { touches: false })).toBeDefined();
  rig.pass(5 * MINUTE_MS);
  expect(await findSession(rig, id)).toBeUndefined();
});

test('it is over after 8 hours, however busy', async () => {
  const id = await startSession(rig, 'anna');
  for (let minutes = 10; minutes < 8 * 60; minutes += 10) {
    rig.pass(10 * MINUTE_MS);
    expect(await findSession(rig, id)).toBeDefined();
  }
  expect(await rig.redis.pttl(keyOf(id))).toBeLessThanOrEqual(10 * MINUTE_MS);
  rig.pass(10 * MINUTE_MS);
  expect(await findSession(rig, id)).toBeUndefined();
});

test('one that was ended stays so, also when a request that came before is only now noted', async () => {
  const id = await startSession(rig, 'anna');
  const sessions = {
    ...rig.ledger.people.sessions,
    async touch(...noted: Parameters<typeof rig.ledger.people.sessions.touch>) {
      await endSession(rig, id);
      await rig.ledger.people.sessions.touch(...noted);
    },
  };
  rig.pass(MINUTE_MS);
  await findSession({ ...rig, ledger: { people: { ...rig.ledger.people, sessions } } }, id);
  expect(await findSession(rig, id)).toBeUndefined();
  await endSession(rig, id);
});

test('ending a user’s sessions ends all of theirs and no other, and is on the audit log', async () => {
  await addWithPassword(rig, 'bob', 'maker');
  const ids = [await startSession(rig, 'anna'), await startSession(rig, 'anna')];
  const others = await startSession(rig, 'bob');
  await endSessionsOf(rig, { name: 'Anna', actor: 'bob' });
  expect(await Promise.all(ids.map((id) => findSession(rig, id)))).toEqual([undefined, undefined]);
  expect(await findSession(rig, others)).toMatchObject({ name: 'bob', role: 'maker' });
  expect(await rig.acts('user.sessions-ended')).toMatchObject([{ actor: 'bob', target: 'user anna' }]);
});

test('a reset ends the sessions', async () => {
  const id = await startSession(rig, 'anna');
  await resetUser(rig, { name: 'anna', actor: 'anna' });
  expect(await findSession(rig, id)).toBeUndefined();
});

test('whoever proves anew who they are has another id and token, and no more hours', async () => {
  const createdAt = rig.clock.now();
  const id = await startSession(rig, 'anna');
  const before = await findSession(rig, id);
  rig.pass(MINUTE_MS);
  const renewed = (await renewSession(rig, id)) ?? '';
  expect(await findSession(rig, id)).toBeUndefined();
  const after = await findSession(rig, renewed);
  expect(after).toMatchObject({ name: 'anna', createdAt, reauthAt: createdAt + MINUTE_MS });
  expect(after?.csrf).not.toBe(before?.csrf);
  expect(await renewSession(rig, id)).toBeUndefined();
});

test('of two that renew a session at once one is too late', async () => {
  const id = await startSession(rig, 'anna');
  const both = await Promise.all([renewSession(rig, id), renewSession(rig, id)]);
  expect(both.filter((one) => one === undefined)).toHaveLength(1);
});

test('nobody has a session who is no user', async () => {
  await expect(startSession(rig, 'nobody')).rejects.toThrow('a user that there is not');
  rig.pass(HOUR_MS);
});

const place = (ip: string) => ({ ip, browser: 'Firefox on Linux' });

describe('own sessions', () => {
  test('are seen with where they began and when they were used last, the latest first, and nobody else’s', async () => {
    await addWithPassword(rig, 'bob', 'maker');
    const createdAt = rig.clock.now();
    const id = await startSession(rig, 'anna', place('192.0.2.1'));
    await startSession(rig, 'bob', place('192.0.2.9'));
    rig.pass(MINUTE_MS);
    const other = await startSession(rig, 'anna', place('192.0.2.2'));
    expect(await ownSessions(rig, id)).toMatchObject([
      { ...place('192.0.2.2'), createdAt: createdAt + MINUTE_MS, isThis: false },
      { ...place('192.0.2.1'), createdAt, seenAt: createdAt, isThis: true },
    ]);
    rig.pass(MINUTE_MS);
    await findSession(rig, id);
    expect((await ownSessions(rig, id)).map(({ isThis }) => isThis)).toEqual([true, false]);
    await endSession(rig, other);
    expect(await ownSessions(rig, id)).toHaveLength(1);
    rig.pass(15 * MINUTE_MS);
    expect(await ownSessions(rig, id)).toEqual([]);
  });

  test('are ended one by one, which is on the audit log; somebody else’s is not', async () => {
    await addWithPassword(rig, 'bob', 'maker');
    const id = await startSession(rig, 'anna', place('192.0.2.1'));
    const lost = await startSession(rig, 'anna', place('192.0.2.2'));
    const ofBob = await startSession(rig, 'bob', place('192.0.2.9'));
    const [label = ''] = (await ownSessions(rig, id)).filter(({ isThis }) => !isThis).map((one) => one.label);
    const [labelOfBob = ''] = (await ownSessions(rig, ofBob)).map((one) => one.label);
    const by = { id, actor: 'anna', ip: '192.0.2.1' };
    expect(await endOwnSession(rig, { ...by, label: labelOfBob })).toBe(false);
    expect(await endOwnSession(rig, { ...by, label })).toBe(true);
    expect(await endOwnSession(rig, { ...by, label })).toBe(false);
    const found = [await findSession(rig, id), await findSession(rig, lost), await findSession(rig, ofBob)];
    expect(found.map((one) => one?.name)).toEqual(['anna', undefined, 'bob']);
    const details = { session: label, begunFrom: '192.0.2.2', ip: '192.0.2.1' };
    expect(await rig.acts('user.session-ended')).toEqual([
      { actor: 'anna', action: 'user.session-ended', target: 'user anna', details },
    ]);
  });

  test('are ended all but the one that asks, which goes on under another id and no longer than before', async () => {
    const createdAt = rig.clock.now();
    const id = await startSession(rig, 'anna', place('192.0.2.1'));
    const lost = await startSession(rig, 'anna', place('192.0.2.2'));
    rig.pass(MINUTE_MS);
    const kept = (await endOtherSessions(rig, { id, actor: 'anna' })) ?? '';
    expect([await findSession(rig, id), await findSession(rig, lost)]).toEqual([undefined, undefined]);
    expect(await findSession(rig, kept)).toMatchObject({ name: 'anna', createdAt });
    expect(await ownSessions(rig, kept)).toMatchObject([{ ...place('192.0.2.1'), isThis: true }]);
    expect(await rig.acts('user.sessions-ended')).toMatchObject([{ actor: 'anna', target: 'user anna' }]);
    expect(await endOtherSessions(rig, { id: lost, actor: 'anna' })).toBeUndefined();
  });

  test('are 50 at most: whoever begins more ends the oldest', async () => {
    const oldest = await startSession(rig, 'anna');
    rig.pass(1);
    const others: string[] = [];
    for (let count = 0; count < 50; count++) others.push(await startSession(rig, 'anna'));
    expect(await findSession(rig, oldest)).toBeUndefined();
    expect(await ownSessions(rig, others[0] ?? '')).toHaveLength(50);
  });
});
