import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';
import type { Visitor } from './visitor.ts';
import { addressOf, fillSite, openWholeSite, type Route, routesOf, uploadMistakes } from './whole-site.ts';

vi.setConfig({ testTimeout: 120_000 });

const server = await useTestRedis();

const POLICY =
  "default-src 'none';script-src 'self';style-src 'self';font-src 'self';img-src 'self';connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none'";
/** The board of queues sets styles of its own, and names its folder in a base element. */
const BOARD_POLICY =
  "default-src 'none';script-src 'self';style-src 'self' 'unsafe-inline';font-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'self'";
const SAFE = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
/** They tell what runs here, or let other sites in. */
const TELLING = ['server', 'x-powered-by', 'via', 'access-control-allow-origin', 'access-control-allow-credentials'];

/** What every answer has, wherever it comes from. */
function requireHeaders(what: string, { headers }: Pick<Response, 'headers'>, isKept: boolean): void {
  const policy = /^an admin: .* \/admin\/queues/.test(what) ? BOARD_POLICY : POLICY;
  const cached = isKept ? 'public, max-age=3600' : 'no-store';
  expect({ what, ...Object.fromEntries(headers) }).toMatchObject({
    what,
    ...SAFE,
    'content-security-policy': policy,
    'cache-control': cached,
  });
  expect(TELLING.filter((name) => headers.has(name), what)).toEqual([]);
}

function headersOf(base: string, person?: Visitor): Record<string, string> {
  const own = { origin: base, 'sec-fetch-site': 'same-origin' };
  if (person === undefined) return own;
  const cookie = `${SESSION_COOKIE}=${person.cookies.get(SESSION_COOKIE)}`;
  return { ...own, cookie, 'x-csrf-token': person.csrf() };
}

async function ask(address: string, init: RequestInit): Promise<Response> {
  const response = await fetch(address, { redirect: 'manual', ...init });
  await response.body?.cancel();
  return response;
}

describe('what every answer says to a browser', () => {
  test.each(['a stranger', 'an admin', 'a viewer'])('is said to %s on every route', async (whoever) => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const vera = await person('vera', 'viewer');
    const names = await fillSite(app, ada);
    const headers = headersOf(base, { 'an admin': ada, 'a viewer': vera }[whoever]);
    const statuses = new Set<number>();
    for (const route of routesOf(web).filter((one) => one !== 'POST /sign-out')) {
      const { method, path } = addressOf(route, names);
      const response = await ask(base + path, { method, headers });
      statuses.add(response.status);
      requireHeaders(`${whoever}: ${route} ${response.status}`, response, isStatic(route, response));
    }
    const expected = { 'an admin': [200, 303, 204, 400, 404, 409], 'a viewer': [200, 403], 'a stranger': [303, 401] };
    expect([...statuses]).toEqual(expect.arrayContaining(expected[whoever as keyof typeof expected]));
  });

  test.each([
    ['no page', '/nothing', 404],
    ['no file of ours', '/static/nothing.js', 404],
    ['a way out of the files', '/static/..%2fserver.ts', 404],
    ['an address that cannot be read', '/%', 404],
    ['a run whose name cannot be read', '/runs/%zz%80', 404],
    ['a name that is far too long', `/runs/${'a'.repeat(5000)}`, 400],
    ['a search that cannot be read', '/runs?text=%zz%80', 200],
    ['a search that is none', '/runs?nothing=1', 400],
    ['no operation', '/api/v1/nothing', 404],
    ['no version', '/api/nothing', 404],
    ['an operation that cannot be read', '/api/v1/runs/%zz', 404],
    ['a file that is not sent', '/runs/none/report', 404],
  ])('is said of %s', async (_what, path, status) => {
    const { base, person } = await openWebRig(server.url);
    const answer = await ask(base + path, { headers: headersOf(base, await person('ada', 'admin')) });
    expect(answer.status).toBe(status);
    requireHeaders(path, answer, false);
    const json = path.startsWith('/api/') ? /^application\/problem\+json/ : /^text\/html; charset=utf-8$/;
    expect(answer.headers.get('content-type')).toMatch(json);
  });

  test('is said when the host is none of ours, and when something breaks in here', async () => {
    const { base, app, person, hosts } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    const broken = vi.spyOn(app.ledger.runs, 'find').mockRejectedValue(new Error('a secret of the ledger'));
    const answer = await ask(`${base}/runs`, { headers: headersOf(base, ada) });
    expect(answer.status).toBe(500);
    requireHeaders('500', answer, false);
    broken.mockRestore();
    hosts.clear();
    const misdirected = await ask(`${base}/runs`, { headers: headersOf(base, ada) });
    expect(misdirected.status).toBe(421);
    requireHeaders('421', misdirected, false);
  });

  test('a stylesheet comes packed to a browser that takes it so, and is the same', async () => {
    const { base } = await openWebRig(server.url);
    const { request } = await import('undici');
    const whole = await (
      await fetch(`${base}/static/look/tabler.css`, { headers: { 'accept-encoding': 'identity' } })
    ).text();
    for (const [encoding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await request(`${base}/static/look/tabler.css`, {
        headers: { 'accept-encoding': encoding },
      });
      const packed = Buffer.from(await body.arrayBuffer());
      expect([headers['content-encoding'], headers['content-type']]).toEqual([encoding, 'text/css; charset=utf-8']);
      expect(packed.length).toBeLessThan(whole.length / 5);
      expect(unpack(packed).toString()).toBe(whole);
    }
    expect((await fetch(`${base}/static/look/tabler.css.br`)).status).toBe(404);
  });

  test('is said of live progress', async () => {
    const { base, app, person } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    const { run } = await fillSite(app, ada);
    const answer = await ask(`${base}/runs/${run}/live`, { headers: headersOf(base, ada) });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    requireHeaders('live', answer, false);
  });

  test('what is no HTTP gets an answer without a word of what was sent, or none', async () => {
    const { base } = await openWebRig(server.url);
    for (const text of [
      '<script>\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nX: \0<script>\r\n\r\n',
      `GET /${'<b>'.repeat(9000)} HTTP/1.1\r\n\r\n`,
    ]) {
      const answer = await say(base, text);
      expect(answer).not.toMatch(/<script|<b>|node_modules|at /);
      expect(answer).toMatch(/^HTTP\/1\.1 4[0-9]{2} /);
    }
  });
});

function isStatic(route: Route, { status }: Response): boolean {
  return status === 200 && route.split(' ')[1]?.startsWith('/static/') === true;
}

/** Sends a text as it is; the answer, until the connection ends. */
async function say(base: string, text: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write(text);
  await new Promise((ended) => socket.on('close', ended));
  return answer;
}

const NAMES = [
  'payouts.csv',
  'a"; filename="evil.exe',
  'a\r\nSet-Cookie: evil=1\r\n\r\n<script>.csv',
  '../../etc/passwd',
  '..\\..\\boot.ini',
  "it's.csv",
  '付款.csv',
  'a\u202Evsc.exe',
  'über weiß;x=y.csv',
  '\0.csv',
  `${'n'.repeat(300)}.csv`,
  '.csv',
  '%0d%0aX: y.csv',
  '=cmd|calc.csv',
];

describe('the name of a download', () => {
  test.each(NAMES)('steers neither header nor path: %j', async (name) => {
    const { base, person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const id = await uploadMistakes(anna, name);
    for (const file of ['problems.csv', 'marked-up.csv']) {
      const { status, headers } = await ask(`${base}/uploads/${id}/${file}`, { headers: headersOf(base, anna) });
      expect(status).toBe(200);
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[A-Za-z0-9._-]{1,104}"$/);
      expect(headers.get('content-type')).toMatch(/^text\/csv; charset=utf-8/);
      expect(headers.has('set-cookie') || headers.has('x')).toBe(false);
    }
  });

  test('stands on each download, and on nothing that could not be had', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    const csvs = routesOf(web).filter((route) => /^GET .*(\.csv|\/report|:file|retry-file)$/.test(route));
    expect(csvs.length).toBeGreaterThan(15);
    for (const route of csvs) {
      const { path } = addressOf(route, names);
      const found = await ask(base + path, { headers: headersOf(base, ada) });
      expect(`${route} ${found.status}`).toBe(`${route} 200`);
      const named = found.headers.get('content-disposition');
      expect(named).toMatch(/^attachment; filename="[A-Za-z0-9._-]{1,104}"$/);
      const refused = await ask(base + path.replace(/r1|[0-9a-f-]{36}/, 'none'), { headers: headersOf(base) });
      expect(refused.headers.has('content-disposition')).toBe(false);
    }
  });

  test('is gone when the file fails before its first byte', async () => {
    const { base, app, person } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    const { run } = await fillSite(app, ada);
    vi.spyOn(app.ledger.runs, 'rows').mockImplementation(() => {
      throw new Error('a secret of the ledger');
    });
    vi.spyOn(app.ledger.people, 'stored').mockRejectedValue(new Error('a secret of the ledger'));
    const users = await ask(`${base}/users.csv`, { headers: headersOf(base, ada) });
    expect([users.status, users.headers.get('content-disposition')]).toEqual([500, null]);
    requireHeaders('users', users, false);
    // Its first line was sent already: it is cut, which no reader takes for the whole.
    const payouts = fetch(`${base}/runs/${run}/payouts.csv?outcome=held`, { headers: headersOf(base, ada) });
    await expect(payouts.then((response) => response.text())).rejects.toThrow(/terminated|fetch failed/);
  });
});

/** How often payouts and other hashes were read as a whole so far. */
async function recordsRead(): Promise<number> {
  const stats = await server.redis.info('commandstats');
  return Number.parseInt(/^cmdstat_hgetall:calls=([0-9]+)/m.exec(stats)?.[1] ?? '0', 10);
}

test('a HEAD is answered with the headers of its GET, and no row of a report is read for it', async () => {
  const { base, app, person } = await openWebRig(server.url);
  const ada = await person('ada', 'admin');
  const run = await recordRun(app.ledger, { lines: Array.from({ length: 1000 }, (_, index) => index + 2) });
  const before = await recordsRead();
  for (const path of [`/runs/${run}/payouts.csv`, '/audit.csv']) {
    const head = await fetch(base + path, { method: 'HEAD', headers: headersOf(base, ada) });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('content-disposition')).toMatch(/^attachment/);
  }
  // A download is noted, and a HEAD is none.
  for (const path of [`/runs/${run}/report`, `/api/v1/runs/${run}/report`]) {
    const noted = await ask(base + path, { method: 'HEAD', headers: headersOf(base, ada) });
    expect([noted.status, noted.headers.get('allow')]).toEqual([405, 'GET']);
  }
  await ada.get('/runs');
  expect((await recordsRead()) - before).toBeLessThan(200);
});
