import { once } from 'node:events';
import { createServer } from 'node:http';
import type { LookupFunction } from 'node:net';
import tls from 'node:tls';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ServiceSettings } from '../../src/config/config.ts';
import type { Answer } from '../../src/service/answer.ts';
import type { Service } from '../../src/service/client.ts';
import { openConnector, openPool } from '../../src/service/connection.ts';
import { exchange } from '../../src/service/exchange.ts';
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { type Authority, makeAuthority, selfSigned } from './certificates.ts';
import { type ConnectProxy, startConnectProxy } from './connect-proxy.ts';
import { givingTokens, openTestService, recordingLog, soon, storeWithToken } from './test-service.ts';

const HOST = 'IP:127.0.0.1';

let authority: Authority;
beforeAll(() => {
  authority = makeAuthority();
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (let close = closing.pop(); close !== undefined; close = closing.pop()) await close();
});

function kept<T extends { close(): Promise<void> }>(opened: T): T {
  closing.push(() => opened.close());
  return opened;
}

async function openServer(identity?: { key: string; cert: string }): Promise<AnsweringServer> {
  const handler = givingTokens((_request, answering) => answering.reply({ status: 201, json: {} }));
  return kept(await startAnsweringServer(handler, identity));
}

async function openProxy(...options: Parameters<typeof startConnectProxy>): Promise<ConnectProxy> {
  return kept(await startConnectProxy(...options));
}

interface Payment {
  readonly answer: Answer;
  /** How often the client said that the first byte leaves. */
  readonly marks: number;
}

/** One payment by a client that holds a token already. */
async function payWith(url: string, settings: Partial<ServiceSettings>, sendBefore = soon()): Promise<Payment> {
  const service = kept(openTestService(url, { settings, tokenStore: storeWithToken(url) }));
  await service.ready();
  let marks = 0;
  const onSent = (): void => {
    marks += 1;
  };
  const answer = await service.createPayment('{"quoteId":"q"}', { sendBefore, onSent });
  return { answer, marks };
}

function notSent(reason: string, certificate = false): Payment {
  return { answer: { kind: 'not-sent', reason, certificate }, marks: 0 };
}

async function useAll(service: Service): Promise<void> {
  expect(await service.quote('{}')).toMatchObject({ status: 201 });
  expect(await service.createPayment('{}', { sendBefore: soon() })).toMatchObject({ status: 201 });
  expect(await service.readPayment('p')).toMatchObject({ status: 201 });
}

describe('with a proxy', () => {
  test.each([
    ['http', 'http'],
    ['http', 'https'],
    ['https', 'http'],
    ['https', 'https'],
  ])('(%s) every operation of a service (%s) goes through a tunnel, and looks as without', async (outer, inner) => {
    const identity = authority.issue(HOST);
    const server = await openServer(inner === 'https' ? identity : undefined);
    const proxy = await openProxy((tunnel) => tunnel.pass(), outer === 'https' ? identity : undefined);
    const settings = { proxy: proxy.url, certificates: [authority.cert] };
    await useAll(kept(openTestService(server.url, { settings })));
    const { host } = new URL(server.url);
    expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set([host]));
    expect(server.connections).toBe(proxy.asked.length);
    const through = server.requests.map(({ raw }) => raw);
    server.handle(givingTokens((_request, answering) => answering.reply({ status: 201, json: {} })));
    await useAll(kept(openTestService(server.url, { settings: { ...settings, proxy: undefined } })));
    expect(server.requests.slice(through.length).map(({ raw }) => raw)).toEqual(through);
    expect(server.connections).toBe(2 * proxy.asked.length);
  });

  test('the name of the service is left to the proxy, and its certificate is asked for that name', async () => {
    const server = await openServer(authority.issue('DNS:payments.test'));
    const proxy = await openProxy((tunnel) => (tunnel.number === 1 ? tunnel.pass() : tunnel.cut()));
    const settings = { proxy: proxy.url, certificates: [authority.cert] };
    const { port } = new URL(server.url);
    expect((await payWith(`https://payments.test:${port}`, settings)).answer).toMatchObject({ status: 201 });
    expect(await payWith('https://payments.test', settings)).toEqual(notSent('proxy ECONNRESET'));
    expect(proxy.asked.map(({ target }) => target)).toEqual([`payments.test:${port}`, 'payments.test:443']);
  });

  test('its credentials go to the proxy, and neither to the service nor into the log', async () => {
    const server = await openServer();
    let isOpen = true;
    const proxy = await openProxy((tunnel) => (isOpen ? tunnel.pass() : tunnel.cut()));
    const log = recordingLog();
    const settings = { proxy: proxy.url.replace('//', '//us%40er:canary-p%3Aw@') };
    const service = kept(openTestService(server.url, { settings, log }));
    await service.quote('{}');
    const credentials = Buffer.from('us@er:canary-p:w').toString('base64');
    expect(proxy.asked[0]?.headers).toEqual({
      host: new URL(server.url).host,
      'proxy-authorization': `Basic ${credentials}`,
      connection: 'close',
    });
    isOpen = false;
    const refused = kept(openTestService(server.url, { settings, log, tokenStore: storeWithToken(server.url) }));
    await refused.ready();
    expect(await refused.createPayment('{}', { sendBefore: soon() })).toMatchObject({ kind: 'not-sent' });
    for (const { raw } of server.requests) expect(raw).not.toMatch(/proxy|us@er|canary-p/i);
    expect(log.text()).not.toMatch(new RegExp(`canary|us@er|us%40er|${credentials}`));
  });

  test.each<[string, string, Parameters<typeof startConnectProxy>[0]]>([
    ['407', 'asks for credentials', (tunnel) => tunnel.say('HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nno!')],
    ['403', 'forbids the service', (tunnel) => tunnel.say('HTTP/1.1 403 Forbidden\r\n\r\n')],
    ['502', 'does not reach the service', (tunnel) => tunnel.say('HTTP/1.1 502 Bad Gateway\r\n\r\n<html>')],
    ['100', 'says to go on', (tunnel) => tunnel.say('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n')],
    ['301', 'leads elsewhere', (tunnel) => tunnel.say('HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:9\r\n\r\n')],
    [
      'speaks first',
      'answers in the place of the service',
      (tunnel) => tunnel.say('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}'),
    ],
    ['HPE_INVALID_CONSTANT', 'is no proxy', (tunnel) => tunnel.say('220 mail\r\n')],
    ['HPE_HEADER_OVERFLOW', 'talks too much', (tunnel) => tunnel.say(`HTTP/1.1 200 OK\r\nA: ${'a'.repeat(99_999)}`)],
    ['ECONNRESET', 'closes without a word', (tunnel) => tunnel.cut()],
    ['connect time-out', 'says nothing', () => {}],
  ])('that answers %s (%s) nothing is sent, and it is asked once', async (reason, _name, handler) => {
    const server = await openServer();
    const proxy = await openProxy(handler);
    const sendBefore = systemClock.monotonic() + 15_000;
    expect(await payWith(server.url, { proxy: proxy.url }, sendBefore)).toEqual(notSent(`proxy ${reason}`));
    expect({ connections: server.connections, asked: proxy.asked.length }).toEqual({ connections: 0, asked: 1 });
    await expect.poll(() => proxy.open).toBe(0);
  });

  test('the deadline cuts the wait for a tunnel, and a tunnel that comes later carries nothing', async () => {
    const server = await openServer();
    let pass: (() => void) | undefined;
    const proxy = await openProxy((tunnel) => {
      pass = () => tunnel.pass();
    });
    const paying = payWith(server.url, { proxy: proxy.url }, systemClock.monotonic() + 100);
    expect(await paying).toEqual(notSent('deadline'));
    await expect.poll(() => pass).toBeDefined();
    pass?.();
    await expect.poll(() => server.connections).toBe(1);
    await closing.pop()?.();
    expect(server.bytes).toBe(0);
  });

  test('that nobody runs nothing is sent', async () => {
    const server = await openServer();
    const proxy = await startConnectProxy(() => {});
    await proxy.close();
    expect(await payWith(server.url, { proxy: proxy.url })).toEqual(notSent('proxy ECONNREFUSED'));
    expect(server.connections).toBe(0);
  });

  test('whose own certificate does not verify nothing is sent, not even the credentials', async () => {
    const server = await openServer();
    for (const [identity, code] of [
      [selfSigned('127.0.0.1'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      [authority.issue('DNS:elsewhere.test'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ] as const) {
      const proxy = await openProxy((tunnel) => tunnel.pass(), identity);
      const settings = { proxy: proxy.url.replace('//', '//user:word@'), certificates: [authority.cert] };
      expect(await payWith(server.url, settings)).toEqual(notSent(`proxy TLS ${code}`, true));
      expect(proxy.asked).toEqual([]);
    }
  });
});

test('no proxy is taken from the environment', async () => {
  const server = await openServer();
  const proxy = await openProxy((tunnel) => tunnel.pass());
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    vi.stubEnv(name, proxy.url);
    vi.stubEnv(name.toLowerCase(), proxy.url);
  }
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  expect((await payWith(server.url, {})).answer).toMatchObject({ status: 201 });
  expect(proxy.open + proxy.asked.length).toBe(0);
});

describe.each([['directly'], ['through a proxy']])('TLS %s', (way) => {
  async function settingsFor(certificates?: readonly string[]): Promise<Partial<ServiceSettings>> {
    const proxy = way === 'directly' ? undefined : (await openProxy((tunnel) => tunnel.pass())).url;
    return { proxy, certificates };
  }

  test('with a certificate of an own authority is taken where the authority is named, and nowhere else', async () => {
    const server = await openServer(authority.issue(HOST));
    const other = makeAuthority().cert;
    const named = await payWith(server.url, await settingsFor([other, authority.cert]));
    expect(named).toMatchObject({ answer: { status: 201 }, marks: 1 });
    for (const certificates of [undefined, [other]]) {
      const refused = await payWith(server.url, await settingsFor(certificates));
      expect(refused).toEqual(notSent('TLS UNABLE_TO_VERIFY_LEAF_SIGNATURE', true));
    }
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['has ended', () => authority.issue(HOST, true), 'CERT_HAS_EXPIRED'],
    ['is for another host', () => authority.issue('DNS:elsewhere.test'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['is self-signed', () => selfSigned('127.0.0.1'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('with a certificate that %s lets nothing out, whatever the environment says', async (_name, identityOf, code) => {
    const server = await openServer(identityOf());
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    expect(await payWith(server.url, await settingsFor([authority.cert]))).toEqual(notSent(`TLS ${code}`, true));
    expect(server.bytes).toBe(0);
  });

  test('older than 1.2 lets nothing out, even where Node would take it', async () => {
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    closing.push(async () => void Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT:@SECLEVEL=0' });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const server = await openServer({ ...authority.issue(HOST), ...old });
    const { answer, marks } = await payWith(server.url, await settingsFor([authority.cert]));
    expect({ answer, marks }).toEqual(notSent('TLS ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'));
    expect(server.bytes).toBe(0);
  });

  test('that the service breaks off in the handshake lets nothing out', async () => {
    const plain = await openServer();
    plain.handle(() => {});
    const url = plain.url.replace('http:', 'https:');
    // The server reads the client's hello as the beginning of a request, and closes.
    const paying = payWith(url, await settingsFor());
    await expect.poll(() => plain.bytes).toBeGreaterThan(0);
    plain.closeIdle();
    expect((await paying).answer).toMatchObject({ kind: 'not-sent', reason: 'ECONNRESET' });
    expect(plain.requests).toHaveLength(0);
  });
});

describe('the name of the service', () => {
  const REQUEST = { method: 'GET', path: '/', headers: {}, body: null } as const;

  /** What comes of a request on a pool whose names are resolved so. */
  function openNamed(port: number, resolveName: LookupFunction): () => Promise<Answer> {
    const url = `http://payments.test:${port}`;
    const pool = openPool(url, 1, openConnector({ url }, resolveName));
    closing.push(() => pool.destroy());
    return () => exchange(pool, REQUEST, { clock: systemClock, sendBefore: soon(), timeoutMs: 5000 });
  }

  test.each(['ENOTFOUND', 'EAI_AGAIN'])('that does not resolve (%s) lets nothing out', async (code) => {
    let lookUps = 0;
    const ask = openNamed(1, (_name, _options, callback) => {
      lookUps += 1;
      callback(Object.assign(new Error(code), { code }), []);
    });
    expect(await ask()).toEqual({ kind: 'not-sent', reason: code, certificate: false });
    expect(lookUps).toBe(1);
  });

  test('that moves to another address is followed by the next connection', async () => {
    const first = await openServer();
    const port = Number.parseInt(new URL(first.url).port, 10);
    const second = createServer((_request, response) => response.writeHead(202).end()).listen(port, '127.0.0.2');
    await once(second, 'listening');
    closing.push(async () => second.close().closeAllConnections());
    let address = '127.0.0.1';
    const ask = openNamed(port, (_name, _options, callback) => callback(null, [{ address, family: 4 }]));
    expect(await ask()).toMatchObject({ status: 201 });
    address = '127.0.0.2';
    expect(await ask()).toMatchObject({ status: 201 });
    first.closeIdle();
    await expect.poll(ask).toMatchObject({ status: 202 });
  });
});
