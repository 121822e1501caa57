import { describe, expect, test, vi } from 'vitest';
import { listUsers } from '../../src/people/users.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { selfSigned } from '../service/certificates.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from '../web/api-rig.ts';
import { openWebRig } from '../web/rig.ts';
import { addressOf, fillSite, openWholeSite, pageRoutes, type Route } from '../web/whole-site.ts';
import { HOSTILE_BODIES, manyParts } from './bombs.ts';
import { type Budget, withinBudget } from './budget.ts';
import { FIELDS, formOf, HOSTILE_TEXTS, hostileText } from './forms.ts';
import { HOSTILE_NAMES } from './names.ts';
import { HOSTILE_SOCKETS, openHostile, statusOf } from './sockets.ts';

vi.setConfig({ testTimeout: 600_000 });

/** Of one request, with the page that answers it. */
const REQUEST: Budget = { seconds: 2, mebibytes: 64 };
/** Of 200 connections, and of those who are answered meanwhile. */
const SOCKETS: Budget = { seconds: 20, mebibytes: 128 };
const SOCKETS_COUNT = 200;
/** How long anybody else waits for an answer. */
const ANSWER_MS_MAX = 2000;
/** A form has 64 KiB at most; the token and the names of other fields are part of it. */
const FORM_BYTES = 64_000;
const SIGN_IN_BYTES = 15_000;

const server = await useTestRedis();

const NEW_ID: Route = 'POST /sessions/end-others';

function formRoutes(routes: readonly Route[]): Route[] {
  return routes.filter((route) => /^POST (?!\/sign-out|\/admin)/.test(route) && route !== NEW_ID);
}

const TEXTS = HOSTILE_TEXTS.map((text) => [text[0], text] as const);

describe('a form of 64 KB', () => {
  test.each(TEXTS)('of %s is refused in its budget on every page, from a stranger', async (_what, text) => {
    const { web, visitor } = await openWholeSite(server);
    for (const route of formRoutes(pageRoutes(web))) {
      const { path } = addressOf(route);
      for (const bytes of [SIGN_IN_BYTES, FORM_BYTES]) {
        const fields = { ...FIELDS, name: hostileText(text, bytes) };
        const stranger = visitor();
        const { status } = await withinBudget(REQUEST, async () => await stranger.post(path, fields));
        expect({ route, isRefused: status >= 300 && status < 500 }).toEqual({ route, isRefused: true });
      }
    }
  });

  test.each(TEXTS)('of %s is refused in its budget in every field, from an admin', async (_what, text) => {
    const { web, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    for (const route of formRoutes(pageRoutes(web))) {
      const { path } = addressOf(route, names);
      const own = formOf(route);
      const filled = Object.fromEntries(own.map((name) => [name, FIELDS[name] ?? '']));
      for (const field of [...own, 'unknown']) {
        const fields = { ...filled, [field]: hostileText(text, FORM_BYTES) };
        const { status } = await withinBudget(REQUEST, async () => await ada.post(path, fields));
        const isRefused = status >= 400 && status < 500;
        // Blanks around a word are no part of it.
        expect({ route, field, isRefused: isRefused || (field !== 'unknown' && status < 400) }).toEqual({
          route,
          field,
          isRefused: true,
        });
      }
    }
  });
});

test('a form of many parts is refused in its budget', async () => {
  const { base, person } = await openWebRig(server.url);
  const anna = await person('anna', 'maker');
  const form = new Response(manyParts(10_000, anna.csrf()));
  const body = await form.arrayBuffer();
  const cookie = `${SESSION_COOKIE}=${anna.cookies.get(SESSION_COOKIE)}`;
  const type = form.headers.get('content-type') ?? '';
  const headers = { cookie, origin: base, 'sec-fetch-site': 'same-origin', 'content-type': type };
  const send = async () => await fetch(`${base}/upload`, { method: 'POST', headers, body });
  const { status } = await withinBudget(REQUEST, send);
  expect([400, 413]).toContain(status);
});

test.each(HOSTILE_BODIES.map(([what, headers, make, status]) => ({ what, headers, make, status })))(
  '$what is refused in its budget by the API, and nothing is done',
  async ({ headers, make, status }) => {
    const { app, person, program } = await openApiRig(server.url);
    await person('anna', 'maker');
    const key = await program('accounting', 'maker');
    const body = make();
    const answer = await withinBudget(REQUEST, async () => await key.call('POST', '/halt', { body, headers }));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ]);
    expect((await app.ledger.state.read()).halt).toBeNull();
  },
);

test('names that nobody may have are refused in their budget, by the page and by the API', async () => {
  const { app, person, visit } = await openApiRig(server.url);
  const [ada, page] = [await person('ada', 'admin'), await visit('eve', 'admin')];
  const before = await listUsers(app);
  for (const [name, what] of HOSTILE_NAMES) {
    const told = await withinBudget(REQUEST, async () => [
      await ada.call('POST', '/users', { body: { name, role: 'viewer' } }),
      await page.post('/users', { name, role: 'viewer' }),
    ]);
    const areRefused = told.every(({ status }) => status >= 400 && status < 500);
    expect({ what, areRefused }).toEqual({ what, areRefused: true });
  }
  expect(await listUsers(app)).toEqual(before);
});

test.each(HOSTILE_SOCKETS)('200 connections keep nobody else waiting, and take little memory: $what', async (kind) => {
  const { cert: certificate, key } = selfSigned('localhost');
  const { base, hosts, session } = await openWebRig(server.url, {
    settings: kind.isTls ? { tls: { certificate, key } } : {},
  });
  const { host, port } = new URL(base);
  hosts.add(host);
  const place = { port: Number(port), isTls: kind.isTls };
  const cookie = `${SESSION_COOKIE}=${await session('anna', 'viewer')}`;
  await withinBudget(SOCKETS, async () => {
    const strangers = await openHostile(place.port, kind, SOCKETS_COUNT);
    for (let round = 0; round < 20; round++) {
      const began = performance.now();
      expect(await statusOf(place, '/healthz')).toBe(204);
      expect(await statusOf(place, '/runs', { cookie })).toBe(200);
      expect(performance.now() - began).toBeLessThan(ANSWER_MS_MAX);
    }
    for (const { socket } of strangers) socket.destroy();
  });
});
