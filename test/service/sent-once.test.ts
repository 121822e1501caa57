import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Answer } from '../../src/service/answer.ts';
import type { Service } from '../../src/service/client.ts';
import {
  type AnswerHandler,
  type Answering,
  type AnsweringServer,
  startAnsweringServer,
} from '../support/answering-server.ts';
import { startConnectProxy } from './connect-proxy.ts';
import { givingTokens, openTestService, soon, storeWithToken } from './test-service.ts';

const TRIES = 300;

let server: AnsweringServer;
let service: Service;

beforeEach(async () => {
  server = await startAnsweringServer(
    givingTokens((_request, answering) => answering.reply({ status: 201, json: {} })),
  );
  service = openTestService(server.url, { requestTimeoutMs: 5000, concurrency: 8 });
  await service.ready();
});

afterEach(async () => {
  await service.close();
  await server.close();
});

interface Try {
  readonly body: string;
  readonly answer: Answer;
  readonly marks: number;
}

async function pay(number: number, sendBefore = soon()): Promise<Try> {
  const body = JSON.stringify({ quoteId: `quote-${number}` });
  let marks = 0;
  const answer = await service.createPayment(body, {
    sendBefore,
    onSent: () => {
      marks += 1;
    },
  });
  return { body, answer, marks };
}

/** So many payments, eight at a time as the client allows. */
async function payMany(count: number): Promise<Try[]> {
  const tries: Try[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      tries.push(await pay(next));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return tries;
}

/** The tries whose body was seen more often than their answer allows, or twice, or whose mark tells a lie. */
function wrongOf(tries: readonly Try[]): Try[] {
  const seen = new Map<string, number>();
  for (const { body } of server.to('POST', '/v2/payments')) seen.set(body, (seen.get(body) ?? 0) + 1);
  return tries.filter(({ body, answer, marks }) => {
    const times = seen.get(body) ?? 0;
    if (answer.kind === 'not-sent') return times !== 0 || marks !== 0;
    return marks !== 1 || times > 1 || (answer.kind === 'answered' && times !== 1);
  });
}

describe('a payment request is seen at most once', () => {
  test.each<[string, AnswerHandler]>([
    ['closes the connection as a request arrives', (_request, answering) => answering.close()],
    ['resets after it has read a request', (_request, answering) => answering.reset()],
    [
      'closes the connection after each answer without a word',
      (_request, answering) => {
        answering.reply({ status: 201, json: {} });
        answering.close();
      },
    ],
    [
      'resets right after each answer',
      (_request, answering) => {
        answering.reply({ status: 201, json: {} });
        setImmediate(() => answering.reset());
      },
    ],
    [
      'cuts answers in the middle',
      (_request, answering) => {
        answering.write('HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{');
        answering.close();
      },
    ],
    [
      'answers twice',
      (_request, answering) => {
        answering.reply({ status: 201, json: {} });
        answering.reply({ status: 500, json: {} });
      },
    ],
    [
      'does something else each time',
      (request, answering) => {
        if (request.number % 4 === 0) answering.close();
        else if (request.number % 4 === 1) answering.reset();
        else answering.reply({ status: 201, json: {} });
        if (request.number % 4 === 2) answering.close();
      },
    ],
  ])('by a server that %s', async (_name, handler) => {
    server.handle(handler);
    expect(wrongOf(await payMany(TRIES))).toEqual([]);
  });

  test('by a server that closes idle connections just before', async () => {
    const tries: Try[] = [];
    for (let number = 1; number <= TRIES; number += 1) {
      server.closeIdle();
      tries.push(await pay(number));
    }
    expect(wrongOf(tries)).toEqual([]);
    expect(tries.filter(({ answer }) => answer.kind === 'answered').length).toBeGreaterThan(0);
  });

  test('by a server that closes connections while requests are on their way', async () => {
    const chop = setInterval(() => server.closeIdle(), 1);
    const tries = await payMany(TRIES);
    clearInterval(chop);
    expect(wrongOf(tries)).toEqual([]);
  });
});

describe('through a proxy a payment request is seen at most once', () => {
  test.each<[string, Parameters<typeof startConnectProxy>[0]]>([
    [
      'refuses or closes some tunnels',
      (tunnel) => {
        if (tunnel.number % 4 === 1) tunnel.say('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
        else if (tunnel.number % 4 === 2) tunnel.cut();
        else tunnel.pass();
      },
    ],
    ['cuts each tunnel after a moment', (tunnel) => tunnel.pass(() => setTimeout(tunnel.cut, tunnel.number % 7))],
  ])('that %s', async (_name, handler) => {
    const proxy = await startConnectProxy(handler);
    const settings = { proxy: proxy.url };
    service = openTestService(server.url, { settings, concurrency: 8, tokenStore: storeWithToken(server.url) });
    await service.ready();
    const tries = await payMany(TRIES);
    expect(wrongOf(tries)).toEqual([]);
    const kinds = new Set(tries.map(({ answer }) => answer.kind));
    expect(kinds).toContain('answered');
    expect(kinds.size).toBeGreaterThan(1);
    await proxy.close();
  });

  test('that gives each connection one tunnel, and no more connections than payments may be in flight', async () => {
    const proxy = await startConnectProxy((tunnel) => tunnel.pass());
    const settings = { proxy: proxy.url };
    service = openTestService(server.url, { settings, concurrency: 3, tokenStore: storeWithToken(server.url) });
    await service.ready();
    const { connections } = server;
    const tries = await payMany(TRIES);
    expect(wrongOf(tries)).toEqual([]);
    expect(tries.every(({ answer }) => answer.kind === 'answered')).toBe(true);
    expect(server.connections - connections).toBe(3);
    expect(proxy.asked).toHaveLength(3);
    await proxy.close();
  });
});

describe('the arm deadline', () => {
  test('that has passed lets nothing out', async () => {
    const { answer, marks } = await pay(1, systemClock.monotonic());
    expect({ answer, marks }).toEqual({
      answer: { kind: 'not-sent', reason: 'deadline', certificate: false },
      marks: 0,
    });
    expect(server.to('POST', '/v2/payments')).toHaveLength(0);
  });

  test('is looked at again immediately before the first byte', async () => {
    let calls = 0;
    const late = openTestService(server.url, {
      // The process is stopped between the call and the write.
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + (calls++ < 2 ? 0 : 60_000) },
    });
    await late.ready();
    calls = 0;
    const answer = await late.createPayment('{}', { sendBefore: soon() });
    expect(answer).toEqual({ kind: 'not-sent', reason: 'deadline', certificate: false });
    expect(server.to('POST', '/v2/payments')).toHaveLength(0);
    await late.close();
  });

  test.each<[string, Clock]>([
    ['', systemClock],
    [', though the clock lags behind the timer', { ...systemClock, monotonic: () => 0 }],
  ])('cuts the wait for a connection, and what waited is never written%s', async (_name, clock) => {
    const narrow = openTestService(server.url, { concurrency: 1, clock });
    await narrow.ready();
    const held: Answering[] = [];
    server.handle((_request, answering) => void held.push(answering));
    const first = narrow.createPayment('{"first":1}', { sendBefore: clock.monotonic() + 5000 });
    await expect.poll(() => held.length).toBe(1);
    const second = await narrow.createPayment('{"second":1}', { sendBefore: clock.monotonic() + 20 });
    expect(second).toEqual({ kind: 'not-sent', reason: 'deadline', certificate: false });
    server.handle((_request, answering) => answering.reply({ status: 201, json: {} }));
    held[0]?.reply({ status: 201, json: {} });
    expect(await first).toMatchObject({ kind: 'answered', status: 201 });
    const third = await narrow.createPayment('{"third":1}', { sendBefore: clock.monotonic() + 5000 });
    expect(third).toMatchObject({ kind: 'answered' });
    expect(server.to('POST', '/v2/payments').map(({ body }) => body)).toEqual(['{"first":1}', '{"third":1}']);
    await narrow.close();
  });

  test('cuts a TLS handshake that does not end', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket.on('error', () => {})));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}`;
    const slow = openTestService(url, { tokenStore: storeWithToken(url) });
    await slow.ready();
    const answer = await slow.createPayment('{}', { sendBefore: systemClock.monotonic() + 50 });
    expect(answer).toEqual({ kind: 'not-sent', reason: 'deadline', certificate: false });
    await slow.close();
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
});
