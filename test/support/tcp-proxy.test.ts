import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { afterBytes, halfForwarded, onceForwarded, onReplyTo } from './proxy-moment.ts';
import { type ProxyEnd, startProxy, type TcpProxy } from './tcp-proxy.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Told {
  text: string;
  ended: boolean;
  error: string | undefined;
  closed: boolean;
}

/** What arrived at one end of a connection. */
function listenTo(socket: Socket): Told {
  const told: Told = { text: '', ended: false, error: undefined, closed: false };
  socket.on('data', (chunk) => {
    told.text += chunk.toString();
  });
  socket.on('end', () => {
    told.ended = true;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    told.error = error.code;
  });
  socket.on('close', () => {
    told.closed = true;
  });
  return told;
}

interface Setup {
  readonly proxy: TcpProxy;
  /** A new connection through the proxy, and what its two ends are told. */
  readonly join: () => Promise<{ client: Socket; server: Socket; atClient: Told; atServer: Told }>;
}

async function setUp(kind: 'TCP' | 'unix socket' = 'TCP'): Promise<Setup> {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-proxy-'));
  const endOf = (name: string): ProxyEnd => (kind === 'TCP' ? { port: 0 } : { path: join(folder, name) });
  const accepted: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(socket));
  server.listen(kind === 'TCP' ? { port: 0, host: '127.0.0.1' } : endOf('target'));
  await once(server, 'listening');
  const address = server.address();
  const target = typeof address === 'object' && address !== null ? { port: address.port } : endOf('target');
  const proxy = await startProxy(target, endOf('proxy'));
  closing.push(
    () => rmSync(folder, { recursive: true }),
    () => server.close(),
    () => proxy.close(),
  );
  return {
    proxy,
    async join() {
      const client = connect({ ...proxy.end, allowHalfOpen: true });
      closing.push(() => client.destroy());
      const atClient = listenTo(client);
      const number = accepted.length;
      await expect.poll(() => accepted.length).toBeGreaterThan(number);
      const other = accepted[number] ?? new Socket();
      closing.push(() => other.destroy());
      return { client, server: other, atClient, atServer: listenTo(other) };
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 5 }).toBe(true);
}

/** What a reset is to TCP, an end that was not asked for is to a unix socket. */
function isOver({ ended, closed }: Told): boolean {
  return ended || closed;
}

describe.each(['TCP', 'unix socket'] as const)('a proxy before a %s', (kind) => {
  test('passes bytes both ways, and the end of each way by itself', async () => {
    const { join: connected } = await setUp(kind);
    const { client, server, atClient, atServer } = await connected();
    client.write('ask');
    await until(() => atServer.text === 'ask');
    client.end();
    await until(() => atServer.ended);
    server.end('answer');
    await until(() => atClient.closed);
    expect(atClient).toMatchObject({ text: 'answer', ended: true, error: undefined });
  });

  test('cuts connections that there are, and each new one, until it is told to pass', async () => {
    const { proxy, join: connected } = await setUp(kind);
    const { atClient, atServer } = await connected();
    const set = proxy.set({ do: 'cut' });
    await until(() => isOver(atClient) && isOver(atServer));
    const told = kind === 'TCP' ? 'ECONNRESET' : undefined;
    expect([atClient.error, atServer.error]).toEqual([told, told]);
    const refused = connect(proxy.end);
    const atRefused = listenTo(refused);
    await until(() => isOver(atRefused));
    expect(set.hits).toBe(2);
    proxy.set({ do: 'pass' });
    const { client, atServer: after } = await connected();
    client.write('ask');
    await until(() => after.text === 'ask');
  });
});

describe('the moment at which a connection is cut', () => {
  test.each([
    { words: 'so many bytes of requests', when: afterBytes('request', 7), arrived: '1234567', answered: '' },
    { words: 'so many bytes of replies', when: afterBytes('reply', 4), arrived: '1234567890', answered: 'abcd' },
  ])('can be after $words', async ({ when, arrived, answered }) => {
    const { proxy, join: connected } = await setUp();
    proxy.set({ do: 'cut', when });
    const { client, server, atClient, atServer } = await connected();
    client.write('12345');
    await until(() => atServer.text === '12345');
    client.write('67890');
    await until(() => atServer.text === arrived);
    server.write('abcdef');
    await until(() => atServer.closed && atClient.closed);
    expect({ arrived: atServer.text, answered: atClient.text }).toEqual({ arrived, answered });
  });

  const head = 'POST /v2/payments HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n';

  test('can be when an HTTP request has been passed on whole, its body too', async () => {
    const { proxy, join: connected } = await setUp();
    const set = proxy.set({ do: 'cut', when: onceForwarded('POST /v2/payments') });
    const { client, server, atServer, atClient } = await connected();
    const other = 'GET /v2/payments/1 HTTP/1.1\r\nHost: a\r\n\r\n';
    client.write(other);
    await until(() => atServer.text === other);
    server.write('HTTP/1.1 404 Not Found\r\n\r\n');
    await until(() => atClient.text !== '');
    client.write(`${head}12345`);
    await until(() => atServer.text === `${other}${head}12345`);
    expect(set.hits).toBe(0);
    client.write('67890');
    await until(() => atServer.closed && atClient.closed);
    expect(atServer.text).toBe(`${other}${head}1234567890`);
  });

  test('can be when half of a request has been passed on, and on one connection alone', async () => {
    const { proxy, join: connected } = await setUp();
    proxy.set({ do: 'cut', when: halfForwarded(/payments/), connectionsMax: 1 });
    const first = await connected();
    const second = await connected();
    first.client.write(head);
    await until(() => first.atServer.closed);
    expect(first.atServer.text).toBe(head.slice(0, head.length / 2));
    second.client.write(head);
    await until(() => second.atServer.text === head);
  });

  test('can be when the reply to a request comes, of which nothing or a part is passed on', async () => {
    for (const [bytes, answered] of [
      [0, ''],
      [4, 'HTTP'],
    ] as const) {
      const { proxy, join: connected } = await setUp();
      proxy.set({ do: 'cut', when: onReplyTo('/v2/payments', bytes) });
      const { client, server, atClient, atServer } = await connected();
      client.write(`${head}1234567890`);
      await until(() => atServer.text.endsWith('0'));
      server.write('HTTP/1.1 201 Created\r\n\r\n');
      await until(() => atClient.closed);
      expect(atClient.text).toBe(answered);
    }
  });
});

test('bytes come through later, or one by one', async () => {
  const { proxy, join: connected } = await setUp();
  for (const toxic of [
    { do: 'delay', ms: 60 },
    { do: 'drip', everyMs: 20 },
  ] as const) {
    proxy.set(toxic);
    const { client, atServer } = await connected();
    const from = performance.now();
    client.write('1234');
    await until(() => atServer.text === '1234');
    // A lower bound, which no slow machine breaks.
    expect(performance.now() - from).toBeGreaterThan(50);
  }
});

test('one side can be told of an end while its own bytes still come through', async () => {
  const { proxy, join: connected } = await setUp();
  const { client, atClient, atServer } = await connected();
  proxy.set({ do: 'end', side: 'client' });
  await until(() => atClient.ended);
  client.write('more');
  await until(() => atServer.text === 'more');
  expect(atServer.ended).toBe(false);
});

test('a way can lose its bytes, and stays so when later connections pass', async () => {
  const { proxy, join: connected } = await setUp();
  proxy.set({ do: 'swallow', ways: ['reply'] });
  const { client, server, atClient, atServer } = await connected();
  client.write('ask');
  await until(() => atServer.text === 'ask');
  server.write('lost');
  proxy.set({ do: 'pass' });
  const later = await connected();
  server.write('lost too');
  later.server.write('here');
  await until(() => later.atClient.text === 'here');
  expect(atClient).toMatchObject({ text: '', closed: false });
});

test('a way can be held, and everything comes when it is let go', async () => {
  const { proxy, join: connected } = await setUp();
  const { client, server, atClient, atServer } = await connected();
  proxy.set({ do: 'hold', ways: ['reply'] });
  server.write('one ');
  server.write('two');
  client.write('ask');
  await until(() => atServer.text === 'ask');
  expect(atClient.text).toBe('');
  proxy.set({ do: 'pass' });
  await until(() => atClient.text === 'one two');
});

test('nobody can connect while it refuses, and then again at the same place', async () => {
  const { proxy, join: connected } = await setUp();
  const there = await connected();
  await proxy.refuse();
  const told = listenTo(connect(proxy.end));
  await until(() => told.closed);
  expect(told.error).toBe('ECONNREFUSED');
  there.client.write('still');
  await until(() => there.atServer.text === 'still');
  await proxy.listen();
  const { client, atServer } = await connected();
  client.write('again');
  await until(() => atServer.text === 'again');
});
