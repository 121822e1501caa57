import { Pool } from 'undici';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Answer } from '../../src/service/answer.ts';
import { fingerprintOf, type Service } from '../../src/service/client.ts';
import { BODY_BYTES_MAX, exchange } from '../../src/service/exchange.ts';
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { selfSigned } from './certificates.ts';
import {
  CLIENT_SECRET,
  givingTokens,
  movableClock,
  openTestService,
  recordingLog,
  soon,
  testSettings,
} from './test-service.ts';

let server: AnsweringServer;
const open: Service[] = [];

beforeEach(async () => {
  server = await startAnsweringServer(givingTokens((_request, answering) => answering.reply({ json: { ok: true } })));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(open.splice(0).map((service) => service.close()));
  await server.close();
});

function openClient(...[options, url]: [options?: Parameters<typeof openTestService>[1], url?: string]): Service {
  const service = openTestService(url ?? server.url, options);
  open.push(service);
  return service;
}

async function pay(service: Service, onSent?: () => void): Promise<Answer> {
  await service.ready();
  return service.createPayment('{"quoteId":"q"}', { sendBefore: soon(), ...(onSent === undefined ? {} : { onSent }) });
}

function rawOf(method: string, path: string): string {
  return server.to(method, path)[0]?.raw ?? '';
}

function host(): string {
  return server.url.replace('http://', '');
}

describe('the bytes of a request', () => {
  test('for a token are credentials as JSON without a bearer', async () => {
    await openClient().ready();
    const body = JSON.stringify({
      grant_type: 'client_credentials',
      client_id: 'client-1',
      client_secret: CLIENT_SECRET,
      audience: 'urn:servicexcurrent-test:tenant-1',
    });
    expect(rawOf('POST', '/v2/oauth/token')).toBe(
      `POST /v2/oauth/token HTTP/1.1\r\nhost: ${host()}\r\nconnection: keep-alive\r\nuser-agent: payrun/test\r\n` +
        `accept: application/json\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  });

  test.each<[string, (service: Service) => Promise<Answer>, string]>([
    ['POST /v2/payments', (service) => pay(service), '{"quoteId":"q"}'],
    ['POST /v2/quotes/quote-collection', (service) => service.quote('{"a":1}'), '{"a":1}'],
    ['GET /v2/payments/p%2F1', (service) => service.readPayment('p/1'), ''],
    ['GET /v2/oauth/token/test', (service) => service.testToken(), ''],
    ['GET /v2/identities?identityType=ORIGINATOR', (service) => service.listIdentities('ORIGINATOR'), ''],
    [
      'GET /v2/identities?identityType=BENEFICIARY&nickName=Ann%20%26%20Bob',
      (service) => service.listIdentities('BENEFICIARY', 'Ann & Bob'),
      '',
    ],
  ])('for %s are the bearer, the body as given, and no answer of a cache', async (start, call, body) => {
    expect(await call(openClient())).toMatchObject({ kind: 'answered', status: 200 });
    const read = 'cache-control: no-cache\r\n';
    const content = body === '' ? read : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    expect(server.requests.at(-1)?.raw).toBe(
      `${start} HTTP/1.1\r\nhost: ${host()}\r\nconnection: keep-alive\r\nuser-agent: payrun/test\r\n` +
        `accept: application/json\r\nauthorization: Bearer token-1\r\n${content}\r\n${body}`,
    );
  });

  test('keep the path of the base address', async () => {
    const service = openClient({}, `${server.url}/api/x`);
    await service.readPayment('p');
    expect(server.requests.map(({ path }) => path)).toEqual(['/api/x/v2/oauth/token', '/api/x/v2/payments/p']);
  });
});

describe('an answer', () => {
  const DATE = 'Tue, 03 Mar 2026 10:00:00 GMT';

  test.each<[string, string, Partial<Answer>]>([
    [
      'JSON with its headers',
      `HTTP/1.1 201 Created\r\nDate: ${DATE}\r\nRetry-After: 7\r\nX-Request-Id: ${'r'.repeat(100)}\r\nContent-Length: 10\r\n\r\n{"a":"ä"}`,
      {
        status: 201,
        date: Date.parse(DATE),
        retryAfter: '7',
        requestId: `x-request-id: ${'r'.repeat(64)}`,
        json: { a: 'ä' },
      },
    ],
    [
      'nothing but a status',
      'HTTP/1.1 204 No Content\r\nX-Correlation-Id: c-1\r\n\r\n',
      { status: 204, date: null, retryAfter: null, requestId: 'x-correlation-id: c-1', json: undefined },
    ],
    [
      'with both names of the exchange',
      'HTTP/1.1 204 No Content\r\nX-Correlation-Id: c-1\r\nX-Request-Id: r\u00e9-1\r\nX-Request-Id: r-2\r\n\r\n',
      { requestId: 'x-request-id: r-1, x-correlation-id: c-1' },
    ],
    [
      'an empty body',
      'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n',
      { status: 201, json: undefined, requestId: null },
    ],
    [
      'a page',
      'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 13\r\n\r\n<html></html>',
      { status: 502, json: undefined, isPage: true },
    ],
    ['half of a JSON text', 'HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\n{"a"', { status: 201, json: undefined }],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n', { json: [] }],
    [
      'hints before it',
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
      { status: 200 },
    ],
    ['two dates', `HTTP/1.1 200 OK\r\nDate: ${DATE}\r\nDate: ${DATE}\r\nContent-Length: 0\r\n\r\n`, { date: null }],
    [
      'a redirect, which is not followed',
      'HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n',
      { status: 307 },
    ],
  ])('can be %s', async (_name, response, expected) => {
    server.handle(givingTokens((_request, answering) => answering.write(response)));
    expect(await pay(openClient())).toMatchObject({ kind: 'answered', ...expected });
    expect(server.to('POST', '/v2/payments')).toHaveLength(1);
    expect(server.requests).toHaveLength(2);
  });

  const HEAD = 'HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"paymentId":';

  test.each<[string, Parameters<typeof givingTokens>[0], Partial<Answer>]>([
    ['reset before a status', (_request, answering) => answering.reset(), { reason: 'ECONNRESET', status: null }],
    ['closed before a status', (_request, answering) => answering.close(), { reason: 'UND_ERR_SOCKET', status: null }],
    ['no HTTP', (_request, answering) => answering.write('hello\r\n\r\n'), { status: null }],
    [
      'cut in the body',
      (_request, answering) => {
        answering.write(HEAD);
        answering.close();
      },
      { status: 201 },
    ],
    [
      'cut between chunks',
      (_request, answering) => {
        answering.write(
          'HTTP/1.1 200 OK\r\nX-Request-Id: r-1\r\nX-Correlation-Id: c-1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n',
        );
        answering.close();
      },
      { status: 200, requestId: 'x-request-id: r-1, x-correlation-id: c-1' },
    ],
    [
      'a body without end',
      (_request, answering) => answering.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(BODY_BYTES_MAX + 1)}`),
      { reason: 'body too long', status: 200 },
    ],
    [
      'an answer with a long body',
      (_request, answering) => answering.reply({ status: 201, text: 'x'.repeat(BODY_BYTES_MAX + 1) }),
      { reason: 'body too long', status: 201 },
    ],
    ['silence', () => {}, { reason: 'time-out', status: null, requestId: null }],
    ['a body that stops', (_request, answering) => answering.write(HEAD), { reason: 'time-out', status: 201 }],
    [
      'a body that trickles',
      (_request, answering) => {
        answering.write(HEAD);
        const drip = setInterval(() => answering.write(' '), 20);
        setTimeout(() => clearInterval(drip), 1000);
      },
      { reason: 'time-out', status: 201 },
    ],
  ])('is lost by %s', async (_name, handler, expected) => {
    server.handle(givingTokens(handler));
    let marks = 0;
    const answer = await pay(openClient({ requestTimeoutMs: 250 }), () => {
      marks += 1;
    });
    expect(answer).toMatchObject({ kind: 'lost', ...expected });
    expect(marks).toBe(1);
    expect(server.to('POST', '/v2/payments')).toHaveLength(1);
  });

  test('may be as long as the limit', async () => {
    const text = JSON.stringify('x'.repeat(BODY_BYTES_MAX - 2));
    server.handle(givingTokens((_request, answering) => answering.reply({ text })));
    expect(await pay(openClient())).toMatchObject({ kind: 'answered', json: 'x'.repeat(BODY_BYTES_MAX - 2) });
  });

  test('serves after a lost one: nothing of it leaks into the next', async () => {
    const service = openClient({ requestTimeoutMs: 100, concurrency: 1 });
    server.handle(givingTokens((_request, answering) => answering.write(HEAD)));
    expect(await pay(service)).toMatchObject({ kind: 'lost', status: 201 });
    server.handle((_request, answering) => answering.reply({ json: { second: true } }));
    expect(await pay(service)).toMatchObject({ kind: 'answered', json: { second: true } });
  });
});

describe('a request is not sent', () => {
  test('when nobody listens', async () => {
    const service = openClient();
    await service.ready();
    await server.close();
    const answer = await service.createPayment('{}', { sendBefore: soon() });
    expect(answer).toEqual({ kind: 'not-sent', reason: 'ECONNREFUSED', certificate: false });
    server = await startAnsweringServer(() => {});
  });

  test('when the name does not resolve', async () => {
    const pool = new Pool('http://payrun.invalid');
    const request = { method: 'GET', path: '/', headers: {}, body: null } as const;
    const answer = await exchange(pool, request, { clock: systemClock, sendBefore: soon(), timeoutMs: 1000 });
    // A resolver that cannot be asked at all says EAI_AGAIN, or nothing until the deadline.
    expect(answer).toEqual({
      kind: 'not-sent',
      reason: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN|deadline)$/),
      certificate: false,
    });
    await pool.destroy();
  });

  test('without a token', async () => {
    const answer = await openClient().createPayment('{}', { sendBefore: soon() });
    expect(answer).toEqual({ kind: 'not-sent', reason: 'no token', certificate: false });
    expect(server.bytes).toBe(0);
  });

  test('once the client is closed', async () => {
    const service = openClient();
    await service.ready();
    await service.close();
    const notSent = { kind: 'not-sent', reason: 'closed', certificate: false };
    expect(await service.createPayment('{}', { sendBefore: soon() })).toEqual(notSent);
    expect(await service.quote('{}')).toEqual(notSent);
    expect(server.requests).toHaveLength(1);
  });

  test('when the certificate does not verify, whatever the environment says', async () => {
    const secure = await startAnsweringServer(() => {}, selfSigned('127.0.0.1'));
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const service = openClient({}, secure.url);
    await expect(service.ready()).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
      reason: 'TLS DEPTH_ZERO_SELF_SIGNED_CERT',
      certificate: true,
    });
    expect(secure.requests).toHaveLength(0);
    await secure.close();
  });
});

describe('an operation other than a payment', () => {
  test('waits while the brake is on', async () => {
    let remaining = 5000;
    const slept: number[] = [];
    const clock = {
      ...movableClock(),
      async sleep(ms: number) {
        slept.push(ms);
        remaining = remaining > 1000 ? 1000 : 0;
        expect(server.requests).toHaveLength(0);
      },
    };
    const service = openClient({ clock, brake: { remainingMs: () => remaining, hold: () => {} } });
    expect(await service.quote('{}')).toMatchObject({ status: 200 });
    expect(slept).toHaveLength(2);
    expect(slept[0]).toBeGreaterThanOrEqual(5000);
  });

  test.each([
    ['quote', (service: Service) => service.quote('{}')],
    ['payment', (service: Service) => pay(service)],
    ['look-up', (service: Service) => service.readPayment('p')],
  ])('%s: a 429 puts the brake on and is returned', async (_name, call) => {
    server.handle(
      givingTokens((_request, answering) => answering.reply({ status: 429, headers: { 'retry-after': '12' } })),
    );
    const held: number[] = [];
    const service = openClient({ brake: { remainingMs: () => 0, hold: (ms) => held.push(ms) } });
    expect(await call(service)).toMatchObject({ kind: 'answered', status: 429, retryAfter: '12' });
    expect(held).toEqual([12_000]);
  });

  test('a payment does not wait for the brake: its caller did', async () => {
    let remaining = 0;
    const service = openClient({ brake: { remainingMs: () => remaining, hold: () => {} } });
    await service.ready();
    remaining = 60_000;
    expect(await service.createPayment('{}', { sendBefore: soon() })).toMatchObject({ status: 200 });
  });
});

describe('close', () => {
  test('waits for the answer of a payment in flight', async () => {
    let answer: (() => void) | undefined;
    server.handle(
      givingTokens((_request, answering) => {
        answer = () => answering.reply({ status: 201, json: {} });
      }),
    );
    const service = openClient();
    const paying = pay(service);
    await expect.poll(() => answer).toBeDefined();
    const closing = service.close();
    answer?.();
    expect(await paying).toMatchObject({ kind: 'answered', status: 201 });
    await closing;
  });
});

describe('the fingerprint', () => {
  const settings = testSettings('https://api.example.com');

  test('tells credentials apart by address, tenant and client, and by nothing else', () => {
    const own = fingerprintOf(settings);
    expect(own).toMatch(/^[0-9a-f]{16}$/);
    expect(openClient({}, settings.url).fingerprint).toBe(own);
    expect(fingerprintOf({ ...settings, clientSecret: 'other' })).toBe(own);
    const others = [{ url: 'https://api2.example.com' }, { tenantId: 'tenant-2' }, { clientId: 'client-2' }];
    expect(new Set([own, ...others.map((other) => fingerprintOf({ ...settings, ...other }))]).size).toBe(4);
  });

  test('stays the same where a name stands for an address that changes', () => {
    expect(fingerprintOf(settings, 'sandbox')).toBe(
      fingerprintOf({ ...settings, url: 'http://127.0.0.1:1' }, 'sandbox'),
    );
  });
});

test('nothing secret is logged, whatever happens', async () => {
  const log = recordingLog();
  const service = openClient({ log, clock: movableClock() });
  await pay(service);
  server.handle(givingTokens((_request, answering) => answering.reply({ status: 401, json: {} })));
  await service.quote('{"secret-body":1}');
  server.handle((_request, answering) => answering.reset());
  await service.createPayment('{"secret-body":1}', { sendBefore: Number.POSITIVE_INFINITY });
  expect(log.text()).not.toMatch(/token-\d|canary|secret-body/);
});

test('payouts that wait for a service that is away make Node warn of nothing', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const service = openClient();
  await service.ready();
  await server.close();
  while (!service.isAway()) await service.quote('{}');
  const waiting = Array.from({ length: 60 }, () => service.ready());
  // Warnings are told in a later turn.
  await new Promise(setImmediate);
  await service.close();
  await Promise.allSettled(waiting);
  expect(warnings).toEqual([]);
});
