import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

/*
 * Whoever can write to Redis, and does not have the ledger's key, makes nobody a user (docs/security.md, "Seals").
 */

const server = await useTestRedis();

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex');

async function openSite() {
  const rig = await openWebRig(server.url);
  const carl = await rig.person('carl', 'checker');
  const mia = await rig.person('mia', 'maker');
  const people = `${rig.app.config.prefix}:people`;
  const sessionKey = (id: string): string => `${rig.app.config.prefix}:session:${hashOf(id)}`;
  return { ...rig, carl, mia, people, sessionKey };
}

type Site = Awaited<ReturnType<typeof openSite>>;

/** Whether a cookie lets somebody in. */
async function isIn({ visitor }: Site, id: string): Promise<boolean> {
  const one = visitor();
  one.cookies.set(SESSION_COOKIE, id);
  const { status, headers } = await one.get('/runs');
  expect([200, 303]).toContain(status);
  expect(headers.get('location') ?? '').toMatch(status === 303 ? /^\/sign-in/ : /^$/);
  return status === 200;
}

describe('a session that payrun did not write', () => {
  test('lets nobody in: neither made up, nor changed, nor under another id', async () => {
    const site = await openSite();
    const real = site.carl.cookies.get(SESSION_COOKIE) ?? '';
    const kept = (await server.redis.get(site.sessionKey(real))) ?? '';
    const now = Date.now();
    const times = { createdAt: now, seenAt: now, reauthAt: now };
    const made = { name: 'carl', epoch: 1, csrf: 'x', ...times, awaitsFactor: false, ip: '', browser: '' };
    const mine = 'a cookie of the thief';
    for (const forged of [JSON.stringify(made), `${'0'.repeat(8)}.${'0'.repeat(28)} ${JSON.stringify(made)}`, kept]) {
      await server.redis.set(site.sessionKey(mine), forged, 'PX', 60_000);
      expect(await isIn(site, mine)).toBe(false);
    }
    expect(await isIn(site, real)).toBe(true);
    const changed = kept.replace('"carl"', '"mia"');
    expect(changed).not.toBe(kept);
    await server.redis.set(site.sessionKey(real), changed, 'PX', 60_000);
    expect(await isIn(site, real)).toBe(false);
  });
});

describe('users and keys that payrun did not write', () => {
  test('a user who is given a role keeps theirs for who is signed in, and nobody else signs in', async () => {
    const site = await openSite();
    const id = site.mia.cookies.get(SESSION_COOKIE) ?? '';
    await site.app.ledger.people.user('mia');
    const record = (await server.redis.hget(site.people, 'user mia')) ?? '';
    await server.redis.hset(site.people, 'user mia', record.replace('"maker"', '"admin"'));
    expect((await site.mia.get('/users')).status).toBe(403);
    const other = await openWebRig(server.url, { env: { PAYRUN_PREFIX: site.app.config.prefix } });
    const one = other.visitor();
    one.cookies.set(SESSION_COOKIE, id);
    const { status, text } = await one.get('/runs');
    expect([status, text]).toEqual([503, expect.stringContaining('were changed in Redis')]);
    expect((await other.visitor().get('/healthz')).status).toBe(204);
    expect((await other.app.ledger.state.read()).halt).toMatch(/users and keys of programs were changed in Redis/);
  });

  test.each([
    ['a new one', (former: string): string[] => ['user eve', former.replaceAll('carl', 'eve')]],
    ['a former record, which was true once', (former: string): string[] => ['user carl', former]],
    ['one who is missing', (): string[] => ['user carl']],
    ['a key of a program', (): string[] => ['key 0123456789abcdef', JSON.stringify({ id: '0123456789abcdef' })]],
  ])('%s halts everything at the next look, until two people let the list hold as it stands', async (_, forge) => {
    const { app, people, person } = await openSite();
    const { ledger } = app;
    const former = (await server.redis.hget(people, 'user carl')) ?? '';
    await person('zoe', 'viewer');
    await ledger.people.change({
      version: (await ledger.people.read()).version,
      act: { actor: 'test', action: 'user.disabled', target: 'user carl', details: {} },
      fields: { 'user carl': former.replace('"isDisabled":false', '"isDisabled":true') },
    });
    const [field = '', text = ''] = forge(former);
    await (text === '' ? server.redis.hdel(people, field) : server.redis.hset(people, field, text));
    await expect(ledger.people.read()).rejects.toThrow(/Nobody is let in/);
    expect((await ledger.state.read()).halt).toMatch(/users and keys of programs/);
    await releaseHalt(app, 'anna');
    await releaseHalt(app, 'bob');
    expect((await ledger.state.read()).halt).toBeNull();
    expect(await server.redis.hget(people, 'seal')).not.toBe('');
  });

  test('are not let hold by a release for another reason', async () => {
    const { app, people } = await openSite();
    await app.ledger.state.halt('anna', 'something else');
    await releaseHalt(app, 'anna');
    await server.redis.hdel(people, 'user carl');
    await releaseHalt(app, 'bob');
    await expect(app.ledger.people.read()).rejects.toThrow(/Nobody is let in/);
  });
});
