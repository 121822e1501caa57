import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { LedgerFault } from '../../src/ledger/script.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { manyParts } from '../hostile/bombs.ts';
import { FIELDS, formOf } from '../hostile/forms.ts';
import { selfSigned } from '../service/certificates.ts';
import { useTestRedis } from '../support/redis.ts';
import { fillNaughty } from './naughty-site.ts';
import { foreignParts } from './page-html.ts';
import { openWebRig } from './rig.ts';
import type { Visitor } from './visitor.ts';
import {
  addressOf,
  fillSite,
  type Names,
  openWholeSite,
  pageRoutes,
  type Route,
  uploadMistakes,
} from './whole-site.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

const SCRIPTS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '\'"--></style></script><svg/onload=alert(1)>',
  '" autofocus onfocus="alert(1)',
  "' onmouseover='alert(1)",
  '</title></textarea></option></select></table><iframe srcdoc=x>',
  'javascript:alert(1)//',
  '//evil.example/',
  '<a href="jav&#x09;ascript:alert(1)">x</a>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<!--<base href=//evil.example>',
  '{{constructor.constructor("alert(1)")()}}',
  '\u2028<xss-probe>',
];

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

function headersOf(base: string, visitor: Visitor): Record<string, string> {
  const cookie = `${SESSION_COOKIE}=${visitor.cookies.get(SESSION_COOKIE)}`;
  return { cookie, origin: base, 'sec-fetch-site': 'same-origin' };
}

async function ask(address: string, init: RequestInit = {}): Promise<Page> {
  const response = await fetch(address, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function isPage({ headers }: Page): boolean {
  return headers.get('content-type')?.startsWith('text/html') === true;
}

/** What of an answer is not ours; only pages hold anything that a browser runs. */
function foreignIn(page: Page): string[] {
  return isPage(page) ? foreignParts(page.text) : [];
}

function sound(route: Route): object {
  return { route, isFault: false, foreign: [] };
}

/** Pages that show something without being sent anything, but for the stream and the board, whose script makes its page. */
function shownRoutes(routes: readonly Route[]): Route[] {
  return routes.filter((route) => route.startsWith('GET ') && !/\/live$|\/admin\/queues/.test(route));
}

/** What a page may be asked with, of all pages. */
const QUERIES =
  'text state page outcome run line before actor action target next id set adopted short format again error';

const NEW_ID: Route = 'POST /sessions/end-others';

describe('a text that is a script', () => {
  test('is text on every page, wherever it is stored', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const headers = headersOf(base, ada);
    const names = await fillNaughty(app, ada, SCRIPTS);
    const showing: Route[] = [];
    const places: Names[] = [names, { ...names, line: String(SCRIPTS.length + 2) }, { ...names, run: 'r1' }];
    for (const route of shownRoutes(pageRoutes(web))) {
      for (const place of places) {
        const page = await ask(base + addressOf(route, place).path, { headers });
        if (!isPage(page)) continue;
        expect({ route, isFault: page.status === 500, foreign: foreignParts(page.text) }).toEqual(sound(route));
        if (page.text.includes('alert(1)')) showing.push(route);
      }
    }
    const some = [
      '/runs',
      '/runs/:run',
      '/runs/:run/payouts',
      '/to-settle',
      '/block-list',
      '/users',
      '/keys',
      '/audit',
    ];
    const others = ['/schedules', '/inbox', '/settings', '/uploads/:id', '/upload', '/runs/:run/payouts/:line'];
    expect(showing).toEqual(expect.arrayContaining([...some, ...others].map((path) => `GET ${path}`)));
  });

  test('is text on every page that is asked with it', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const headers = headersOf(base, ada);
    const names = await fillSite(app, ada);
    let reflected = 0;
    for (const route of shownRoutes(pageRoutes(web))) {
      for (const query of [...QUERIES.split(' '), '<b>', '__proto__', 'constructor']) {
        const text = SCRIPTS.join(' ').slice(0, 180);
        const search = new URLSearchParams({ [query]: text }).toString();
        const page = await ask(`${base}${addressOf(route, names).path}?${search}`, { headers });
        expect({ route, isFault: page.status === 500, foreign: foreignIn(page) }).toEqual(sound(route));
        if (page.text.includes('alert(1)')) reflected++;
      }
    }
    expect(reflected).toBeGreaterThan(3);
    for (const text of SCRIPTS) {
      const strange = await ask(`${base}/${encodeURIComponent(text)}/${text.replaceAll(/[\s#?]/g, '')}`, { headers });
      expect([404, 405]).toContain(strange.status);
      expect(foreignParts(strange.text)).toEqual([]);
    }
  });

  test('is text, or refused, in every field of every form', async () => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    const forms = pageRoutes(web).filter((route) => /^POST (?!\/sign-out|\/admin)/.test(route));
    // The last one gives her session another id.
    for (const route of forms.toSorted((one, other) => Number(one === NEW_ID) - Number(other === NEW_ID))) {
      const { path } = addressOf(route, names);
      for (const field of [...Object.keys(FIELDS), '<img src=x onerror=alert(1)>']) {
        const text = SCRIPTS.join(' ').slice(0, 190);
        const page = await postAs(ada, `${base}${path}`, { fields: { ...FIELDS, [field]: text }, own: formOf(route) });
        expect({ route, isFault: page.status === 500, foreign: foreignIn(page) }).toEqual(sound(route));
      }
    }
    const headers = headersOf(base, await person('eve', 'admin'));
    for (const route of shownRoutes(pageRoutes(web))) {
      const page = await ask(base + addressOf(route, names).path, { headers });
      expect({ route, isFault: page.status === 500, foreign: foreignIn(page) }).toEqual(sound(route));
    }
    expect((await ask(`${base}/settings`, { headers })).text).toContain('alert(1)');
  });
});

interface Form {
  readonly fields?: Names;
  readonly own: readonly string[];
}

/** Sends the fields that a form has, and what is none of its own. */
async function postAs(who: Visitor, address: string, { fields = FIELDS, own }: Form): Promise<Page> {
  const sent = Object.entries(fields).filter(([name]) => own.includes(name) || !(name in FIELDS));
  const body = new URLSearchParams({ csrf: who.csrf(), ...Object.fromEntries(sent) });
  return await ask(address, { method: 'POST', headers: headersOf(new URL(address).origin, who), body });
}

describe('a path that leads out', () => {
  test.each([
    '../../../etc/passwd',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '..%252f..%252fetc%252fpasswd',
    '..%5c..%5cetc%5cpasswd',
    '..%c0%af..%c0%afetc%c0%afpasswd',
    '%2fetc%2fpasswd',
    'file:%2f%2f%2fetc%2fpasswd',
    'v1.csv%00.json',
    '.%2f.%2fv1.csv',
    'v1.csv%2f..%2f..%2fsecret',
    '__proto__',
    'constructor',
    'a:b:c',
    '%0d%0aSet-Cookie:%20evil=1',
    '*',
  ])('leads nowhere: %s', async (way) => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const headers = headersOf(base, ada);
    const names = await fillSite(app, ada);
    const routes = shownRoutes(pageRoutes(web)).filter((route) => route.includes(':'));
    const addresses = [
      ...routes.flatMap((route) =>
        [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => addressOf(route, { ...names, [name]: way }).path),
      ),
      `/static/${way}`,
      `/${way}`,
      `/admin/queues/static/${way}`,
    ];
    expect(addresses.length).toBeGreaterThan(15);
    for (const address of addresses) {
      const answer = await say(base, `GET ${address} HTTP/1.1`, { ...headers, host: new URL(base).host });
      expect(answer).toMatch(/^HTTP\/1\.1 (400|403|404) /);
      expect(answer).not.toMatch(/root:|^set-cookie|ENOENT|node_modules|\/tmp\//im);
    }
  });
});

/** Sends a request as it is written, for `fetch` would mend it; the answer, until the connection ends. */
async function say(base: string, line: string, headers: Names): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString('latin1');
  });
  socket.on('error', () => {});
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${[line, ...lines].join('\r\n')}\r\n\r\n`);
  await new Promise((ended) => socket.on('close', ended));
  return answer;
}

describe('where one goes on after signing in', () => {
  test.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    '/.//evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/runs\r\nSet-Cookie: evil=1',
    '@evil.example',
    '.evil.example',
    '/%0d%0aSet-Cookie:evil=1',
  ])('is a page of ours, and one line: %j', async (next) => {
    const { base, person } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    const search = new URLSearchParams({ next });
    const { status, headers } = await ask(`${base}/sign-in?${search}`, { headers: headersOf(base, ada) });
    const target = new URL(headers.get('location') ?? '', base);
    expect([status, target.origin, headers.get('set-cookie')]).toEqual([303, base, null]);
  });
});

describe("somebody else's upload", () => {
  test('is answered as one that is not there, on each of its routes', async () => {
    const { web, base, person } = await openWholeSite(server);
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'maker')];
    const id = await uploadMistakes(anna);
    const headers = headersOf(base, bob);
    const routes = pageRoutes(web).filter((route) => route.includes('/uploads/:id'));
    expect(routes.length).toBeGreaterThan(5);
    for (const route of routes) {
      const answers = [id, '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f'].map(async (one) => {
        const { method, path } = addressOf(route, { id: one });
        const body = method === 'POST' ? { body: new URLSearchParams({ csrf: bob.csrf() }) } : {};
        const page = await ask(base + path, { method, headers, ...body });
        const text = page.text.replace(/Request [0-9a-f-]{36}/, '').replaceAll(one, 'ID');
        return { status: page.status, text, names: [...page.headers.keys()] };
      });
      const [others, nobodys] = await Promise.all(answers);
      expect({ route, ...others }).toEqual({ route, ...nobodys, status: 404 });
    }
    expect((await bob.get('/upload')).text).not.toContain(id);
    expect((await anna.get(`/uploads/${id}`)).status).toBe(200);
  });
});

describe('what is too much', () => {
  test('of a form, its fields or its headers is refused, and the next one is answered', async () => {
    const { base, app, person } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    const headers = headersOf(base, ada);
    const { run } = await fillSite(app, ada);
    const address = `${base}/runs/${run}/pause`;
    const post = async (body: URLSearchParams | string, type = 'application/x-www-form-urlencoded'): Promise<number> =>
      (await ask(address, { method: 'POST', headers: { ...headers, 'content-type': type }, body })).status;
    const csrf = ada.csrf();
    expect(await post(new URLSearchParams({ csrf, reason: 'x'.repeat(70_000) }))).toBe(413);
    expect(await post(new URLSearchParams({ csrf, reason: 'x'.repeat(60_000) }))).toBe(422);
    const many = Array.from({ length: 1000 }, (_, at): [string, string] => [`field${at}`, 'x']);
    expect(await post(new URLSearchParams([['csrf', csrf], ['reason', 'x'], ...many]))).toBe(422);
    const deep = `{"csrf":"${csrf}","reason":${'['.repeat(25_000)}${']'.repeat(25_000)}}`;
    expect([400, 415, 422]).toContain(await post(deep, 'application/json'));
    const long = await say(base, 'GET /runs HTTP/1.1', { host: new URL(base).host, 'x-long': 'x'.repeat(20_000) });
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
    const one = { host: new URL(base).host, 'content-length': '1000000000', 'content-type': 'text/plain' };
    expect(await say(base, `POST /runs/${run}/pause HTTP/1.1`, { ...headers, ...one })).toMatch(
      /^HTTP\/1\.1 4(13|15) /,
    );
    expect(await app.ledger.runs.read(run ?? '')).toMatchObject({ state: 'paying' });
    expect((await ada.get('/runs')).status).toBe(200);
  });

  test('of an upload is refused: fields, parts, names, and a form without its end', async () => {
    const { base, person, app } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    expect((await anna.upload('/upload', manyParts(1, anna.csrf()))).status).toBe(400);
    expect([400, 413]).toContain((await anna.upload('/upload', manyParts(1000, anna.csrf()))).status);
    const long = new FormData();
    long.set('template', 'x'.repeat(20_000));
    expect((await anna.upload('/upload', long)).status).toBe(413);
    const headers = { ...headersOf(base, anna), 'content-type': 'multipart/form-data; boundary=b' };
    const cut = `--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n${anna.csrf()}\r\n--b\r\ncontent-disp`;
    for (const body of [
      '',
      '--b--',
      '--c\r\n\r\n',
      cut,
      `${cut}osition: form-data; name="__proto__"\r\n\r\nx\r\n--b--`,
    ]) {
      const { status } = await ask(`${base}/upload`, { method: 'POST', headers, body });
      expect([400, 403]).toContain(status);
    }
    expect((await anna.get('/upload')).text).toContain('Upload');
    expect(await app.ledger.runs.list()).toEqual([]);
  });
});

describe('whoever is slow', () => {
  test('is not waited for without an end', async () => {
    const { web } = await openWebRig(server.url);
    const { headersTimeout, requestTimeout, keepAliveTimeout } = web.server;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 900_000,
      keepAliveTimeout: 30_000,
    });
  });

  test('is given as long with TLS', async () => {
    const { cert: certificate, key } = selfSigned('localhost');
    const { web } = await openWebRig(server.url, { settings: { tls: { certificate, key } } });
    expect(web.server.headersTimeout).toBe(10_000);
  });
});

test('names of prototypes in forms, queries and JSON change no prototype', async () => {
  const { base, app, person } = await openWebRig(server.url);
  const ada = await person('ada', 'admin');
  const headers = headersOf(base, ada);
  const { run } = await fillSite(app, ada);
  const names = [
    '__proto__',
    '__proto__[polluted]',
    '__proto__.polluted',
    'constructor[prototype][polluted]',
    'toString',
  ];
  for (const name of names) {
    const body = new URLSearchParams([
      ['csrf', ada.csrf()],
      ['reason', 'a test'],
      [name, 'polluted'],
    ]);
    for (const path of ['/block-list', '/halt', `/runs/${run}/pause`, '/users', '/schedules', '/audit/verify']) {
      const { status } = await ask(base + path, { method: 'POST', headers, body });
      expect({ name, path, status }).toEqual({
        name,
        path,
        status: expect.toSatisfy((one) => one >= 400 && one < 500),
      });
    }
    expect((await ask(`${base}/runs?${new URLSearchParams({ [name]: 'polluted' })}`, { headers })).status).toBe(400);
  }
  for (const text of ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}']) {
    const json = { ...headers, 'content-type': 'application/json', 'x-csrf-token': ada.csrf() };
    expect([400, 403, 415, 422]).toContain(
      (await ask(`${base}/halt`, { method: 'POST', headers: json, body: text })).status,
    );
  }
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  expect((await app.ledger.state.read()).halt).toBeNull();
});

const NOTHING_OF_US =
  /a secret of the ledger|\bat .*:[0-9]+:[0-9]+|node_modules|\.ts\b|\.js:|ioredis|MaxRetries|redis\.sock|\/tmp\//;

/** Fails whatever a route asks of the ledger, once it is known who asks. */
function breakLedger({ ledger }: App, error: Error): void {
  for (const [name, part] of Object.entries(ledger)) {
    const real: object = part;
    for (const method of Object.keys(real)) {
      if (name === 'people' && method === 'user') continue;
      if (typeof Reflect.get(real, method) !== 'function') continue;
      Reflect.set(real, method, () => {
        throw error;
      });
    }
  }
}

describe('a fault in here', () => {
  test.each([
    ['of ours', 500, new Error('a secret of the ledger')],
    ['of ours with a status', 500, Object.assign(new Error('a secret of the ledger'), { statusCode: 503 })],
    ['of the ledger', 500, new LedgerFault('a secret of the ledger')],
    ['of Redis', 503, Object.assign(new Error('a secret of the ledger'), { name: 'MaxRetriesPerRequestError' })],
  ])('%s is told as such on every route, and nothing else of it', async (_what, status, error) => {
    const { web, base, app, person } = await openWholeSite(server);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    breakLedger(app, error);
    const broken: Route[] = [];
    for (const route of pageRoutes(web).filter((one) => !/\/admin\/queues|\/live$|sign-out|provider$/.test(one))) {
      const { method, path } = addressOf(route, names);
      const page = await (method === 'GET'
        ? ask(base + path, { headers: headersOf(base, ada) })
        : postAs(ada, base + path, { own: formOf(route) })
      ).catch(() => undefined);
      // A table of which a part was sent is cut.
      if (page === undefined) continue;
      expect(page.text).not.toMatch(NOTHING_OF_US);
      if (page.status < 500 || path === '/readyz') continue;
      expect(`${route} ${page.status}`).toBe(`${route} ${status}`);
      expect(page.text).toMatch(/Request [0-9a-f-]{36}/);
      broken.push(route);
    }
    expect(broken.length).toBeGreaterThan(30);
  });
});

const ROUTES_AT_A_TIME = 50;

test('with Redis gone everybody is told so, in words and with 503, and what was asked is done when it is back', async () => {
  const own = await useTestRedis();
  try {
    const { web, base, app, person } = await openWholeSite(own);
    const ada = await person('ada', 'admin');
    const names = await fillSite(app, ada);
    process.kill(own.pid, 'SIGKILL');
    const routes = pageRoutes(web).filter((one) => !/\/admin\/queues|\/static\//.test(one));
    const answerOf = async (route: Route) => {
      const { method, path } = addressOf(route, names);
      const headers = headersOf(base, ada);
      const page = await (method === 'GET'
        ? ask(base + path, { headers })
        : postAs(ada, base + path, { own: formOf(route) }));
      return { route, ...page };
    };
    // As many connections of strangers as one address may have.
    const answers: Awaited<ReturnType<typeof answerOf>>[] = [];
    for (let from = 0; from < routes.length; from += ROUTES_AT_A_TIME) {
      answers.push(...(await Promise.all(routes.slice(from, from + ROUTES_AT_A_TIME).map(answerOf))));
    }
    for (const { route, status, text } of answers) {
      expect(text).not.toMatch(NOTHING_OF_US);
      if (/\/healthz|\/readyz|\/callback/.test(route)) continue;
      expect(`${route} ${status}`).toBe(`${route} 503`);
      expect(text).toMatch(/Redis, which holds the ledger, (went away|has not answered since)/);
    }
    const api = await ask(`${base}/api/v1/runs`, { headers: headersOf(base, ada) });
    expect(JSON.parse(api.text)).toMatchObject({ status: 503, title: 'Service Unavailable' });
    expect((await ask(`${base}/healthz`)).status).toBe(204);
    await own.restart();
    await expect.poll(async () => (await ada.get('/runs')).status, { timeout: 60_000 }).toBe(200);
  } finally {
    await own.stop();
  }
});
