import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import { PERMISSIONS, ROLES } from '../../src/access/roles.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { listKeys } from '../../src/people/keys.ts';
import { listUsers } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Answer, openWebRig, PASSWORD, type Visitor } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

type Rig = Awaited<ReturnType<typeof openWebRig>>;

async function twoAdmins(): Promise<Rig & { anna: Visitor; bob: Visitor }> {
  const rig = await openWebRig(server.url);
  return { ...rig, anna: await rig.person('anna', 'admin'), bob: await rig.person('bob', 'admin') };
}

/** Sends the form of the only Confirm button of a page, with the fields that stand in it. */
async function confirm(one: Visitor, page: string): Promise<Answer> {
  const { text } = await one.get(page);
  const forms = [...text.matchAll(/<form method="post" action="([^"]+)">(.*?)<\/form>/gs)];
  const [form] = forms.filter(([, , content = '']) => content.includes('>Confirm</button>'));
  const [, action = '', content = ''] = form ?? [];
  const fields = [...content.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  return await one.post(action, Object.fromEntries(fields) as Record<string, string>);
}

function shownSecret(text: string): string | undefined {
  return /<dd><code>([^<]+)<\/code><\/dd>/.exec(text.replaceAll(/\s*\n\s*/g, ''))?.[1];
}

async function roleOf({ app }: Rig, name: string): Promise<string | undefined> {
  return (await listUsers(app)).users.find((user) => user.name === name)?.role;
}

async function actions({ app }: Rig): Promise<string[]> {
  const found: string[] = [];
  for await (const line of app.ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.actor === 'anna' || entry?.actor === 'bob') found.push(`${entry.actor} ${entry.action} ${entry.target}`);
  }
  return found.filter((one) => !one.includes('password-changed'));
}

describe('the users page', () => {
  test.each(['viewer', 'maker', 'checker'] as const)('is not for a %s, and nor is anything on it', async (role) => {
    const rig = await openWebRig(server.url);
    const mia = await rig.person('mia', role);
    const before = await listUsers(rig.app);
    for (const path of ['/users', '/users.csv', '/keys', '/keys.csv']) expect((await mia.get(path)).status).toBe(403);
    for (const path of [
      '/users',
      '/users/role',
      '/users/enable',
      '/users/reset',
      '/users/disable',
      '/keys',
      '/keys/revoke',
      '/proposals/withdraw',
    ]) {
      const { status } = await mia.post(path, { name: 'mia', role: 'admin', days: '' });
      expect([path, status]).toEqual([path, 403]);
    }
    expect(await listUsers(rig.app)).toEqual(before);
    expect((await mia.get('/runs')).text).not.toContain('href="/users"');
  });

  test('tells when each of them signed in last', async () => {
    const { app, person, visitor } = await openWebRig(server.url);
    const otto = await person('otto', 'admin');
    const lastOf = async (name: string): Promise<string | undefined> =>
      new RegExp(
        `<th scope="row">${name}</th>(?:<td[^>]*>(?:(?!</td>).)*</td>){2}<td[^>]*>(?:<time [^>]*>)?([^<]*)`,
      ).exec((await otto.get('/users')).text)?.[1];
    expect(await lastOf('otto')).toBe('never');
    const one = visitor();
    await one.get('/sign-in');
    await one.post('/sign-in', { name: 'otto', password: PASSWORD, next: '/runs' });
    expect(await lastOf('otto')).toMatch(
      new RegExp(`^${new Date(app.clock.now()).toISOString().slice(0, 10)} .* UTC$`),
    );
  });

  test('has the only admin decide alone, and shows the secret once', async () => {
    const rig = await openWebRig(server.url);
    const anna = await rig.person('anna', 'admin');
    expect((await anna.get('/users')).text).toContain('you decide alone');
    const answer = await anna.post('/users', { name: 'mia', role: 'maker' });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const secret = shownSecret(answer.text) ?? '';
    expect(secret).toMatch(/^[\w-]{22}$/);
    const list = await anna.get('/users');
    expect(list.text).not.toContain(secret);
    expect(list.text).toContain('has a one-time secret until');
    const mia = rig.visitor();
    const first = await mia.post('/sign-in', { name: 'mia', password: secret, next: '/runs' });
    expect(first.text).toContain('Choose a password');
    const twice = await anna.post('/users', { name: 'MIA', role: 'maker' });
    expect([twice.status, twice.text.includes('There is a user mia already')]).toEqual([409, true]);
  });

  test('has another admin confirm what one proposed, each act by its own button', async () => {
    const rig = await twoAdmins();
    const { anna, bob } = rig;
    const proposed = await anna.post('/users', { name: 'mia', role: 'maker' });
    expect(shownSecret(proposed.text)).toMatch(/^[\w-]{22}$/);
    expect(await roleOf(rig, 'mia')).toBeUndefined();
    expect((await anna.get('/users')).text).toContain('It waits for another person.');
    const own = await anna.post('/users', { name: 'mia', role: 'maker' });
    expect([own.status, own.text.includes('another person has to confirm it')]).toEqual([409, true]);
    const confirmed = await confirm(bob, '/users');
    expect([confirmed.status, shownSecret(confirmed.text)]).toEqual([303, undefined]);
    expect(await roleOf(rig, 'mia')).toBe('maker');

    await bob.post('/users/role', { name: 'mia', role: 'checker' });
    expect(await roleOf(rig, 'mia')).toBe('maker');
    expect((await confirm(anna, '/users')).status).toBe(303);
    expect(await roleOf(rig, 'mia')).toBe('checker');

    expect(shownSecret((await bob.post('/users/reset', { name: 'mia' })).text)).toMatch(/^[\w-]{22}$/);
    expect((await confirm(anna, '/users')).status).toBe(303);

    expect((await bob.post('/users/disable', { name: 'mia' })).status).toBe(303);
    expect((await anna.get('/users')).text).toContain('>disabled<');
    await bob.post('/users/enable', { name: 'mia' });
    expect((await confirm(anna, '/users')).status).toBe(303);
    expect((await listUsers(rig.app)).users.find(({ name }) => name === 'mia')?.isDisabled).toBe(false);
    expect(await actions(rig)).toEqual([
      'anna user.added-proposed user mia',
      'bob user.added user mia',
      'bob user.role-changed-proposed user mia',
      'anna user.role-changed user mia',
      'bob user.reset-proposed user mia',
      'anna user.reset user mia',
      'bob user.disabled user mia',
      'bob user.enabled-proposed user mia',
      'anna user.enabled user mia',
    ]);
  });

  test('lets one admin withdraw what would add somebody', async () => {
    const rig = await twoAdmins();
    await rig.anna.post('/users', { name: 'mia', role: 'admin' });
    expect((await rig.bob.get('/users')).text).toContain('Withdraw for user mia: add as admin');
    expect((await rig.bob.post('/proposals/withdraw', { target: 'user mia', what: 'add as admin' })).status).toBe(303);
    expect((await listUsers(rig.app)).proposals).toEqual([]);
  });

  test('lets one admin withdraw what is proposed for a user who is there, and nothing else of it', async () => {
    const rig = await twoAdmins();
    const { anna, bob } = rig;
    for (const [name, role] of [
      ['carl', 'viewer'],
      ['dora', 'maker'],
    ] as const) {
      await rig.person(name, role);
      await anna.post('/users/role', { name, role: 'admin' });
    }
    expect((await bob.get('/users')).text).toContain('Withdraw for user carl: give the role admin');
    const withdrawn = await bob.post('/proposals/withdraw', { target: 'user carl', what: 'give the role admin' });
    expect([withdrawn.status, withdrawn.headers.get('location')]).toEqual([303, '/users']);
    const left = await listUsers(rig.app);
    expect(left.proposals).toMatchObject([{ target: 'user dora' }]);
    expect(left.users.find(({ name }) => name === 'carl')).toMatchObject({ role: 'viewer', isDisabled: false });
    const other = await bob.post('/proposals/withdraw', { target: 'user dora', what: 'give the role checker' });
    expect([other.status, other.text.includes('not proposed for user dora any more')]).toEqual([409, true]);
    expect((await listUsers(rig.app)).proposals).toEqual(left.proposals);
    expect((await actions(rig)).at(-1)).toBe('bob user.proposal-withdrawn user carl');
  });

  test('confirms only what was shown: another role is another proposal', async () => {
    const rig = await twoAdmins();
    await rig.anna.post('/users', { name: 'mia', role: 'viewer' });
    expect((await rig.bob.post('/users', { name: 'mia', role: 'admin' })).text).toContain('another admin confirms');
    expect(await roleOf(rig, 'mia')).toBeUndefined();
    expect((await listUsers(rig.app)).proposals).toMatchObject([{ what: 'add as admin', by: 'bob' }]);
  });

  test.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "mia'; DROP TABLE users",
    '=cmd|calc',
    'mia\u202egnp',
    'mia\r\nset-cookie: x=y',
    'key accounting',
    '__proto__',
    '../../etc/passwd',
    'x'.repeat(65),
  ])('takes no name such as %j', async (name) => {
    const rig = await openWebRig(server.url);
    const anna = await rig.person('anna', 'admin');
    const before = (await listUsers(rig.app)).users.length;
    const { status, text, headers } = await anna.post('/users', { name, role: 'viewer' });
    expect([409, 422]).toContain(status);
    expect(text).not.toMatch(/<script>alert|<img/);
    expect(headers.get('set-cookie')).toBeNull();
    expect((await listUsers(rig.app)).users.length).toBe(before);
  });

  test('escapes the signs that a name may have', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    await anna.post('/users', { name: "o'neill@example.com", role: 'viewer' });
    const { text } = await anna.get('/users');
    expect(text).toMatch(/o(?:'|&#39;)neill@example\.com/);
    expect(text).toContain('Disable o');
  });

  test('asks once more before somebody is disabled, and says who is the last admin', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'admin');
    const alone = await anna.get('/users');
    expect(alone.text).toMatch(
      /<summary aria-label="Disable anna…">Disable…<\/summary><form[^>]* action="\/users\/disable"/,
    );
    expect(alone.text).toContain('anna is the last admin who may sign in');
    await person('otto', 'admin');
    const { text } = await anna.get('/users');
    expect(text).toContain('otto is signed out everywhere at once');
    expect(text).not.toContain('is the last admin');
  });

  test('refuses fields that are none, and roles that are none', async () => {
    const rig = await openWebRig(server.url);
    const anna = await rig.person('anna', 'admin');
    const forms = [
      { name: 'mia', role: 'owner' },
      { name: 'mia', role: 'viewer', epoch: '1' },
      { name: 'mia', role: 'viewer', actor: 'bob' },
      { role: 'viewer' },
    ] as Record<string, string>[];
    for (const form of forms) expect([form, (await anna.post('/users', form)).status]).toEqual([form, 422]);
    expect(await roleOf(rig, 'mia')).toBeUndefined();
  });

  test('comes as CSV', async () => {
    const { anna } = await twoAdmins();
    const { text, headers } = await anna.get('/users.csv');
    expect(headers.get('content-disposition')).toBe('attachment; filename="users.csv"');
    const rows = parse<Record<string, string>>(text, { columns: true });
    expect(rows.map(({ name, role, disabled }) => ({ name, role, disabled }))).toEqual([
      { name: 'anna', role: 'admin', disabled: 'no' },
      { name: 'bob', role: 'admin', disabled: 'no' },
    ]);
  });
});

describe('the keys page', () => {
  test('makes a key by two admins, shows it once, and revokes it by one', async () => {
    const rig = await twoAdmins();
    const { anna, bob, base } = rig;
    expect((await anna.get('/keys')).text).toContain('There are no keys yet');
    const made = await anna.post('/keys', { name: 'accounting', role: 'maker', days: '30' });
    expect(await listKeys(rig.app)).toEqual([]);
    const confirmed = await confirm(bob, '/keys');
    expect([confirmed.status, shownSecret(confirmed.text)]).toEqual([303, undefined]);
    const bearer = shownSecret(made.text) ?? '';
    expect(bearer).toMatch(/^pr_[0-9a-f]{16}_[\w-]{43}$/);
    const list = await anna.get('/keys');
    expect(list.text).toContain('Revoke accounting');
    expect(list.text).toContain('Whatever uses accounting is refused from now on.');
    expect(list.text).not.toContain(bearer);
    const [key] = await listKeys(rig.app);
    expect((key?.expiresAt ?? 0) - (key?.createdAt ?? 0)).toBe(30 * 24 * 60 * 60_000);

    const ask = async (path: string) => {
      const response = await fetch(`${base}${path}`, {
        headers: { authorization: `Bearer ${bearer}` },
        redirect: 'manual',
      });
      await response.text();
      return response.status;
    };
    expect([await ask('/runs'), await ask('/users'), await ask('/audit')]).toEqual([200, 403, 403]);
    expect((await bob.post('/keys/revoke', { name: 'accounting' })).status).toBe(303);
    expect(await ask('/runs')).toBe(401);
    const rows = parse((await anna.get('/keys.csv')).text, { columns: true });
    expect(rows).toEqual([]);
  });

  test('makes one that holds until it is revoked, and lets a proposal be withdrawn', async () => {
    const rig = await twoAdmins();
    await rig.anna.post('/keys', { name: 'books', role: 'viewer', days: '' });
    expect((await confirm(rig.bob, '/keys')).status).toBe(303);
    expect((await listKeys(rig.app)).map(({ name, expiresAt }) => [name, expiresAt])).toEqual([['books', null]]);
    await rig.anna.post('/keys', { name: 'other', role: 'viewer', days: '' });
    expect((await rig.anna.post('/keys/revoke', { name: 'other' })).status).toBe(303);
    expect((await listUsers(rig.app)).proposals).toEqual([]);
  });

  test.each(['0', '3651', '-1', '1e3', '10000', 'x'])('makes none for %s days', async (days) => {
    const rig = await openWebRig(server.url);
    const anna = await rig.person('anna', 'admin');
    expect((await anna.post('/keys', { name: 'books', role: 'viewer', days })).status).toBe(422);
    expect((await anna.post('/keys', { name: 'books', role: 'admin', days: '' })).status).toBe(422);
    expect(await listKeys(rig.app)).toEqual([]);
  });
});

describe('the guide', () => {
  test('says of each role what it may do', () => {
    const guide = readFileSync(new URL('../../docs/users.md', import.meta.url), 'utf8');
    const rows = [...guide.matchAll(/^\| `([a-z]+)` \|[^|]*\| *([x ]) *\| *([x ]) *\| *([x ]) *\| *([x ]) *\|$/gm)];
    const told = rows.map(([, act = '', ...marks]) => [act, ROLES.filter((_, index) => marks[index] === 'x')]);
    expect(Object.fromEntries(told)).toEqual(PERMISSIONS);
  });
});
