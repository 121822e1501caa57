import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Act, may, ROLES } from '../../src/access/roles.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { useTestRedis } from '../support/redis.ts';
import { ACTS } from './acts.ts';
import type { Visitor } from './visitor.ts';
import { addressOf, changedKeys, fillSite, ledgerBytes, openWholeSite, pageRoutes, type Route } from './whole-site.ts';

vi.setConfig({ testTimeout: 120_000 });

const server = await useTestRedis();

const BOARD = '/admin/queues';

function actOf(route: Route): Act | 'public' | undefined {
  return route.split(' ')[1]?.startsWith(BOARD) ? 'queues' : ACTS[route];
}

/** They note who took them on the audit log, the same thing once for a while; nothing else that is only looked at leaves a trace. */
const NOTED = [
  'GET /runs/:run/changes',
  'GET /runs/:run/report',
  'GET /runs/:run/printed',
  'GET /runs/:run/reports/:file',
  'GET /runs/:run/retry-file',
];
/** A stream of events without an end. */
const LIVE = 'GET /runs/:run/live';

type Headers = Readonly<Record<string, string>>;

/** How somebody asks who has all that a page of ours has; a stranger has nothing but a page. */
function ownHeaders(base: string, visitor?: Visitor): Headers {
  const own = { origin: base, 'sec-fetch-site': 'same-origin' };
  if (visitor === undefined) return own;
  return { ...own, cookie: cookieOf(visitor), 'x-csrf-token': visitor.csrf() };
}

function cookieOf({ cookies }: Visitor): string {
  return `${SESSION_COOKIE}=${cookies.get(SESSION_COOKIE)}`;
}

async function statusOf(address: string, { method, ...init }: RequestInit & { method: string }): Promise<number> {
  const response = await fetch(address, { method, redirect: 'manual', ...init });
  await response.body?.cancel();
  return response.status;
}

describe('who may do what', () => {
  test('is said of each page and form that the server has, and of no other', async () => {
    const { web } = await openWholeSite(server);
    const routes = pageRoutes(web);
    expect(routes.filter((route) => actOf(route) === undefined)).toEqual([]);
    expect(Object.keys(ACTS).filter((route) => !routes.includes(route))).toEqual([]);
    expect(routes.filter((route) => actOf(route) === 'queues').length).toBeGreaterThan(20);
  });

  test.each(ROLES)('as PERMISSIONS say for a %s', async (role) => {
    const { web, base, person } = await openWholeSite(server);
    const headers = ownHeaders(base, await person('anna', role));
    const routes = pageRoutes(web).filter((route) => route !== 'POST /sign-out');
    const refused: Route[] = [];
    for (const route of routes) {
      const { method, path } = addressOf(route);
      const response = await fetch(base + path, { method, redirect: 'manual', headers });
      expect(`${route} ${response.status}`).not.toBe(`${route} 401`);
      if (response.status === 403 && (await response.text()).includes(`Your role, ${role},`)) refused.push(route);
    }
    expect(refused).toEqual(routes.filter((route) => !isFor(role, route)));
  });

  test('and nothing for somebody who has not signed in: pages ask them to, forms do nothing', async () => {
    const { web, base, app } = await openWholeSite(server);
    const before = await ledgerBytes(server, app);
    for (const route of pageRoutes(web)) {
      if (actOf(route) === 'public') continue;
      const { method, path } = addressOf(route);
      const answer = await fetch(base + path, { method, redirect: 'manual', headers: ownHeaders(base) });
      const location = answer.headers.get('location');
      const expected = method === 'GET' ? { status: 303, location: signInFor(path) } : { status: 401, location: null };
      expect({ route, status: answer.status, location }).toEqual({ route, ...expected });
    }
    expect(changedKeys(before, await ledgerBytes(server, app))).toEqual([]);
  });
});

function isFor(role: (typeof ROLES)[number], route: Route): boolean {
  const act = actOf(route);
  return act === 'public' || (act !== undefined && may(role, act));
}

function signInFor(path: string): string {
  return `/sign-in?next=${encodeURIComponent(path)}`;
}

describe('a form', () => {
  test('that does not come from a page of this session does nothing, whichever it is', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const [ada, eve] = [await person('ada', 'admin'), await person('eve', 'admin')];
    const names = await fillSite(app, ada);
    const before = await ledgerBytes(server, app);
    const changing = pageRoutes(web).filter((route) => !route.startsWith('GET '));
    expect(changing.length).toBeGreaterThan(25);
    for (const route of changing) {
      const { method, path } = addressOf(route, names);
      for (const [how, init] of forgeries(base, ada, eve)) {
        const status = await statusOf(base + path, { method, ...init });
        // Some routes tell what is wrong with a form before they look for its token.
        const expected = /token|body|plain/.test(how) ? [400, 403, 415] : [403];
        expect(expected, `${route} with ${how} is answered with ${status}`).toContain(status);
      }
    }
    expect(changedKeys(before, await ledgerBytes(server, app))).toEqual([]);
    expect((await ada.get(`/uploads/${names['id']}`)).status).toBe(200);
  });
});

function formWith(fields: Headers): URLSearchParams {
  return new URLSearchParams({ reason: 'a test', ...fields });
}

function partsWith(csrf: string): FormData {
  const data = new FormData();
  data.set('csrf', csrf);
  data.set('file', new Blob(['x']), 'x.csv');
  return data;
}

/** Ways in which another site, or somebody else's form, may come with the cookie of a session. */
function forgeries(base: string, ada: Visitor, eve: Visitor): [string, RequestInit][] {
  const cookie = cookieOf(ada);
  const page = { origin: base, 'sec-fetch-site': 'same-origin' };
  const whole = formWith({ csrf: ada.csrf() });
  const from = (headers: Headers, body: RequestInit['body'] = whole): RequestInit => ({
    headers: { cookie, ...headers },
    body: body ?? null,
  });
  return [
    ['no token', from(page, formWith({}))],
    ['no body', { headers: { cookie, ...page } }],
    ['an empty token', from(page, formWith({ csrf: '' }))],
    ['a wrong token', from(page, formWith({ csrf: `${ada.csrf().slice(0, -1)}!` }))],
    ["somebody else's token", from(page, formWith({ csrf: eve.csrf() }))],
    ['no token in parts', from(page, partsWith(''))],
    ['another origin', from({ ...page, origin: 'https://evil.example' })],
    ['another port', from({ ...page, origin: 'http://127.0.0.1:1' })],
    ['no origin of its own', from({ origin: 'null' })],
    ['another origin, in an old browser', from({ origin: 'https://evil.example' })],
    ['another site', from({ origin: base, 'sec-fetch-site': 'cross-site' })],
    ['a neighbour', from({ origin: base, 'sec-fetch-site': 'same-site' })],
    ['no page', from({ origin: base, 'sec-fetch-site': 'none' })],
    ['a word that is none', from({ origin: base, 'sec-fetch-site': 'SAME-ORIGIN, cross-site' })],
    ['nothing that says from where', from({})],
    ['a plain text', from({ ...page, 'content-type': 'text/plain' }, `csrf=${ada.csrf()}`)],
    ['a plain text of JSON', from({ ...page, 'content-type': 'text/plain' }, JSON.stringify({ csrf: ada.csrf() }))],
    ['a form in parts of another origin', from({ origin: 'https://evil.example' }, partsWith(ada.csrf()))],
  ];
}

test('the board of queues shows, and changes nothing for anybody', async () => {
  const { web, base, app, person } = await openWholeSite(server);
  const headers = ownHeaders(base, await person('ada', 'admin'));
  const names = await jobOnBoard(base, headers);
  const done: Route[] = [];
  const before = await ledgerBytes(server, app);
  for (const route of pageRoutes(web).filter((one) => actOf(one) === 'queues' && !one.startsWith('GET '))) {
    const { method, path } = addressOf(route, names);
    const status = await statusOf(base + path, { method, headers });
    if (status < 400) done.push(route);
  }
  // They pause and resume all queues that may be, which are none.
  expect(done.toSorted()).toEqual([`PUT ${BOARD}/api/queues/pause`, `PUT ${BOARD}/api/queues/resume`]);
  expect(changedKeys(before, await ledgerBytes(server, app))).toEqual([]);
});

/** A queue as the board names it. */
async function jobOnBoard(base: string, headers: Headers): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${base}${BOARD}/api/queues`, { headers });
  const { queues } = z.object({ queues: z.array(z.object({ name: z.string() })) }).parse(await answer.json());
  return { queueName: queues[0]?.name ?? '', jobId: '1', queueStatus: 'completed', schedulerId: '1' };
}

describe('what is only looked at', () => {
  test('changes nothing, but a download is noted on the audit log', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    const headers = { cookie: cookieOf(ada) };
    const shown: Route[] = [];
    for (const route of pageRoutes(web).filter((one) => one.startsWith('GET ') && one !== LIVE)) {
      const before = await ledgerBytes(server, app);
      const { method, path } = addressOf(route, names);
      const response = await fetch(base + path, { method, redirect: 'manual', headers });
      await response.arrayBuffer();
      if (response.status === 200) shown.push(route);
      const changed = changedKeys(before, await ledgerBytes(server, app));
      const { prefix } = app.config;
      const noted = [`${prefix}:audit`, expect.stringMatching(/:turn:download:[\w-]{43}$/)];
      expect({ route, changed }).toEqual({ route, changed: NOTED.includes(route) ? noted : [] });
    }
    expect(shown).toEqual(expect.arrayContaining([...NOTED, 'GET /runs/:run', 'GET /uploads/:id/marked-up.csv']));
    expect(shown.length).toBeGreaterThan(35);
  });

  test('is asked for by GET or HEAD; every other method is told which there are', async () => {
    const { web, base, person } = await openWholeSite(server);
    const headers = ownHeaders(base, await person('ada', 'admin'));
    const routes = pageRoutes(web).map((route) => addressOf(route, { file: 'v1.csv' }));
    for (const path of new Set(routes.map((route) => route.path))) {
      if (path.startsWith(BOARD)) continue;
      const own = routes.filter((route) => route.path === path).map(({ method }) => method);
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !own.includes(one))) {
        const response = await fetch(base + path, { method, headers });
        const allow = response.headers
          .get('allow')
          ?.split(', ')
          .filter((one) => one !== 'HEAD');
        expect({ method, path, status: response.status, allow }).toEqual({
          method,
          path,
          status: 405,
          allow: own.toSorted(),
        });
      }
    }
    expect(await statusOf(`${base}/nothing`, { method: 'DELETE', headers })).toBe(404);
  });
});
