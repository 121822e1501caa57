import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Role } from '../../src/access/roles.ts';
import type { WebSettings } from '../../src/config/web.ts';
import { ownFactor } from '../../src/people/second-factor.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { codeAt, wrongCodeAt } from '../people/authenticator.ts';
import { givePasskey } from '../people/passkey.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig, PASSWORD, type Visitor } from './rig.ts';

vi.setConfig({ testTimeout: 120_000 });

const MINUTE_MS = 60_000;

const server = await useTestRedis();

/** The web app at a time that the test moves on, where one approval is needed. */
async function openRig(settings: Partial<WebSettings> = {}) {
  let ahead = 0;
  const folder = mkdtempSync(join(tmpdir(), 'payrun-factor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify({ approval: { mode: 'tiers', tiers: { USD: [{ from: '0', approvals: 1 }] } } }));
  const rig = await openWebRig(server.url, {
    settings,
    env: { PAYRUN_CONFIG: config },
    deps: (app) => ({ app: { ...app, clock: { ...app.clock, now: () => app.clock.now() + ahead } } }),
  });
  const now = (): number => Date.now() + ahead;
  const pass = (ms: number): void => {
    ahead += ms;
  };
  /** Somebody signed in who has set an app up just now, and the secret of that. */
  const withFactor = async (name: string, role: Role) => {
    const one = await rig.person(name, role);
    expect((await one.post('/second-factor/begin')).status).toBe(303);
    const secret = secretOn((await one.get('/second-factor')).text);
    const codes = await one.post('/second-factor', { typed: codeAt(secret, now()) });
    expect(codes.status).toBe(200);
    pass(MINUTE_MS);
    return {
      one,
      secret,
      recoveryCodes: [...codes.text.matchAll(/<code>([A-Z2-7-]{29})<\/code>/g)].map(([, code = '']) => code),
    };
  };
  return { ...rig, now, pass, withFactor };
}

type Rig = Awaited<ReturnType<typeof openRig>>;

function secretOn(html: string): string {
  return (/<dt>Secret<\/dt><dd><code>([A-Z2-7 ]+)<\/code>/.exec(html)?.[1] ?? '').replaceAll(' ', '');
}

async function isIn(one: Visitor): Promise<boolean> {
  return (await one.get('/runs')).status === 200;
}

const enter = (one: Visitor, name: string) => one.post('/sign-in', { name, password: PASSWORD, next: '/to-settle' });

describe('setting up', () => {
  test('shows a picture and the secret until a code has come, and then ten recovery codes, each once', async () => {
    const rig = await openRig();
    const anna = await rig.person('anna', 'viewer');
    expect((await anna.get('/second-factor')).text).toContain('You have none.');
    await anna.post('/second-factor/begin');
    const page = await anna.get('/second-factor');
    expect(page.text).toContain('aria-label="QR code of the secret"');
    const secret = secretOn(page.text);
    const wrong = await anna.post('/second-factor', { typed: wrongCodeAt(secret, rig.now()) });
    expect([wrong.status, secretOn(wrong.text)]).toEqual([401, secret]);
    expect(wrong.text).toContain('This code is not right');
    const before = anna.cookies.get(SESSION_COOKIE);
    const { status, text } = await anna.post('/second-factor', { typed: codeAt(secret, rig.now()) });
    expect(status).toBe(200);
    expect(text.match(/<code>[A-Z2-7-]{29}<\/code>/g)).toHaveLength(10);
    expect(anna.cookies.get(SESSION_COOKIE)).not.toBe(before);
    const after = await anna.get('/second-factor');
    expect(after.text).toContain('10 recovery codes');
    expect([secretOn(after.text), after.text.includes(secret)]).toEqual(['', false]);
  });

  test('needs a sign-in, or a proof of the factor that is there, of at most five minutes ago', async () => {
    const rig = await openRig();
    const bob = await rig.person('bob', 'viewer');
    const { one, secret } = await rig.withFactor('anna', 'viewer');
    rig.pass(5 * MINUTE_MS);
    const late = await bob.post('/second-factor/begin');
    expect([late.status, late.text.includes('You signed in too long ago')]).toEqual([403, true]);
    const asked = await one.post('/second-factor/begin');
    expect([asked.status, asked.text.includes('name="code"')]).toEqual([403, true]);
    expect((await one.post('/second-factor/begin', { code: codeAt(secret, rig.now()) })).status).toBe(303);
    expect(secretOn((await one.get('/second-factor')).text)).toMatch(/^[A-Z2-7]{32}$/);
    const renewed = await one.post('/second-factor/recovery');
    expect(renewed.text.match(/<code>[A-Z2-7-]{29}<\/code>/g)).toHaveLength(10);
  });
});

describe('signing in', () => {
  test('asks no passkey of a stranger, or of whoever has none', async () => {
    const rig = await openRig();
    const { one } = await rig.withFactor('anna', 'viewer');
    const stranger = rig.visitor();
    const half = rig.visitor();
    await enter(half, 'anna');
    for (const who of [stranger, half, one]) {
      const { status, text } = await who.post('/second-factor/challenge');
      expect([status, text.includes('You have no passkey')]).toEqual([409, true]);
    }
    expect((await stranger.post('/second-factor/passkey/begin')).status).not.toBe(200);
  });

  test('asks for a code after the password, and nobody is in before', async () => {
    const rig = await openRig();
    const { secret, recoveryCodes } = await rig.withFactor('anna', 'viewer');
    const one = rig.visitor();
    const first = await enter(one, 'anna');
    expect([first.status, first.headers.get('location')]).toEqual([303, '/sign-in/second-factor?next=%2Fto-settle']);
    expect(await isIn(one)).toBe(false);
    expect((await one.get('/api/v1/runs')).status).toBe(401);
    const page = await one.get('/sign-in/second-factor?next=%2Fto-settle');
    expect(page.text).toContain('value="/to-settle"');
    const step = (typed: string) => one.post('/sign-in/second-factor', { typed, next: '/to-settle' });
    const wrong = await step(wrongCodeAt(secret, rig.now()));
    expect([wrong.status, wrong.text.includes('value="/to-settle"'), await isIn(one)]).toEqual([401, true, false]);
    const before = one.cookies.get(SESSION_COOKIE);
    const right = await step(codeAt(secret, rig.now()));
    expect([right.status, right.headers.get('location'), await isIn(one)]).toEqual([303, '/to-settle', true]);
    expect(one.cookies.get(SESSION_COOKIE)).not.toBe(before);

    const other = rig.visitor();
    await enter(other, 'anna');
    const replayed = await other.post('/sign-in/second-factor', { typed: codeAt(secret, rig.now()) });
    expect([replayed.status, await isIn(other)]).toEqual([401, false]);
    await other.post('/sign-in/second-factor', { typed: recoveryCodes[0] ?? '' });
    expect(await isIn(other)).toBe(true);
  });

  test('begins anew after five minutes, and for whoever brings a code and no password', async () => {
    const rig = await openRig();
    const { secret } = await rig.withFactor('anna', 'viewer');
    const one = rig.visitor();
    expect((await one.get('/sign-in/second-factor')).headers.get('location')).toBe('/sign-in');
    expect((await one.post('/sign-in/second-factor', { typed: codeAt(secret, rig.now()) })).status).toBe(401);
    await enter(one, 'anna');
    rig.pass(5 * MINUTE_MS);
    expect((await one.post('/sign-in/second-factor', { typed: codeAt(secret, rig.now()) })).status).toBe(401);
    expect(await isIn(one)).toBe(false);
  });

  test('after a change of the password asks for a code too; a stranger who has the password changes none', async () => {
    const rig = await openRig();
    const { one, secret } = await rig.withFactor('anna', 'viewer');
    const words = 'five quite other words here';
    const form = { name: 'anna', kind: 'first', password: PASSWORD, newPassword: words, repeated: words };
    expect((await rig.visitor().post('/password', form)).status).toBe(401);
    const changed = await one.post('/password', { ...form, kind: 'change' });
    expect(changed.headers.get('location')).toMatch(/^\/sign-in\/second-factor\?/);
    expect(await isIn(one)).toBe(false);
    await one.post('/sign-in/second-factor', { typed: codeAt(secret, rig.now()) });
    expect(await isIn(one)).toBe(true);
  });
});

/** What waits for carl on a site with two runs: one to approve, one with a held payout; a halt. */
async function fill({ app }: Rig): Promise<void> {
  await recordRun(app.ledger, { id: 'held', lines: [2, 3] });
  await movePayout(app.ledger, { runId: 'held', line: 2 }, 'held');
}

describe('what needs a second person', () => {
  test('asks for a code when the last one is older than five minutes, with all that was typed, and is done with it', async () => {
    const rig = await openRig();
    const { one, secret } = await rig.withFactor('carl', 'checker');
    await fill(rig);
    const page = '/runs/held/payouts/2';
    await one.get(page);
    const wanted = { decision: 'drop', paymentId: '', reason: 'a duplicate' };
    rig.pass(5 * MINUTE_MS);
    const asked = await one.post(`${page}/decide`, wanted);
    expect(asked.status).toBe(403);
    expect(asked.text).toContain('name="code"');
    expect(asked.text).toContain('a duplicate');
    const payout = async () => await rig.app.ledger.runs.row('held', 2);
    expect(await payout()).toMatchObject({ proposal: null });
    const wrong = await one.post(`${page}/decide`, { ...wanted, code: wrongCodeAt(secret, rig.now()) });
    expect([wrong.status, wrong.text.includes('name="code"')]).toEqual([401, true]);
    expect(await payout()).toMatchObject({ proposal: null });
    const before = one.cookies.get(SESSION_COOKIE);
    const done = await one.post(`${page}/decide`, { ...wanted, code: codeAt(secret, rig.now()) });
    expect([done.status, done.text.includes('Proposed')]).toEqual([200, true]);
    expect(await payout()).toMatchObject({ proposal: { by: 'carl', decision: 'drop' } });
    expect(one.cookies.get(SESSION_COOKIE)).not.toBe(before);
    // Within five minutes of it nothing is asked.
    await one.get('/settings');
    expect((await one.post('/release')).status).not.toBe(403);
  });

  const SHA256 = '0'.repeat(64);
  test.each<[method: string, path: string, fields?: Record<string, string>]>([
    ['POST', '/runs/held/approve', { sha256: SHA256, digest: SHA256 }],
    ['POST', '/release'],
    ['POST', '/settings/adopt'],
    ['POST', '/block-list/unblock'],
    ['POST', '/users/role', { name: 'carl', role: 'maker' }],
    ['POST', '/users/factor', { name: 'carl' }],
    ['POST', '/keys', { name: 'books', role: 'maker' }],
    ['POST', '/api/v1/runs/held/approve', { sha256: SHA256 }],
    ['POST', '/api/v1/runs/held/payouts/2/allow', { reason: 'test' }],
    ['POST', '/api/v1/runs/held/payouts/2/resolve', { outcome: 'not-paid', reason: 'test' }],
    ['POST', '/api/v1/release'],
    ['POST', '/api/v1/users/carl/reset'],
    ['DELETE', '/api/v1/users/carl/second-factor'],
  ])('is not done without one: %s %s', async (method, path, fields = {}) => {
    const rig = await openRig();
    const { one } = await rig.withFactor('ada', 'admin');
    await fill(rig);
    await one.get('/runs');
    rig.pass(5 * MINUTE_MS);
    const cookie = `${SESSION_COOKIE}=${one.cookies.get(SESSION_COOKIE)}`;
    const isJson = path.startsWith('/api/') && Object.keys(fields).length > 0;
    const headers = { cookie, origin: rig.base, 'sec-fetch-site': 'same-origin', 'x-csrf-token': one.csrf() };
    const answer = await fetch(rig.base + path, {
      method,
      headers: isJson ? { ...headers, 'content-type': 'application/json' } : headers,
      redirect: 'manual',
      ...(isJson ? { body: JSON.stringify(fields) } : {}),
      ...(path.startsWith('/api/') ? {} : { body: new URLSearchParams({ csrf: one.csrf(), ...fields }) }),
    });
    const text = await answer.text();
    expect([answer.status, text.includes('This asks for your second factor again.')]).toEqual([403, true]);
  });

  test('is asked of a script of a page by a header', async () => {
    const rig = await openRig();
    const { one, secret } = await rig.withFactor('ada', 'admin');
    await one.get('/runs');
    rig.pass(5 * MINUTE_MS);
    const cookie = `${SESSION_COOKIE}=${one.cookies.get(SESSION_COOKIE)}`;
    const headers = { cookie, origin: rig.base, 'sec-fetch-site': 'same-origin', 'x-csrf-token': one.csrf() };
    const ask = async (more: Record<string, string>) =>
      (await fetch(`${rig.base}/api/v1/release`, { method: 'POST', headers: { ...headers, ...more } })).status;
    expect([await ask({}), await ask({ 'x-second-factor': codeAt(secret, rig.now()) })]).toEqual([403, 200]);
  });

  test('is not asked of whoever has none, unless the settings require it', async () => {
    for (const [secondFactor, status] of [
      ['optional', 303],
      ['required', 403],
    ] as const) {
      const rig = await openRig({ secondFactor });
      const ada = await rig.person('ada', 'admin');
      await ada.get('/users');
      const answer = await ada.post('/users/role', { name: 'ada', role: 'admin' });
      expect([secondFactor, answer.status]).toEqual([secondFactor, status]);
      await fill(rig);
      const carl = await rig.person('carl', 'checker');
      const approved = await carl.post('/runs/held/approve', { sha256: SHA256, digest: SHA256 });
      expect([secondFactor, approved.text.includes('This needs a second factor')]).toEqual([
        secondFactor,
        secondFactor === 'required',
      ]);
    }
  });
});

describe('a passkey', () => {
  test('is taken away by its user, who gives the second factor again, and is the last one only where none is required', async () => {
    for (const [secondFactor, status] of [
      ['optional', 303],
      ['required', 409],
    ] as const) {
      const path = '/second-factor/passkey/remove';
      const rig = await openRig({ secondFactor });
      const dora = await rig.person('dora', 'checker');
      const last = await givePasskey(rig.app.ledger, 'dora');
      await dora.get('/second-factor');
      expect([secondFactor, (await dora.post(path, { passkey: last.id })).status]).toEqual([secondFactor, status]);

      const { one, secret } = await rig.withFactor('carl', 'checker');
      const { id } = await givePasskey(rig.app.ledger, 'carl');
      const page = await one.get('/second-factor');
      expect(page.text).toContain(`name="passkey" value="${id}"`);
      rig.pass(5 * MINUTE_MS);
      const asked = await one.post(path, { passkey: id, form: id });
      expect([asked.status, asked.text.includes('name="code"')]).toEqual([403, true]);
      expect((await one.post(path, { passkey: id, code: codeAt(secret, rig.now()) })).status).toBe(303);
      expect(await ownFactor(rig.app, 'carl')).toMatchObject({ hasApp: true, passkeys: [] });
      await one.get('/second-factor');
      const gone = await one.post(path, { passkey: id });
      expect([gone.status, gone.text.includes('You no longer have this passkey.')]).toEqual([409, true]);
    }
  });
});

describe('a lost factor', () => {
  test('is taken away by two admins at the page Users', async () => {
    const rig = await openRig();
    const [ada, eve] = [await rig.person('ada', 'admin'), await rig.person('eve', 'admin')];
    const { one } = await rig.withFactor('carl', 'checker');
    expect((await ada.get('/users')).text).toContain('with a second factor');
    expect((await ada.post('/users/factor', { name: 'carl' })).status).toBe(303);
    expect((await ada.post('/users/factor', { name: 'carl' })).status).toBe(409);
    expect(await isIn(one)).toBe(true);
    expect((await eve.get('/users')).text).toContain('take the second factor away');
    expect((await eve.post('/users/factor', { name: 'carl' })).status).toBe(303);
    expect(await isIn(one)).toBe(false);
    const fresh = rig.visitor();
    expect((await enter(fresh, 'carl')).headers.get('location')).toBe('/to-settle');
  });
});
