import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openTokenStore } from '../../src/ledger/people/token-store.ts';
import type { Answer } from '../../src/service/answer.ts';
import type { Service } from '../../src/service/client.ts';
import { RENEWAL_MS_MAX, TokenRefused, type TokenStore, TokenUnavailable } from '../../src/service/token.ts';
import { openSeal } from '../../src/service/token-seal.ts';
import {
  type AnswerHandler,
  type Answering,
  type AnsweringServer,
  startAnsweringServer,
} from '../support/answering-server.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import {
  CLIENT_SECRET,
  givingTokens,
  isTokenRequest,
  movableClock,
  openTestService,
  recordingLog,
  soon,
  testSettings,
} from './test-service.ts';

const redis = await useTestRedis();
let server: AnsweringServer;
let keys: { token: string; lock: string };
let store: TokenStore;
const open: Service[] = [];

beforeEach(async () => {
  server = await startAnsweringServer(givingTokens(answerWell));
  const prefix = freshPrefix();
  keys = { token: `${prefix}:token`, lock: `${prefix}:token-lock` };
  store = openTokenStore(redis.redis, keys);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
  await server.close();
});

const answerWell: AnswerHandler = (_request, answering) => answering.reply({ json: {} });

function openClient(options: Parameters<typeof openTestService>[1] = {}): Service {
  const service = openTestService(server.url, { tokenStore: store, concurrency: 16, ...options });
  open.push(service);
  return service;
}

function tokenRequests(): number {
  return server.requests.filter(isTokenRequest).length;
}

/** Answers 401 to one bearer and 200 to all others. */
function refusing(bearer: string): AnswerHandler {
  return (request, answering) =>
    answering.reply({ status: request.headers['authorization'] === bearer ? 401 : 200, json: {} });
}

function statuses(answers: readonly Answer[]): unknown[] {
  return [...new Set(answers.map((answer) => (answer.kind === 'answered' ? answer.status : answer)))];
}

describe('one token for all', () => {
  test('twenty callers over two clients ask a slow endpoint once', async () => {
    const giveToken = givingTokens(answerWell);
    server.handle(async (request, answering) => {
      if (isTokenRequest(request)) await systemClock.sleep(300);
      await giveToken(request, answering);
    });
    const clients = [openClient(), openClient()];
    const answers = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 10 }, () => client.quote('{}'))),
    );
    expect(statuses(answers)).toEqual([200]);
    expect(tokenRequests()).toBe(1);
    expect(await redis.redis.exists(keys.lock)).toBe(0);
  });

  test('a process that starts later takes the token that is there', async () => {
    await openClient().ready();
    const later = openClient();
    await later.ready();
    expect(await later.createPayment('{}', { sendBefore: soon() })).toMatchObject({ status: 200 });
    expect(server.to('POST', '/v2/payments')[0]?.headers['authorization']).toBe('Bearer token-1');
    expect(tokenRequests()).toBe(1);
  });

  test('a token refused to twenty calls over two clients is replaced exactly once', async () => {
    const clients = [openClient(), openClient()];
    await Promise.all(clients.map((client) => client.ready()));
    server.handle((request, answering) => {
      if (isTokenRequest(request)) answering.reply({ json: { access_token: 'token-2', expires_in: 3600 } });
      else void refusing('Bearer token-1')(request, answering);
    });
    const answers = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 10 }, () => client.readPayment('p'))),
    );
    expect(statuses(answers)).toEqual([200]);
    expect(tokenRequests()).toBe(2);
  });

  test.each(['shared', 'off'])(
    'a late 401 to a token that was replaced asks for no other (cache %s)',
    async (cache) => {
      const client = openClient({ clock: movableClock(), ...(cache === 'off' ? { tokenStore: null } : {}) });
      await client.ready();
      const late: Answering[] = [];
      server.handle((request, answering) => {
        if (isTokenRequest(request)) answering.reply({ json: { access_token: 'token-2', expires_in: 3600 } });
        else if (request.path === '/v2/payments') late.push(answering);
        else void refusing('Bearer token-1')(request, answering);
      });
      const payment = client.createPayment('{}', { sendBefore: Number.MAX_SAFE_INTEGER });
      await expect.poll(() => late.length).toBe(1);
      expect(await client.quote('{}')).toMatchObject({ status: 200 });
      late[0]?.reply({ status: 401, json: {} });
      expect(await payment).toMatchObject({ status: 401 });
      expect(await client.quote('{}')).toMatchObject({ status: 200 });
      expect(tokenRequests()).toBe(2);
    },
  );

  test('a token that arrives between the look into the store and the right to ask is taken', async () => {
    const end = Date.now() + 60_000;
    const sealed = openSeal(testSettings(server.url), systemRandom).seal({ token: 't', freshUntil: end, endsAt: end });
    let stored: Uint8Array | null = null;
    const client = openClient({
      tokenStore: {
        ...store,
        read: async () => stored,
        async lock() {
          stored = sealed;
          return true;
        },
      },
    });
    await client.ready();
    expect(tokenRequests()).toBe(0);
  });

  test('a second 401 in a row is returned: one new token, one more try', async () => {
    server.handle(givingTokens((_request, answering) => answering.reply({ status: 401, json: {} })));
    expect(await openClient({ clock: movableClock() }).quote('{}')).toMatchObject({ kind: 'answered', status: 401 });
    expect(server.to('POST', '/v2/quotes/quote-collection')).toHaveLength(2);
    expect(tokenRequests()).toBe(2);
  });

  test('a 401 to a payment is returned at once, and nothing is paid with that token again', async () => {
    server.handle(givingTokens(refusing('Bearer token-1')));
    const client = openClient({ clock: movableClock() });
    await client.ready();
    expect(await client.createPayment('{}', { sendBefore: Number.MAX_SAFE_INTEGER })).toMatchObject({ status: 401 });
    expect(await client.createPayment('{}', { sendBefore: Number.MAX_SAFE_INTEGER })).toMatchObject({
      kind: 'not-sent',
      reason: 'no token',
    });
    await client.ready();
    expect(await client.createPayment('{}', { sendBefore: Number.MAX_SAFE_INTEGER })).toMatchObject({ status: 200 });
    expect(server.to('POST', '/v2/payments')).toHaveLength(2);
    expect(tokenRequests()).toBe(2);
  });

  test('an endpoint that hands out the refused token again is asked on, not believed', async () => {
    let given = 0;
    server.handle((request, answering) => {
      if (isTokenRequest(request)) {
        given += 1;
        answering.reply({ json: { access_token: given < 4 ? 'stale' : 'good', expires_in: 3600 } });
      } else {
        answering.reply({ status: request.headers['authorization'] === 'Bearer stale' ? 401 : 200, json: {} });
      }
    });
    const client = openClient({ clock: movableClock() });
    expect(await client.quote('{}')).toMatchObject({ status: 200 });
    expect(given).toBe(4);
    expect(server.to('POST', '/v2/quotes/quote-collection')).toHaveLength(2);
  });

  test('the lock of an asker that died is waited out', async () => {
    await store.lock('dead', 100);
    await openClient().ready();
    expect(tokenRequests()).toBe(1);
  });

  test('without the shared cache each process has one of its own, in memory until its end', async () => {
    const clock = movableClock();
    const clients = [openClient({ tokenStore: null, clock }), openClient({ tokenStore: null, clock })];
    for (const client of [...clients, ...clients]) await client.quote('{}');
    expect(tokenRequests()).toBe(2);
    expect(await redis.redis.exists(keys.token, keys.lock)).toBe(0);
    clock.move(3_600_000);
    for (const client of [...clients, ...clients]) await client.quote('{}');
    expect(tokenRequests()).toBe(4);
  });
});

function jwt(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
}

function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

describe('the life of a token', () => {
  test.each<[string, () => object, number]>([
    ['an hour less the margin', () => ({ expires_in: 3600 }), 3540],
    ['the rest above the margin', () => ({ expires_in: 100 }), 40],
    ['half of what is as short as the margin', () => ({ expires_in: 60 }), 30],
    ['half of what is shorter than the margin', () => ({ expires_in: 20 }), 10],
    ['half a minute where nothing is said', () => ({}), 30],
    ['half a minute for 0', () => ({ expires_in: 0 }), 30],
    ['half a minute for text', () => ({ expires_in: '3600' }), 30],
    ['a day at most', () => ({ expires_in: 1e12 }), 86_340],
    ['what exp leaves above the margin', () => ({ access_token: jwt({ exp: inSeconds(600) }) }), 540],
    ['what expires_in says before exp', () => ({ access_token: jwt({ exp: inSeconds(600) }), expires_in: 200 }), 140],
    ['half a minute for an exp gone by', () => ({ access_token: jwt({ exp: inSeconds(-5) }) }), 30],
    ['half a minute for an exp that is no number', () => ({ access_token: jwt({ exp: 'never' }) }), 30],
  ])('is %s', async (_name, reply, seconds) => {
    server.handle(givingTokens(answerWell, reply()));
    const clock = movableClock();
    const client = openClient({ clock });
    await client.ready();
    expect(await redis.redis.pttl(keys.token)).toBeLessThanOrEqual(seconds * 1000);
    clock.move(seconds * 1000 - 3000);
    await client.ready();
    expect(tokenRequests()).toBe(1);
    clock.move(3000);
    await client.ready();
    expect(tokenRequests()).toBe(2);
  });

  test('a payment is still sent with a token in its margin, and not after its end', async () => {
    const clock = movableClock();
    const client = openClient({ clock });
    await client.ready();
    clock.move(3_590_000);
    const sendBefore = clock.monotonic() + 5000;
    expect(await client.createPayment('{}', { sendBefore })).toMatchObject({ status: 200 });
    clock.move(10_000);
    expect(await client.createPayment('{}', { sendBefore: sendBefore + 10_000 })).toMatchObject({ reason: 'no token' });
  });
});

describe('the token endpoint', () => {
  test.each([
    [400, { error: 'invalid_request', error_description: 'canary description' }, 'invalid_request'],
    [401, { error: 'access_denied', error_description: 'canary description' }, 'access_denied'],
    [403, { errors: [{ code: 'AUTH_007', title: 'canary title' }] }, 'AUTH_007'],
    [401, undefined, null],
  ])('that refuses with %i and %j stops at once and tells nothing of the body', async (status, json, oauthCode) => {
    server.handle((_request, answering) => answering.reply({ status, json }));
    const failure: unknown = await openClient()
      .ready()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TokenRefused);
    expect(failure).toMatchObject({ code: 'TOKEN_REFUSED', status, oauthCode });
    expect(String(failure)).not.toMatch(/canary/);
    expect(tokenRequests()).toBe(1);
    expect(await redis.redis.exists(keys.lock)).toBe(0);
  });

  test.each<[string, AnswerHandler]>([
    ['500', (_request, answering) => answering.reply({ status: 500, text: '<html>' })],
    ['429', (_request, answering) => answering.reply({ status: 429 })],
    ['a page', (_request, answering) => answering.reply({ status: 200, text: '<html>' })],
    ['JSON without a token', (_request, answering) => answering.reply({ status: 200, json: { access_token: '' } })],
    ['a reset', (_request, answering) => answering.reset()],
  ])('that answers with %s is asked again', async (_name, handler) => {
    const giveToken = givingTokens(answerWell);
    server.handle((request, answering) => (tokenRequests() <= 3 ? handler : giveToken)(request, answering));
    const client = openClient({ clock: movableClock() });
    await client.ready();
    expect(tokenRequests()).toBe(4);
    expect(await client.quote('{}')).toMatchObject({ status: 200 });
  });

  test('that stays away is given up on after a minute', async () => {
    server.handle((_request, answering) => answering.reply({ status: 503 }));
    const clock = movableClock();
    const client = openClient({ clock });
    const since = clock.monotonic();
    const failure: unknown = await client.quote('{}').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TokenUnavailable);
    expect(failure).toMatchObject({ code: 'TOKEN_UNAVAILABLE', reason: 'HTTP 503', certificate: false });
    // The movable clock's time, not that of this machine: half of the limit at least was spent on waiting.
    expect(clock.monotonic() - since).toBeGreaterThan(RENEWAL_MS_MAX / 2);
    expect(tokenRequests()).toBeGreaterThan(4);
    expect(tokenRequests()).toBeLessThan(16);
  });

  test('is not waited for by a client that closes', async () => {
    server.handle((_request, answering) => answering.reply({ status: 503 }));
    const client = openClient();
    const failure = client.ready().catch((error: unknown) => error);
    await expect.poll(tokenRequests).toBe(1);
    await client.close();
    expect(await failure).toMatchObject({ code: 'TOKEN_UNAVAILABLE', reason: 'closed' });
  });
});

describe('the sealed token', () => {
  test('shows nothing of token or secret in Redis', async () => {
    const log = recordingLog();
    await openClient({ log }).ready();
    const names = await redis.redis.keys(`${keys.token}*`);
    expect(names).toContain(keys.token);
    for (const name of names) {
      const value = await redis.redis.getBuffer(name);
      for (const secret of ['token-1', CLIENT_SECRET, Buffer.from('token-1').toString('base64')]) {
        expect(value?.includes(secret)).toBe(false);
      }
    }
    expect(log.text()).not.toMatch(/token-1|canary/);
  });

  test('is never twice the same', () => {
    const seal = openSeal(testSettings('https://a.example'), systemRandom);
    const held = { token: 't', freshUntil: 1, endsAt: 2 };
    expect(seal.open(seal.seal(held))).toEqual(held);
    expect(Buffer.compare(seal.seal(held), seal.seal(held))).not.toBe(0);
  });

  test.each([
    ['another secret', { clientSecret: 'other' }],
    ['another client', { clientId: 'other' }],
    ['another tenant', { tenantId: 'other' }],
    ['another address', { url: 'https://b.example' }],
    ['another audience', { audience: 'other' }],
  ])('cannot be opened under %s', (_name, other) => {
    const sealed = openSeal(testSettings('https://a.example'), systemRandom).seal({
      token: 't',
      freshUntil: 1,
      endsAt: 2,
    });
    expect(openSeal(testSettings('https://a.example', other), systemRandom).open(sealed)).toBeUndefined();
  });

  test('that was changed, cut or is none is passed over and replaced', async () => {
    await openClient().ready();
    const sealed = await redis.redis.getBuffer(keys.token);
    if (sealed === null) throw new Error('no sealed token');
    const changed = Buffer.from(sealed);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    const spoilt = [changed, sealed.subarray(0, 20), Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(200, 1)];
    for (const [count, value] of spoilt.entries()) {
      await redis.redis.set(keys.token, value);
      await openClient().ready();
      expect(tokenRequests()).toBe(count + 2);
    }
  });
});
