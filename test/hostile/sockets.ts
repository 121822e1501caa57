import { once } from 'node:events';
import { get as getPlain, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { onTestFinished } from 'vitest';

const HOST = '127.0.0.1';
const AGAIN_MS = 100;
const BYTE_MS = 50;

/** A connection of a stranger, for as long as the test goes on. */
export interface Stranger {
  readonly socket: Socket;
  /** What came back so far. */
  readonly answer: () => string;
  readonly isOpen: () => boolean;
  readonly closed: Promise<unknown>;
}

/** Connects, and says nothing; `isShaken`: but for the handshake of TLS. */
export async function openStranger(port: number, { isShaken = false } = {}): Promise<Stranger> {
  const socket = isShaken ? connectTls({ port, host: HOST, rejectUnauthorized: false }) : connect({ port, host: HOST });
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, isShaken ? 'secureConnect' : 'connect');
  return { socket, answer: () => text, isOpen: () => !socket.destroyed, closed };
}

/** So many connections over which nothing is said, as fast as they are taken, from these addresses in turn. */
export async function openSilent(port: number, count: number, from: readonly string[] = [HOST]): Promise<void> {
  const opened = Array.from({ length: count }, (_, at) => {
    const localAddress = from[at % from.length] ?? HOST;
    const socket = connect({ port, host: HOST, localAddress }).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  });
  await Promise.all(opened.map(async (socket) => await once(socket, 'connect').catch(() => {})));
}

/** So many from each address, each opened again as soon as it has ended. */
export async function keepSilent(port: number, each: number, from: readonly string[]): Promise<void> {
  let isOver = false;
  const open: Set<Socket> = new Set();
  onTestFinished(() => {
    isOver = true;
    for (const socket of open) socket.destroy();
  });
  const connectAgain = async (localAddress: string): Promise<void> => {
    if (isOver) return;
    const socket = connect({ port, host: HOST, localAddress });
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      open.delete(socket);
      setTimeout(() => void connectAgain(localAddress), AGAIN_MS);
    });
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  };
  // No more at a time than wait to be taken.
  for (let one = 0; one < each; one++) await Promise.all(from.map(connectAgain));
}

/** Addresses of this host, of which each counts alone. */
export function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `127.0.1.${at + 1}`);
}

/** What strangers send at a byte now and then, who never come to its end; `isTls`: to a server that speaks TLS. */
export const HOSTILE_SOCKETS: readonly {
  readonly what: string;
  readonly isTls: boolean;
  readonly isShaken: boolean;
  readonly text: string;
}[] = [
  { what: 'silent ones', isTls: false, isShaken: false, text: '' },
  { what: 'silent ones that never shake hands', isTls: true, isShaken: false, text: '' },
  { what: 'handshakes a byte at a time', isTls: true, isShaken: false, text: '\u0016\u0003\u0001\u0002\u0000\u0001' },
  { what: 'silent ones that have shaken hands', isTls: true, isShaken: true, text: '' },
  { what: 'headers a byte at a time', isTls: false, isShaken: false, text: 'GET /runs HTTP/1.1\r\nHost: x' },
  {
    what: 'a header without end',
    isTls: false,
    isShaken: false,
    text: `GET /runs HTTP/1.1\r\nX: ${'x'.repeat(10_000)}`,
  },
  { what: 'sign-ins a byte at a time', isTls: false, isShaken: false, text: bodyOf('/sign-in', 'name=a') },
  { what: 'uploads without session', isTls: false, isShaken: false, text: bodyOf('/upload', '--x') },
  { what: 'requests in pieces of a byte', isTls: false, isShaken: false, text: inPieces('/api/v1/runs') },
];

/** The head of a request with a body of 100 bytes, and what came of that. */
function bodyOf(path: string, begun: string): string {
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100';
  return `POST ${path} HTTP/1.1\r\nHost: HOST\r\n${form}\r\n\r\n${begun}`;
}

function inPieces(path: string): string {
  const head = 'Content-Type: text/csv\r\nTransfer-Encoding: chunked';
  return `POST ${path} HTTP/1.1\r\nHost: HOST\r\n${head}\r\n\r\n${'1\r\nx\r\n'.repeat(100)}`;
}

/** Opens so many of them, which send their text but for its last bytes at once, and those slowly. */
export async function openHostile(
  port: number,
  { text, isShaken }: (typeof HOSTILE_SOCKETS)[number],
  count: number,
): Promise<Stranger[]> {
  const said = text.replace('Host: HOST', `Host: ${HOST}:${port}`);
  const [first, slow] = [said.slice(0, -5), said.slice(-5)];
  const strangers: Stranger[] = [];
  for (let at = 0; at < count; at++) {
    const one = await openStranger(port, { isShaken });
    strangers.push(one);
    if (first !== '') one.socket.write(first, 'latin1');
    for (const [after, byte] of slow.split('').entries()) {
      setTimeout(() => one.socket.writable && one.socket.write(byte, 'latin1'), after * BYTE_MS);
    }
  }
  return strangers;
}

/** The status of the answer to somebody with a connection of their own. */
export async function statusOf(
  { port, isTls }: { readonly port: number; readonly isTls: boolean },
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<number | undefined> {
  const asked = isTls
    ? getEncrypted({ host: HOST, port, path, agent: false, rejectUnauthorized: false, headers })
    : getPlain({ host: HOST, port, path, agent: false, headers });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}
