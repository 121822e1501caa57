import { describe, expect, test } from 'vitest';
import { type Act, KEY_ROLES, may, mayKey, ROLES } from '../../src/access/roles.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Caller, openApiRig } from './api-rig.ts';

const server = await useTestRedis();

/** What each operation is to somebody who wants to do it. */
const ACTS: Readonly<Record<string, Act>> = {
  'GET /openapi.json': 'read',
  'GET /runs': 'read',
  'POST /runs': 'submit',
  'GET /runs/:run': 'read',
  'GET /runs/:run/details': 'read',
  'GET /runs/:run/events': 'read',
  'GET /search': 'read',
  'GET /runs/:run/payouts': 'read',
  'GET /runs/:run/payouts/:line': 'read',
  'GET /runs/:run/report': 'read',
  'GET /runs/:run/reports/:file': 'read',
  'GET /runs/:run/changes': 'read',
  'GET /runs/:run/retry-file': 'read',
  'GET /period': 'read',
  'POST /reconcile': 'submit',
  'POST /runs/:run/approve': 'approve',
  'POST /runs/:run/pause': 'pause',
  'POST /runs/:run/resume': 'resume',
  'POST /runs/:run/cancel': 'cancel',
  'POST /runs/:run/purge': 'settings',
  'POST /runs/:run/payouts/:line/allow': 'settle',
  'POST /runs/:run/payouts/:line/drop': 'settle',
  'POST /runs/:run/payouts/:line/resolve': 'settle',
  'POST /runs/:run/payouts/:line/cancel': 'cancel',
  'POST /runs/:run/settle': 'settle',
  'GET /to-settle': 'read',
  'POST /validate': 'submit',
  'POST /validate/marked-up': 'submit',
  'POST /preview': 'preview',
  'GET /templates': 'read',
  'GET /halt': 'read',
  'POST /halt': 'halt',
  'POST /release': 'settle',
  'GET /settings': 'read',
  'POST /settings/adopt': 'settings',
  'GET /status': 'read',
  'GET /schedules': 'read',
  'PUT /schedules/:name': 'schedule',
  'DELETE /schedules/:name': 'schedule',
  'GET /inbox': 'read',
  'GET /notifications': 'read',
  'POST /notifications/retry': 'settings',
  'POST /notifications/test': 'settings',
  'GET /block-list': 'read',
  'PUT /block-list/:identity': 'block',
  'DELETE /block-list/:identity': 'block',
  'GET /audit': 'audit',
  'GET /audit/verdict': 'audit',
  'GET /users': 'users',
  'POST /users': 'users',
  'POST /users/:name/role': 'users',
  'POST /users/:name/enable': 'users',
  'POST /users/:name/reset': 'users',
  'DELETE /users/:name/second-factor': 'users',
  'POST /users/:name/disable': 'users',
  'GET /keys': 'users',
  'POST /keys': 'users',
  'DELETE /keys/:name': 'users',
  'POST /proposals/withdraw': 'users',
};

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The API's routes as the server itself lists them: a tree, a level for each four columns. */
function routesOf(tree: string): string[] {
  const path: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, branches = '', piece = '', methods] = /^([│├└─ ]+)(\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    path.splice(branches.length / 4 - 1, Number.POSITIVE_INFINITY, piece);
    const whole = path.join('');
    if (methods === undefined || !whole.startsWith('/api/v1/')) return [];
    const own = methods.split(', ').filter((method) => method !== 'HEAD');
    return own.map((method) => `${method} ${whole.slice('/api/v1'.length)}`);
  });
}

/** They note who took them on the audit log, and are never asked for by HEAD. */
const NOTED = ['report', 'reports/v1.csv', 'changes', 'retry-file', '/period'];

/** An address of the route; nothing there is named so. */
function addressOf(route: string): { method: string; path: string } {
  const [method = '', path = ''] = route.split(' ');
  return { method, path: path.replace(':line', '2').replace(':file', 'v1.csv').replaceAll(/:\w+/g, 'none') };
}

describe('who may do what', () => {
  test('is said of each route that the server has, and of no other', async () => {
    const { web } = await openApiRig(server.url);
    expect(routesOf(web.printRoutes({ commonPrefix: false })).toSorted()).toEqual(Object.keys(ACTS).toSorted());
  });

  test.each(ROLES)('as PERMISSIONS say for a %s who has signed in', async (role) => {
    const { person } = await openApiRig(server.url);
    expect(await refusedTo(await person('anna', role))).toEqual(routesThat((act) => !may(role, act)));
  });

  test.each(KEY_ROLES)('as mayKey says for a %s key', async (role) => {
    const { program } = await openApiRig(server.url);
    expect(await refusedTo(await program('accounting', role))).toEqual(routesThat((act) => !mayKey(role, act)));
  });

  test('and nothing of it for a stranger, a wrong key, or a page of another site', async () => {
    const { stranger, person, base } = await openApiRig(server.url);
    const { headers } = await person('anna', 'admin');
    const all = routesThat(() => true);
    const own = { origin: base, 'sec-fetch-site': 'same-origin' };
    const wrongKey = { authorization: `Bearer pr_${'0'.repeat(16)}_${'x'.repeat(43)}` };
    const foreign = { ...headers, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect(await refusedTo(callerWith(stranger, own), 401)).toEqual(all);
    expect(await refusedTo(callerWith(stranger, wrongKey), 401)).toEqual(all);
    expect(await refusedTo(callerWith(stranger, foreign), 403)).toEqual(
      all.filter((route) => !route.startsWith('GET ')),
    );
    const { headers: told } = await stranger.call('GET', '/runs', { headers: wrongKey });
    expect(told.get('www-authenticate')).toBe('Bearer');
    const tokenless = { ...headers, 'x-csrf-token': 'none' };
    const halt = await stranger.call('POST', '/halt', { body: { reason: 'a test' }, headers: tokenless });
    expect(halt.status).toBe(403);
  });

  test('and whoever has a key that was revoked or has ended may do nothing', async () => {
    const { person, program } = await openApiRig(server.url);
    const key = await program('accounting', 'viewer');
    const ada = await person('ada', 'admin');
    expect((await key.call('GET', '/runs')).status).toBe(200);
    for (const unsaid of ['', '?confirm=', '?confirm=another']) {
      expect((await ada.call('DELETE', `/keys/accounting${unsaid}`)).status).toBe(409);
    }
    expect((await key.call('GET', '/runs')).status).toBe(200);
    expect((await ada.call('DELETE', '/keys/accounting?confirm=accounting')).status).toBe(204);
    expect((await key.call('GET', '/runs')).status).toBe(401);
  });
});

test('a path that is there answers other methods with those that it has, and one that is not with 404', async () => {
  const { stranger } = await openApiRig(server.url);
  const routes = Object.keys(ACTS).map(addressOf);
  for (const path of new Set(routes.map((route) => route.path))) {
    const own = routes.filter((route) => route.path === path).map(({ method }) => method);
    const allow = [...own, ...(own.includes('GET') && !NOTED.includes(path.replace('/runs/none/', '')) ? ['HEAD'] : [])]
      .toSorted()
      .join(', ');
    for (const method of METHODS.filter((one) => !own.includes(one))) {
      const { status, headers } = await stranger.call(method, path);
      expect({ method, path, status, allow: headers.get('allow') }).toEqual({ method, path, status: 405, allow });
    }
  }
  expect((await stranger.call('GET', '/nothing')).status).toBe(404);
  expect((await stranger.call('GET', '/runs/r1/nothing/at/all')).json).toMatchObject({ status: 404 });
});

function routesThat(isWanted: (act: Act) => boolean): string[] {
  return Object.entries(ACTS).flatMap(([route, act]) => (isWanted(act) ? [route] : []));
}

/** The routes at which somebody is told that they may not; without a status, by 401 or 403. */
async function refusedTo(caller: Pick<Caller, 'call'>, by?: number): Promise<string[]> {
  const refused: string[] = [];
  for (const route of Object.keys(ACTS)) {
    const { method, path } = addressOf(route);
    const { status } = await caller.call(method, path);
    if (status === by || (by === undefined && (status === 401 || status === 403))) refused.push(route);
  }
  return refused;
}

function callerWith(caller: Caller, headers: Record<string, string>): Pick<Caller, 'call'> {
  return { call: (method, path) => caller.call(method, path, { headers }) };
}
