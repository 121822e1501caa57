import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';
import { chromium } from 'playwright-core';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { type OidcSettings, webSetting } from '../../src/config/web.ts';
import { openPasswords } from '../../src/people/password.ts';
import { addUser, disableUser, listUsers } from '../../src/people/users.ts';
import { readClaims } from '../../src/web/oidc/claims.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Answer, openWebRig, type Visitor } from './rig.ts';

vi.setConfig({ testTimeout: 120_000 });

const CHROMIUM = '/usr/bin/chromium';
const BEGUN_COOKIE = '__Host-payrun-sign-in';
const CALLBACK = '/sign-in/provider/callback';
const SECRET = 'the secret of the client payrun';
const BY_GROUP: OidcSettings['users'] = {
  claim: 'groups',
  roles: new Map([
    ['finance-makers', 'maker'],
    ['finance-admins', 'admin'],
  ]),
};

const redis = await useTestRedis();

interface Account {
  readonly groups?: readonly string[] | string;
  readonly [claim: string]: unknown;
}

/** The web app, and a provider at another site that lets anybody in by name, with the claims of `accounts`. */
async function openOidcRig(users: OidcSettings['users'], accounts: Record<string, Account> = {}) {
  const oidc = {
    issuer: '',
    clientId: 'payrun',
    clientSecret: SECRET,
    address: '',
    scope: 'openid profile',
    nameClaim: 'preferred_username',
    users,
  };
  const rig = await openWebRig(redis.url, { settings: { oidc } });
  oidc.address = rig.base;
  const http = await listen(createServer());
  oidc.issuer = `http://localhost:${(http.address() as AddressInfo).port}`;
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  vi.spyOn(console, 'info').mockImplementation(() => {});
  const provider = new Provider(oidc.issuer, {
    clients: [
      {
        client_id: 'payrun',
        client_secret: SECRET,
        redirect_uris: [`${rig.base}${CALLBACK}`],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ['only for this test'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, ...accounts[id] }),
    }),
    async loadExistingGrant({ oidc: { client, session, provider: own } }) {
      const grant = new own.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  http.on('request', (request, response) => void answer(request, response));
  return { ...rig, oidc, http, visitor: rig.visitor };
}

async function listen(http: Server): Promise<Server> {
  await new Promise<void>((resolve) => http.listen(0, 'localhost', resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return http;
}

/** Goes to the provider and signs in there; gives where it sends the browser back to. */
async function passProvider(one: Visitor, name: string, next = '/runs'): Promise<URL> {
  const begun = await one.get(`/sign-in/provider?next=${encodeURIComponent(next)}`);
  expect(begun.status).toBe(303);
  const cookies = new Map<string, string>();
  let at = new URL(begun.headers.get('location') ?? '');
  for (let steps = 0; at.pathname !== CALLBACK && steps < 10; steps++) {
    const isForm = at.pathname.startsWith('/interaction/');
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(isForm
        ? { method: 'POST', body: new URLSearchParams({ prompt: 'login', login: name, password: 'any' }) }
        : {}),
    });
    await response.text();
    for (const line of response.headers.getSetCookie()) {
      const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(key, value);
    }
    at = new URL(response.headers.get('location') ?? '', at);
  }
  return at;
}

async function signInAs(one: Visitor, name: string, next?: string): Promise<Answer> {
  const back = await passProvider(one, name, next);
  return await one.get(`${back.pathname}${back.search}`);
}

type Rig = Awaited<ReturnType<typeof openOidcRig>>;

async function addKnown({ app }: Rig, name: string): Promise<string> {
  const deps = { ...app, passwords: openPasswords(app.random, { N: 2 ** 8, r: 8, p: 1 }) };
  await addUser(deps, { name: 'root', role: 'admin', actor: 'test' });
  const proposed = await addUser(deps, { name, role: 'checker', actor: 'one test' });
  await addUser(deps, { name, role: 'checker', actor: 'another test' });
  if (!('secret' in proposed)) throw new Error('not proposed');
  return proposed.secret;
}

async function actions({ app }: Rig, target: string): Promise<string[]> {
  const found: string[] = [];
  for await (const line of app.ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.target === target) found.push(`${entry.actor} ${entry.action}`);
  }
  return found;
}

/** The status of an answer that begins no session. */
function refusal({ status, headers }: Answer): number {
  const isIn = headers.getSetCookie().some((line) => line.startsWith(`${SESSION_COOKIE}=`));
  return isIn ? 0 : status;
}

describe('an identity provider', () => {
  test('signs in whom admins have added, with the role that they gave, and makes the one-time secret void', async () => {
    const rig = await openOidcRig('known');
    const secret = await addKnown(rig, 'anna');
    const one = rig.visitor();
    expect((await one.get('/sign-in')).text).toContain('Sign in with your organisation');
    const answer = await signInAs(one, 'anna', '/runs?state=paused');
    expect([answer.status, answer.headers.get('refresh')]).toEqual([200, '0; url=/runs?state=paused']);
    expect(one.cookies.has(BEGUN_COOKIE)).toBe(false);
    expect((await one.get('/runs')).text).toContain('anna (checker)');
    expect(await actions(rig, 'user anna')).toContain('anna user.signed-in');
    const stale = await rig.visitor().post('/sign-in', { name: 'anna', password: secret, next: '/' });
    expect(stale.status).toBe(401);
    const again = rig.visitor();
    expect((await signInAs(again, 'anna')).status).toBe(200);
    expect([(await one.get('/runs')).status, (await again.get('/runs')).status]).toEqual([200, 200]);
  });

  test('asks with a fresh state, nonce and challenge each time, for the exact address', async () => {
    const rig = await openOidcRig('known');
    const seen = new Set<string | null>();
    for (const _ of [1, 2]) {
      const { headers } = await rig.visitor().get('/sign-in/provider');
      const { origin, searchParams } = new URL(headers.get('location') ?? '');
      expect(origin).toBe(rig.oidc.issuer);
      expect(Object.fromEntries(searchParams)).toMatchObject({
        client_id: 'payrun',
        response_type: 'code',
        redirect_uri: `${rig.base}${CALLBACK}`,
        code_challenge_method: 'S256',
        scope: 'openid profile',
      });
      for (const name of ['state', 'nonce', 'code_challenge']) seen.add(searchParams.get(name));
      expect(headers.getSetCookie().join('\n')).toMatch(
        /^__Host-payrun-sign-in=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
    }
    expect(seen.size).toBe(6);
  });

  test('that knows somebody whom nobody added lets them in nowhere', async () => {
    const rig = await openOidcRig('known');
    await addKnown(rig, 'anna');
    const one = rig.visitor();
    const answer = await signInAs(one, 'mallory');
    expect(refusal(answer)).toBe(403);
    expect(answer.text).toContain('nobody has added you here');
    expect((await one.get('/runs')).status).toBe(303);
  });

  test('signs in the same person under another name there, and nobody else under theirs', async () => {
    const accounts: Record<string, Account> = { 's-1': { preferred_username: 'anna' } };
    const rig = await openOidcRig('known', accounts);
    await addKnown(rig, 'anna');
    expect((await signInAs(rig.visitor(), 's-1')).status).toBe(200);
    accounts['s-1'] = { preferred_username: 'anna.berg' };
    accounts['s-2'] = { preferred_username: 'anna' };
    accounts['s-3'] = { preferred_username: 'ＡＮＮＡ' };
    const one = rig.visitor();
    expect((await signInAs(one, 's-1')).status).toBe(200);
    expect((await one.get('/runs')).text).toContain('anna (checker)');
    const other = await signInAs(rig.visitor(), 's-2');
    expect(refusal(other)).toBe(403);
    expect(other.text).toContain('the user of your name here is somebody else');
    expect(refusal(await signInAs(rig.visitor(), 's-3'))).toBe(403);
  });

  test('does not let in whom an admin disabled, whatever it says', async () => {
    const rig = await openOidcRig(BY_GROUP, { anna: { groups: ['finance-admins'] } });
    await addKnown(rig, 'anna');
    await disableUser(rig.app, { name: 'anna', actor: 'root' });
    const answer = await signInAs(rig.visitor(), 'anna');
    expect(refusal(answer)).toBe(403);
    expect(answer.text).toContain('you were disabled here');
  });

  test('that gives the roles adds people, changes their role, and keeps out whom it gives none', async () => {
    const accounts: Record<string, Account> = { mia: { groups: ['staff', 'finance-makers'] } };
    const rig = await openOidcRig(BY_GROUP, accounts);
    const mia = rig.visitor();
    expect((await signInAs(mia, 'mia')).status).toBe(200);
    expect((await mia.get('/runs')).text).toContain('mia (maker)');
    accounts['mia'] = { groups: ['finance-makers', 'finance-admins'] };
    const again = rig.visitor();
    expect((await signInAs(again, 'mia')).status).toBe(200);
    expect((await again.get('/users')).status).toBe(200);
    // What she was is over.
    expect((await mia.get('/runs')).status).toBe(303);
    accounts['mia'] = { groups: ['staff'] };
    const none = await signInAs(rig.visitor(), 'mia');
    expect(refusal(none)).toBe(403);
    expect(none.text).toContain('you have no role here');
    const { issuer } = rig.oidc;
    expect(await actions(rig, 'user mia')).toEqual([
      `payrun for ${issuer} user.added`,
      'mia user.signed-in',
      `payrun for ${issuer} user.role-changed`,
      'mia user.signed-in',
    ]);
  });

  test.each(['key accounting', 'payrun', '<script>alert(1)</script>', 'x'.repeat(65)])(
    'adds nobody by the name %j',
    async (name) => {
      const rig = await openOidcRig(BY_GROUP, { odd: { groups: 'finance-makers', preferred_username: name } });
      const answer = await signInAs(rig.visitor(), 'odd');
      expect(refusal(answer)).toBe(409);
      expect(answer.text).not.toContain('<script>alert');
      expect((await listUsers(rig.app)).users).toEqual([]);
    },
  );

  test('that cannot be reached is told on a page, and is asked again later', async () => {
    const rig = await openOidcRig('known');
    const { issuer } = rig.oidc;
    rig.oidc.issuer = 'http://localhost:1';
    const one = rig.visitor();
    const answer = await one.get('/sign-in/provider');
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('The identity provider cannot be reached');
    expect(answer.text).not.toContain(SECRET);
    rig.oidc.issuer = issuer;
    expect((await one.get('/sign-in/provider')).status).toBe(303);
  });

  test('that calls itself another one is not believed', async () => {
    const rig = await openOidcRig('known');
    rig.oidc.issuer = rig.oidc.issuer.replace('localhost', '127.0.0.1');
    expect((await rig.visitor().get('/sign-in/provider')).status).toBe(503);
  });

  test('that refuses is told on a page with its code', async () => {
    const rig = await openOidcRig('known');
    const one = rig.visitor();
    const { headers } = await one.get('/sign-in/provider');
    const state = new URL(headers.get('location') ?? '').searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', error_description: '<b>call xyz</b>', state });
    const answer = await one.get(`${CALLBACK}?${query}&iss=${encodeURIComponent(rig.oidc.issuer)}`);
    expect(refusal(answer)).toBe(403);
    expect(answer.text).toContain('(access_denied)');
    expect(answer.text).not.toContain('xyz');
  });

  test('is not heard for a client whose secret is wrong', async () => {
    const rig = await openOidcRig('known');
    await addKnown(rig, 'anna');
    rig.oidc.clientSecret = 'another';
    expect(refusal(await signInAs(rig.visitor(), 'anna'))).toBe(503);
  });
});

async function answered() {
  const rig = await openOidcRig('known');
  await addKnown(rig, 'anna');
  const one = rig.visitor();
  return { ...rig, one, back: await passProvider(one, 'anna') };
}

/** From now on each id token that the provider gives out has the signature of nobody. */
function forgeSignatures(http: Server): void {
  http.prependListener('request', (_request, response) => {
    const end = response.end.bind(response);
    response.end = (body?: unknown) => {
      const text = String(body).replace(/("id_token":"[^".]+\.[^".]+\.)(.)/, (_all, start: string, first: string) => {
        return `${start}${first === 'A' ? 'B' : 'A'}`;
      });
      return end(text);
    };
  });
}

/** Changes what the browser keeps of the sign-in that it began. */
function alter(one: Visitor, change: Record<string, string>): void {
  const kept = JSON.parse(Buffer.from(one.cookies.get(BEGUN_COOKIE) ?? '', 'base64url').toString()) as object;
  one.cookies.set(BEGUN_COOKIE, Buffer.from(JSON.stringify({ ...kept, ...change })).toString('base64url'));
}

describe('an answer of the provider', () => {
  test('is good in the browser that began it only', async () => {
    const { back, visitor, one } = await answered();
    const stranger = visitor();
    expect(refusal(await stranger.get(`${back.pathname}${back.search}`))).toBe(400);
    await stranger.get('/sign-in/provider');
    const other = await stranger.get(`${back.pathname}${back.search}`);
    expect(refusal(other)).toBe(400);
    expect(other.text).toContain('was not begun in this browser');
    expect((await one.get(`${back.pathname}${back.search}`)).status).toBe(200);
  });

  test('is good once', async () => {
    const { back, one } = await answered();
    const kept = one.cookies.get(BEGUN_COOKIE) ?? '';
    expect((await one.get(`${back.pathname}${back.search}`)).status).toBe(200);
    expect(refusal(await one.get(`${back.pathname}${back.search}`))).toBe(400);
    one.cookies.set(BEGUN_COOKIE, kept);
    expect(refusal(await one.get(`${back.pathname}${back.search}`))).toBe(503);
  });

  test.each([
    ['nonce', { nonce: 'another' }, 403],
    ['code verifier', { verifier: 'v'.repeat(43) }, 503],
  ])('is refused for another %s', async (_what, change, status) => {
    const { back, one } = await answered();
    alter(one, change);
    expect(refusal(await one.get(`${back.pathname}${back.search}`))).toBe(status);
  });

  test.each([
    ['of another provider', (url: URL) => url.searchParams.set('iss', 'https://evil.example'), 403],
    ['without its provider', (url: URL) => url.searchParams.delete('iss'), 403],
    ['with another code', (url: URL) => url.searchParams.set('code', 'another'), 503],
    ['with another state', (url: URL) => url.searchParams.set('state', 'another'), 400],
    ['without a state', (url: URL) => url.searchParams.delete('state'), 400],
    ['with two states', (url: URL) => url.searchParams.append('state', 'another'), 403],
    ['that is endless', (url: URL) => url.searchParams.set('x', 'x'.repeat(9000)), 400],
  ])('is refused %s', async (_what, change, status) => {
    const { back, one } = await answered();
    change(back);
    expect(refusal(await one.get(`${back.pathname}${back.search}`))).toBe(status);
  });

  test('whose id token has another signature is refused as such, and not as a provider that is away', async () => {
    const { http, one, back } = await answered();
    forgeSignatures(http);
    const answer = await one.get(`${back.pathname}${back.search}`);
    expect(refusal(answer)).toBe(403);
    expect(answer.text).toContain('does not hold, and was refused');
    expect(answer.text).not.toContain('cannot be reached');
  });

  test('leads to no other site, and adopts no id that the browser brought', async () => {
    const { back, one } = await answered();
    alter(one, { next: '//evil.example/' });
    one.cookies.set(SESSION_COOKIE, 'A'.repeat(43));
    const answer = await one.get(`${back.pathname}${back.search}`);
    expect(answer.headers.get('refresh')).toBe('0; url=/');
    expect(one.cookies.get(SESSION_COOKIE)).not.toBe('A'.repeat(43));
  });

  test.each(['', 'x', 'bnVsbA', Buffer.from('{"state":"x"}').toString('base64url')])(
    'is refused when the browser kept %j',
    async (kept) => {
      const { back, one } = await answered();
      one.cookies.set(BEGUN_COOKIE, kept);
      expect(refusal(await one.get(`${back.pathname}${back.search}`))).toBe(400);
    },
  );
});

describe('claims', () => {
  const byName = { nameClaim: 'preferred_username', users: 'known' } as const;
  const byMail = { nameClaim: 'email', users: 'known' } as const;
  const byGroup = { nameClaim: 'sub', users: BY_GROUP };

  test.each([
    [byName, { sub: '1', preferred_username: 'anna' }, { name: 'anna', subject: '1', role: null }],
    [byName, { preferred_username: 'anna' }, expect.stringContaining('did not say by "sub"')],
    [byName, { sub: 'x'.repeat(256), preferred_username: 'anna' }, expect.stringContaining('did not say by "sub"')],
    [byName, { sub: 'anna' }, expect.stringContaining('did not say "preferred_username"')],
    [byName, { preferred_username: ['anna'] }, expect.stringContaining('did not say')],
    [byName, { preferred_username: ' ' }, expect.stringContaining('did not say')],
    [
      byMail,
      { sub: '1', email: 'anna@example.com', email_verified: true },
      { name: 'anna@example.com', subject: '1', role: null },
    ],
    [byMail, { email: 'anna@example.com', email_verified: 'true' }, expect.stringContaining('has not verified')],
    [byMail, { email: 'anna@example.com' }, expect.stringContaining('has not verified')],
    [
      byGroup,
      { sub: 'anna', groups: ['finance-admins', 'finance-makers'] },
      { name: 'anna', subject: 'anna', role: 'admin' },
    ],
    [byGroup, { sub: 'anna', groups: 'finance-makers' }, { name: 'anna', subject: 'anna', role: 'maker' }],
    [
      byGroup,
      { sub: 'anna', groups: [{ name: 'finance-admins' }, 1, null] },
      expect.stringContaining('you have no role here'),
    ],
    [byGroup, { sub: 'anna', groups: '__proto__' }, expect.stringContaining('you have no role here')],
    [byGroup, { sub: 'anna' }, expect.stringContaining('you have no role here')],
  ])('%j: %j', (settings, claims, expected) => {
    const read = readClaims(claims, settings);
    expect('problem' in read ? read.problem : read).toEqual(expected);
  });
});

describe('the settings', () => {
  const GOOD = {
    issuer: 'https://login.example.com/realms/finance',
    clientId: 'payrun',
    clientSecretFile: 'secret',
    address: 'https://payrun.example.com',
    users: 'known',
  };

  function read(oidc: object) {
    const folder = mkdtempSync(join(tmpdir(), 'payrun-oidc-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'secret'), `${SECRET}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'empty'), '\n', { mode: 0o600 });
    return webSetting(folder).safeParse({ oidc });
  }

  test('take the secret from a file, and answer under the address that they name', () => {
    const { data } = read({ ...GOOD, users: { claim: 'groups', roles: { finance: 'maker' } } });
    expect(data?.hosts).toEqual(['payrun.example.com']);
    expect(data?.oidc).toEqual({
      issuer: GOOD.issuer,
      clientId: 'payrun',
      clientSecret: SECRET,
      address: GOOD.address,
      scope: 'openid profile email',
      nameClaim: 'preferred_username',
      users: { claim: 'groups', roles: new Map([['finance', 'maker']]) },
    });
    expect(read({ ...GOOD, address: 'http://127.0.0.1:8420/' }).data?.oidc?.address).toBe('http://127.0.0.1:8420');
  });

  test.each([
    ['issuer', 'http://login.example.com'],
    ['issuer', 'ftp://login.example.com'],
    ['issuer', 'https://user:password@login.example.com'],
    ['address', 'http://payrun.example.com'],
    ['address', 'https://payrun.example.com/app'],
    ['clientSecretFile', 'missing'],
    ['clientSecretFile', 'empty'],
    ['clientSecret', SECRET],
    ['scope', 'profile'],
    ['users', 'anybody'],
    ['users', { claim: 'groups', roles: { finance: 'owner' } }],
    ['users', undefined],
  ])('are refused with %s %j', (name, value) => {
    const { error } = read({ ...GOOD, [name]: value });
    expect(error?.issues.length).toBe(1);
    expect(JSON.stringify(error?.issues)).not.toContain(SECRET);
  });
});

describe('Chromium', () => {
  test.skipIf(!existsSync(CHROMIUM))(
    'comes back from the provider, which is another site, and is signed in',
    async () => {
      const rig = await openOidcRig('known');
      await addKnown(rig, 'anna');
      const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      await page.goto(`${rig.base}/runs?state=paused`);
      await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
      await page.waitForURL(`${rig.oidc.issuer}/**`);
      await page.fill('input[name="login"]', 'anna');
      await page.fill('input[name="password"]', 'any');
      await page.click('button[type="submit"]');
      await page.waitForURL(`${rig.base}/runs?state=paused`);
      expect(await page.getByText('anna (checker)').count()).toBe(1);

      // A link on another site, such as in a mail: the cookie comes with what our own page asks for then.
      await page.goto(`${rig.oidc.issuer}/.well-known/openid-configuration`);
      await page.setContent(`<a href="${rig.base}/runs?state=finished">go</a>`);
      await page.click('a');
      await page.waitForURL(`${rig.base}/runs?state=finished`);
      expect(await page.getByText('anna (checker)').count()).toBe(1);
    },
  );
});
