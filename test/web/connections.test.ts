import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { limitConnections } from '../../src/web/limits/connections.ts';
import { WEB_LIMITS, type WebLimits } from '../../src/web/limits/limits.ts';
import { limitBodies } from '../../src/web/limits/slow-bodies.ts';
import { Problem } from '../../src/web/problem.ts';
import type { Person } from '../../src/web/web.ts';
import { addresses, openSilent, openStranger } from '../hostile/sockets.ts';

vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 60_000 };
const ANNA: Person = { name: 'anna', role: 'maker', csrf: null, proof: null, may: (act) => act === 'submit' };
const SIGNED_IN = { 'x-who': 'anna' };

async function refuse(): Promise<never> {
  throw new Problem(403, 'No.', 'Nothing.');
}

/** The head of a request with a body of 100 bytes. */
function head(path: string, more: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n${more}\r\n`;
}

interface Asking {
  ask(path: string, headers?: Record<string, string>): Promise<IncomingMessage>;
  leave(): void;
}

/** A server with limits of its own, at which whoever says that they are Anna has signed in. */
async function openSmall(limits: Partial<WebLimits>, { proxies = [] }: { proxies?: string[] } = {}) {
  const web = fastify({ forceCloseConnections: true });
  const all = { ...WEB_LIMITS, ...limits };
  web.decorateRequest('who', null);
  limitBodies(web, all);
  web.addHook('onRequest', async (request) => {
    request.who = request.headers['x-who'] === 'anna' ? ANNA : null;
  });
  limitConnections(web, { clock: systemClock, limits: all, proxies });
  web.setErrorHandler(async (error, _request, reply) => {
    if (!(error instanceof Problem)) throw error;
    return await reply.status(error.status).send(error.message);
  });
  web.addContentTypeParser('text/csv', async (_request: unknown, payload: IncomingMessage) => {
    let bytes = 0;
    for await (const chunk of payload) bytes += (chunk as Buffer).length;
    return bytes;
  });
  web.get('/healthz', async (_request, reply) => reply.status(204).send());
  web.get('/runs', async () => 'the runs');
  web.post('/form', async () => 'a form');
  web.post('/refused', { onRequest: refuse }, async () => 'never');
  const refusing = { config: { act: 'submit', takesFile: true }, onRequest: refuse } as const;
  web.post('/refused-upload', refusing, async () => 'never');
  web.post('/upload', { config: { act: 'submit', takesFile: true } }, async ({ body }) => `${String(body)} bytes`);
  await web.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => web.close());
  const { port } = web.server.address() as AddressInfo;
  /** Somebody with a connection of their own, which stays open. */
  const connect = (localAddress = '127.0.0.1'): Asking => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress });
    onTestFinished(() => agent.destroy());
    return {
      async ask(path, headers = {}) {
        const asked = get({ host: '127.0.0.1', port, path, agent, headers });
        const [answer] = (await once(asked, 'response')) as [IncomingMessage];
        answer.resume();
        await once(answer, 'end');
        return answer;
      },
      leave: () => agent.destroy(),
    };
  };
  const count = async () =>
    await new Promise<number>((resolve) => {
      web.server.getConnections((_error, open) => resolve(open));
    });
  return {
    connect,
    count,
    flood: async (sockets: number, from?: readonly string[]) => await openSilent(port, sockets, from),
    open: async () => await openStranger(port),
  };
}

test('a stranger over one connection too many is told so; who has signed in is answered, and stays connected', async () => {
  const { connect, count } = await openSmall({ connectionsMax: 3 });
  const inside = Array.from({ length: 3 }, connect);
  for (const one of inside) expect((await one.ask('/runs', SIGNED_IN)).statusCode).toBe(200);

  const refused = await connect().ask('/runs');
  expect(refused.statusCode).toBe(503);
  expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': expect.stringMatching(/^[0-9]+$/) });
  expect((await connect().ask('/healthz')).statusCode).toBe(204);
  const late = connect();
  expect((await late.ask('/runs', SIGNED_IN)).statusCode).toBe(200);
  for (const one of inside) expect((await one.ask('/runs')).statusCode).toBe(200);

  late.leave();
  inside[0]?.leave();
  await expect.poll(count, PATIENCE).toBeLessThan(3);
  await expect.poll(async () => (await connect().ask('/runs')).statusCode, PATIENCE).toBe(200);
});

describe('strangers who are too many', () => {
  const FEW = { strangersPerAddressMax: 2, strangerMsMin: 0 };

  test('from one address give way, those who came first before others; who has signed in does not', async () => {
    const { connect, count, open } = await openSmall(FEW);
    const anna = connect();
    expect((await anna.ask('/runs', SIGNED_IN)).statusCode).toBe(200);
    const slow = [await open(), await open(), await open(), await open()];
    slow.forEach(({ socket }) => socket.write('GET /runs HTTP/1.1\r\n'));
    await expect.poll(() => slow.filter(({ isOpen }) => isOpen()).length, PATIENCE).toBe(2);
    await expect.poll(count, PATIENCE).toBe(3);
    expect((await connect().ask('/healthz')).statusCode).toBe(204);
    expect((await connect().ask('/runs', SIGNED_IN)).statusCode).toBe(200);
    await expect.poll(() => slow[0]?.isOpen(), PATIENCE).toBe(false);
    expect((await anna.ask('/runs')).statusCode).toBe(200);
  });

  test('from one address are not let in at twice what an address may have, however fast they come: others do not wait', async () => {
    const { connect, count, flood } = await openSmall({});
    const most = 2 * WEB_LIMITS.strangersPerAddressMax;
    const anna = connect();
    expect((await anna.ask('/runs', SIGNED_IN)).statusCode).toBe(200);
    let highest = 0;
    for (let wave = 0; wave < 6; wave++) {
      await flood(500);
      const began = performance.now();
      const elsewhere = connect('127.0.0.2');
      expect((await elsewhere.ask('/healthz')).statusCode).toBe(204);
      expect((await elsewhere.ask('/runs', SIGNED_IN)).statusCode).toBe(200);
      expect((await anna.ask('/runs')).statusCode).toBe(200);
      expect(performance.now() - began).toBeLessThan(2000);
      highest = Math.max(highest, await count());
    }
    // The one that is over it, Anna, and who came from elsewhere.
    expect(highest).toBeLessThanOrEqual(most + 1 + 1 + 6);
  });

  test('from many addresses, none of which has too many, give way at once to the next one when the server is full', async () => {
    const { connect, count, flood } = await openSmall({ connectionsMax: 100, strangerMsMin: 60_000 });
    const from = addresses(26);
    const anna = connect();
    expect((await anna.ask('/runs', SIGNED_IN)).statusCode).toBe(200);
    for (let wave = 0; wave < 5; wave++) {
      await flood(from.length * 20, from);
      expect((await connect('127.0.0.2').ask('/healthz')).statusCode).toBe(204);
      expect((await connect('127.0.0.2').ask('/runs')).statusCode).toBe(200);
      expect((await connect('127.0.0.2').ask('/runs', SIGNED_IN)).statusCode).toBe(200);
      expect((await anna.ask('/runs')).statusCode).toBe(200);
      expect(await count()).toBeLessThanOrEqual(500);
    }
  });

  test('give way when all of them are too many, also from behind a proxy of ours', async () => {
    const { count, open } = await openSmall({ ...FEW, strangersMax: 3 }, { proxies: ['127.0.0.0/8'] });
    const slow = [await open(), await open(), await open(), await open(), await open()];
    await expect.poll(count, PATIENCE).toBe(3);
    await expect.poll(() => slow.map(({ isOpen }) => isOpen()), PATIENCE).toEqual([false, false, true, true, true]);
  });

  test('from behind a proxy of ours are not counted by its address', async () => {
    const { count, open } = await openSmall(
      { ...FEW, strangersPerAddressMax: 1, strangersMax: 3 },
      { proxies: ['127.0.0.1'] },
    );
    for (let opened = 0; opened < 4; opened++) await open();
    await expect.poll(count, PATIENCE).toBe(3);
  });
});

describe('a body that comes slowly', () => {
  const SHORT = { bodyMsMax: 100 };

  test.each([
    ['a form of a stranger', head('/form', 'Content-Type: text/csv\r\n')],
    ['a form of somebody who has signed in', head('/form', 'Content-Type: text/csv\r\nX-Who: anna\r\n')],
    ['a file of a stranger', head('/upload', 'Content-Type: text/csv\r\n')],
    [
      'a body in pieces',
      'POST /form HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: text/csv\r\n\r\n1\r\n',
    ],
  ])('ends with its connection: %s', async (_what, text) => {
    const { open } = await openSmall(SHORT);
    const { socket, answer, closed } = await open();
    socket.write(text);
    socket.write('x');
    await closed;
    expect(answer()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('ends with its connection also when the answer came first', async () => {
    const { open } = await openSmall(SHORT);
    const { socket, answer, closed } = await open();
    socket.write(head('/refused', 'Content-Type: text/csv\r\n'));
    socket.write('x');
    await expect.poll(answer, PATIENCE).toMatch(/^HTTP\/1\.1 403 /);
    await closed;
    expect(answer()).not.toContain(' 408 ');
  });

  test('of a file ends when it comes below its rate', async () => {
    const { open } = await openSmall({ ...SHORT, fileBytesMin: 50, fileBytesWithinMs: 100 });
    const { socket, answer, closed } = await open();
    socket.write(head('/upload', 'Content-Type: text/csv\r\nX-Who: anna\r\n'));
    socket.write('x');
    await closed;
    expect(answer()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('of a file that was refused is taken to its end, for its sender reads no answer before', async () => {
    const { open } = await openSmall({ ...SHORT, fileBytesMin: 1, fileBytesWithinMs: 20_000 });
    const { socket, answer, isOpen } = await open();
    const stranger = await open();
    socket.write(head('/refused-upload', 'Content-Type: text/csv\r\nX-Who: anna\r\n'));
    socket.write('x'.repeat(50));
    stranger.socket.write(head('/refused-upload', 'Content-Type: text/csv\r\n'));
    await stranger.closed;
    expect(isOpen()).toBe(true);
    socket.write(`${'x'.repeat(50)}GET /runs HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(answer, PATIENCE).toMatch(/^HTTP\/1\.1 403 [^]*the runs$/);
  });

  test('of a file has its time while it comes at its rate', async () => {
    const { open } = await openSmall({ ...SHORT, fileBytesMin: 1, fileBytesWithinMs: 20_000 });
    const { socket, answer } = await open();
    const stranger = await open();
    stranger.socket.write(head('/upload', 'Content-Type: text/csv\r\n'));
    socket.write(head('/upload', 'Content-Type: text/csv\r\nX-Who: anna\r\n'));
    socket.write('x'.repeat(50));
    // As long as a stranger's time, and more.
    await stranger.closed;
    await expect.poll(stranger.isOpen, PATIENCE).toBe(false);
    socket.write('x'.repeat(50));
    await expect.poll(answer, PATIENCE).toContain('100 bytes');
  });
});
