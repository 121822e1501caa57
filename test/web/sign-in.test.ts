import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { request as ask } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { openPasswords } from '../../src/people/password.ts';
import { addUser, changeRole, disableUser } from '../../src/people/users.ts';
import { ownPath } from '../../src/web/people/own-path.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { useTestRedis } from '../support/redis.ts';
import { formsOf } from './page-html.ts';
import { openWebRig, PASSWORD, type Visitor } from './rig.ts';

vi.setConfig({ testTimeout: 120_000 });

const MINUTE_MS = 60_000;
const NEW_PASSWORD = 'five quite other words here';
const CHROMIUM = '/usr/bin/chromium';

const server = await useTestRedis();

type Rig = Awaited<ReturnType<typeof openWebRig>>;

const enter = (one: Visitor, name: string, { password = PASSWORD, next = '/runs' } = {}) =>
  one.post('/sign-in', { name, password, next });

/** Adds somebody who has only a one-time secret. */
async function addWithSecret({ app }: Rig, name: string): Promise<string> {
  const deps = { ...app, passwords: openPasswords(app.random, { N: 2 ** 8, r: 8, p: 1 }) };
  const proposed = await addUser(deps, { name, role: 'maker', actor: 'one test' });
  await addUser(deps, { name, role: 'maker', actor: 'another test' });
  if (!('secret' in proposed)) throw new Error('not proposed');
  return proposed.secret;
}

/** As a proxy of ours passes on what came from an address. */
const from = (ip: string) => ({ 'x-forwarded-for': ip, 'sec-fetch-site': 'same-origin' });

async function isIn(one: Visitor): Promise<boolean> {
  return (await one.get('/runs')).status === 200;
}

describe('signing in', () => {
  test('gives a cookie that only this host gets, that no script reads, and that no other site sends', async () => {
    const { person, visitor } = await openWebRig(server.url);
    await person('anna', 'viewer');
    const one = visitor();
    const answer = await enter(one, 'anna');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/runs']);
    const [cookie = '', device = '', ...others] = answer.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(device).toMatch(
      /^__Host-payrun-device=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(cookie).toMatch(/^__Host-payrun=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    expect(await isIn(one)).toBe(true);
  });

  test('leads where somebody wanted to go, and to no other site', async () => {
    const { person, visitor } = await openWebRig(server.url);
    await person('anna', 'viewer');
    const one = visitor();
    expect((await one.get('/sign-in?next=%2Fruns%3Fstate%3Dpaused')).text).toContain('value="/runs?state=paused"');
    expect((await enter(one, 'anna', { next: '/runs?state=paused' })).headers.get('location')).toBe(
      '/runs?state=paused',
    );
    expect((await enter(visitor(), 'anna', { next: '//evil.example/' })).headers.get('location')).toBe('/');
    expect((await one.get('/sign-in?next=https%3A%2F%2Fevil.example')).headers.get('location')).toBe('/');
  });

  test.each([
    ['/runs', '/runs'],
    ['/runs/x?page=2', '/runs/x?page=2'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/.//evil.example', '/'],
    ['/x/..//evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['runs', '/'],
    ['', '/'],
    ['/runs\r\nset-cookie: x=y', '/runsset-cookie:%20x=y'],
  ])('after which %j is the path %j', (text, path) => {
    expect(ownPath(text)).toBe(path);
  });

  test('hides a password while it is typed, and lets a manager of passwords fill it in', async () => {
    const { person, visitor } = await openWebRig(server.url);
    for (const [path, one] of [
      ['/sign-in', visitor()],
      ['/password', await person('anna', 'viewer')],
    ] as const) {
      const fields = formsOf((await one.get(path)).text).flatMap((form) => form.fields);
      const secrets = fields.filter(({ name }) => /password|repeated/i.test(name));
      expect([path, secrets.length > 0]).toEqual([path, true]);
      for (const { type, attributes } of secrets) {
        expect(type).toBe('password');
        expect(attributes['autocomplete']).toMatch(/^(?:current|new)-password$/);
      }
    }
    expect((await visitor().get('/static/payrun.js')).text).not.toContain('paste');
  });

  test('never adopts an id that the browser brought', async () => {
    const { person, visitor } = await openWebRig(server.url);
    const thief = await person('mallory', 'viewer');
    await person('anna', 'viewer');
    const fixed = 'A'.repeat(43);
    const one = visitor();
    one.cookies.set(SESSION_COOKIE, fixed);
    await enter(one, 'anna');
    expect(one.cookies.get(SESSION_COOKIE)).not.toBe(fixed);
    const other = visitor();
    other.cookies.set(SESSION_COOKIE, fixed);
    expect(await isIn(other)).toBe(false);

    // Somebody else's session that was planted is over, and is not theirs.
    const planted = thief.cookies.get(SESSION_COOKIE) ?? '';
    const victim = visitor();
    victim.cookies.set(SESSION_COOKIE, planted);
    await victim.get('/runs');
    expect((await enter(victim, 'anna')).status).toBe(303);
    expect(victim.cookies.get(SESSION_COOKIE)).not.toBe(planted);
    expect(await isIn(thief)).toBe(false);
  });

  test('answers a wrong password and a name that nobody has in the same words', async () => {
    const { person, visitor } = await openWebRig(server.url);
    await person('anna', 'viewer');
    const wrong = await enter(visitor(), 'anna', { password: 'wrong' });
    const unknown = await enter(visitor(), 'nobo', { password: 'wrong' });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(unknown.text.replaceAll('nobo', 'anna')).toBe(wrong.text);
    expect(wrong.headers.getSetCookie()).toEqual([]);
  });

  test('shows what was typed as text', async () => {
    const { visitor } = await openWebRig(server.url);
    const answer = await enter(visitor(), '"><script>alert(1)</script>', { password: 'wrong' });
    expect(answer.text).not.toContain('<script>alert');
    expect(answer.text).toContain('&lt;script');
  });

  test('tells how the first user is made, where there is none', async () => {
    const { visitor } = await openWebRig(server.url);
    expect((await visitor().get('/sign-in')).text).toContain('payrun user add NAME --role admin');
  });
});

describe('a one-time secret', () => {
  test('lets somebody choose a password, and is no session', async () => {
    const rig = await openWebRig(server.url);
    await rig.person('anna', 'admin');
    const secret = await addWithSecret(rig, 'bob');
    const one = rig.visitor();
    const first = await enter(one, 'bob', { password: secret });
    expect([first.status, one.cookies.size]).toEqual([200, 0]);
    expect(first.text).toContain('Choose a password');
    expect(first.text).not.toContain(secret);
    const form = { name: 'bob', kind: 'first', password: secret, newPassword: NEW_PASSWORD, repeated: NEW_PASSWORD };
    const differing = await one.post('/password', { ...form, repeated: 'something else' });
    expect([differing.status, one.cookies.size]).toEqual([422, 0]);
    const common = await one.post('/password', { ...form, newPassword: 'password1', repeated: 'password1' });
    expect([common.status, one.cookies.size]).toEqual([422, 0]);
    const chosen = await one.post('/password', form);
    expect([chosen.status, chosen.headers.get('location')]).toEqual([303, '/password/changed']);
    expect((await one.get('/password/changed')).text).toContain('Your password is changed');
    expect((await enter(rig.visitor(), 'bob', { password: secret })).status).toBe(401);
    expect((await enter(rig.visitor(), 'bob', { password: NEW_PASSWORD })).status).toBe(303);
  });
});

describe('a session', () => {
  test('is over after signing out, also for whoever kept the cookie', async () => {
    const { person, visitor } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    const kept = anna.cookies.get(SESSION_COOKIE) ?? '';
    const left = await anna.post('/sign-out');
    expect([left.status, left.headers.get('location'), anna.cookies.size]).toEqual([303, '/sign-in', 0]);
    const replay = visitor();
    replay.cookies.set(SESSION_COOKIE, kept);
    expect(await isIn(replay)).toBe(false);
  });

  test('is another one after a change of the password, and all former ones are over', async () => {
    const { person, visitor } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    const elsewhere = visitor();
    await enter(elsewhere, 'anna');
    const before = anna.cookies.get(SESSION_COOKIE);
    expect((await anna.get('/password')).text).toContain('Present password');
    const form = { name: 'anna', kind: 'change', newPassword: NEW_PASSWORD, repeated: NEW_PASSWORD };
    expect((await anna.post('/password', { ...form, password: 'wrong' })).status).toBe(401);
    expect((await anna.post('/password', { ...form, password: PASSWORD })).status).toBe(303);
    expect(anna.cookies.get(SESSION_COOKIE)).not.toBe(before);
    expect([await isIn(anna), await isIn(elsewhere)]).toEqual([true, false]);
  });

  test.each([
    ['disabled', (rig: Rig) => disableUser(rig.app, { name: 'mia', actor: 'root' })],
    [
      'given another role',
      async ({ app }: Rig) => {
        await changeRole(app, { name: 'mia', role: 'viewer', actor: 'root' });
        await changeRole(app, { name: 'mia', role: 'viewer', actor: 'other' });
      },
    ],
  ])('is over at once when its user is %s', async (_what, act) => {
    const rig = await openWebRig(server.url);
    await rig.person('other', 'admin');
    const mia = await rig.person('mia', 'maker');
    expect(await isIn(mia)).toBe(true);
    await act(rig);
    expect(await isIn(mia)).toBe(false);
  });

  test('is over after 15 minutes without a request, and after 8 hours with however many', async () => {
    let now = Date.now();
    const { person, visitor } = await openWebRig(server.url, {
      deps: (app) => ({ app: { ...app, clock: { ...app.clock, now: () => now } } }),
    });
    const anna = await person('anna', 'viewer');
    now += 14 * MINUTE_MS;
    expect(await isIn(anna)).toBe(true);
    now += 15 * MINUTE_MS;
    expect(await isIn(anna)).toBe(false);

    const busy = visitor();
    await enter(busy, 'anna');
    for (let minutes = 10; minutes < 8 * 60; minutes += 10) {
      now += 10 * MINUTE_MS;
      expect(await isIn(busy), `after ${minutes} minutes`).toBe(true);
    }
    now += 10 * MINUTE_MS;
    expect(await isIn(busy)).toBe(false);
  });

  test('that is over says so to whoever sends a form', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    anna.cookies.set(SESSION_COOKIE, 'B'.repeat(43));
    const answer = await anna.post('/users', { name: 'bob', role: 'maker' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('what you sent was not done');
  });
});

describe('strangers', () => {
  test('who try 1,000 passwords get nowhere, are told when to come again, and keep nobody else out', async () => {
    // Every address is one that a proxy of ours names.
    const { person, visitor, app } = await openWebRig(server.url, { settings: { proxies: ['127.0.0.1'] } });
    await person('anna', 'viewer');
    const stranger = visitor();
    const statuses = new Map<number, number>();
    const waits: number[] = [];
    for (let index = 0; index < 1000; index++) {
      const form = { name: 'anna', password: `guess ${index}`, next: '/runs' };
      const { status, headers } = await stranger.post('/sign-in', form, from('203.0.113.7'));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) waits.push(Number(headers.get('retry-after')));
    }
    expect(new Set(statuses.keys())).toEqual(new Set([401, 429]));
    expect(statuses.get(401)).toBeLessThan(50);
    expect(waits.every((seconds) => seconds > 0)).toBe(true);
    expect(stranger.cookies.size).toBe(0);

    const real = { name: 'anna', password: PASSWORD, next: '/runs' };
    const own = visitor();
    await expect
      .poll(async () => (await own.post('/sign-in', real, from('198.51.100.20'))).status, { timeout: 60_000 })
      .toBe(303);
    let last = '';
    for await (const line of app.ledger.audit.lines()) last = line;
    expect(readEntry(last)).toMatchObject({ action: 'user.signed-in', details: { ip: '198.51.100.20' } });
  });

  test('gain nothing by naming other addresses where no proxy is configured', async () => {
    const { person, visitor, app } = await openWebRig(server.url);
    await person('anna', 'viewer');
    const stranger = visitor();
    const statuses: number[] = [];
    for (let index = 0; index < 12; index++) {
      const spoofed = { 'x-forwarded-for': `198.51.100.${index}`, 'sec-fetch-site': 'same-origin' };
      statuses.push((await stranger.post('/sign-in', { name: 'anna', password: 'guess', next: '/' }, spoofed)).status);
    }
    expect(statuses).toContain(429);
    const ips = new Set<string | undefined>();
    for await (const line of app.ledger.audit.lines()) {
      const entry = readEntry(line);
      if (entry?.action === 'user.sign-in-refused') ips.add(entry.details['ip']);
    }
    expect([...ips]).toEqual(['127.0.0.1']);
  });
});

/** Every route that a browser could be made to send a form to. */
const POSTS = [
  '/sign-in',
  '/password',
  '/sign-out',
  '/users',
  '/users/role',
  '/users/enable',
  '/users/reset',
  '/users/disable',
  '/keys',
  '/keys/revoke',
  '/audit/verify',
];

describe('another site', () => {
  test.each(POSTS)('cannot have %s done', async (path) => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    const bad = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: base },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ];
    for (const headers of bad) {
      const { status, text } = await anna.post(path, { name: 'anna', password: PASSWORD, next: '/' }, headers);
      expect([status, headers]).toEqual([403, headers]);
      expect(text).toContain('did not come from a page of payrun');
    }
    expect(await isIn(anna)).toBe(true);
  });

  test.each(POSTS.slice(1))('cannot have %s done with a guessed token', async (path) => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    const { status, text } = await anna.post(path, { csrf: 'guess', name: 'anna' });
    expect(status).toBe(403);
    expect(text).toContain('not one of your session');
    expect(await isIn(anna)).toBe(true);
  });

  test.each(POSTS)('cannot pass a form as plain text to %s', async (path) => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    const cookie = `${SESSION_COOKIE}=${anna.cookies.get(SESSION_COOKIE)}`;
    const { statusCode, body } = await ask(`${base}${path}`, {
      method: 'POST',
      headers: { cookie, origin: base, 'content-type': 'text/plain', 'x-csrf-token': anna.csrf() },
      body: JSON.stringify({ csrf: anna.csrf(), name: 'anna', password: PASSWORD, next: '/' }),
    });
    await body.dump();
    expect([400, 415]).toContain(statusCode);
    expect(await isIn(anna)).toBe(true);
  });

  test.each(['/sign-in', '/users', '/audit'])('that resolves to this address reads nothing of %s', async (path) => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    const cookie = `${SESSION_COOKIE}=${anna.cookies.get(SESSION_COOKIE)}`;
    for (const headers of [
      { host: 'evil.example' },
      { host: 'evil.example', 'x-forwarded-host': new URL(base).host },
      { host: new URL(base).host.replace('127.0.0.1', '127.0.0.1.evil.example') },
    ]) {
      const { statusCode, body } = await ask(`${base}${path}`, { headers: { ...headers, cookie } });
      expect(statusCode).toBe(421);
      await body.dump();
    }
  });
});

describe('Chromium', () => {
  test.skipIf(!existsSync(CHROMIUM))('keeps the cookie on this host without TLS, under both of its names', async () => {
    const rig = await openWebRig(server.url);
    await rig.person('anna', 'viewer');
    const { port } = new URL(rig.base);
    rig.hosts.add(`localhost:${port}`);
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    onTestFinished(() => browser.close());
    for (const host of ['127.0.0.1', 'localhost']) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`http://${host}:${port}/runs?state=paused`);
      await page.getByLabel('Name').fill('anna');
      await page.getByLabel('Password, or one-time secret').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL('**/runs?state=paused');
      expect(await page.getByText('anna (viewer)').count()).toBe(1);
      const [cookie] = await context.cookies();
      expect(cookie).toMatchObject({ name: SESSION_COOKIE, secure: true, httpOnly: true, sameSite: 'Strict' });
      expect(await page.evaluate('document.cookie')).toBe('');
    }
  });
});
