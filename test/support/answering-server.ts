import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** A request as it came over the wire. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** By lower-case name; a repeated header is the last one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Every byte of it. */
  readonly raw: string;
  /** Connections and requests are numbered from 1 in the order of their coming. */
  readonly connection: number;
  readonly number: number;
}

export interface ReplyOptions {
  readonly status?: number;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is, instead of `json`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a handler can do with a request; doing nothing leaves it hanging. */
export interface Answering {
  /** A well-formed response with Date and Content-Length on a connection that stays open. */
  reply(options: ReplyOptions): void;
  /** Raw bytes, for all that is not well-formed. */
  write(text: string): void;
  /** Closes the connection in order (FIN) or by reset (RST). */
  close(): void;
  reset(): void;
}

export type AnswerHandler = (request: ReceivedRequest, answering: Answering) => void | Promise<void>;

export interface AnsweringServer {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  readonly connections: number;
  /** Bytes received over all connections, those of unfinished requests too. */
  readonly bytes: number;
  /** The requests with this method and path. */
  to(method: string, path: string): ReceivedRequest[];
  handle(handler: AnswerHandler): void;
  /** Closes connections on which nothing is under way. */
  closeIdle(): void;
  close(): Promise<void>;
}

/**
 * A server that answers HTTP/1.1 requests exactly as a test wants, on a free port of the loopback address. It records the
 * bytes of each request, so that what was sent, and how often, is evidence and not inference.
 */
export async function startAnsweringServer(
  handler: AnswerHandler,
  tls?: { readonly key: string; readonly cert: string },
): Promise<AnsweringServer> {
  const requests: ReceivedRequest[] = [];
  const sockets = new Map<Socket, { underWay: number }>();
  let handle = handler;
  let connections = 0;
  let bytes = 0;

  const accept = (socket: Socket): void => {
    const state = { underWay: 0 };
    sockets.set(socket, state);
    connections += 1;
    const connection = connections;
    let pending = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      pending += chunk.toString('latin1');
      for (let cut = cutRequest(pending); cut !== undefined; cut = cutRequest(pending)) {
        pending = cut.rest;
        const request = { ...cut.request, connection, number: requests.length + 1 };
        requests.push(request);
        state.underWay += 1;
        void handle(
          request,
          answeringOn(socket, () => {
            state.underWay -= 1;
          }),
        );
      }
    });
  };
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    get bytes() {
      return bytes;
    },
    to: (method, path) => requests.filter((request) => request.method === method && request.path === path),
    handle(next) {
      handle = next;
    },
    closeIdle() {
      for (const [socket, { underWay }] of sockets) if (underWay === 0) socket.end();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
}

type WireRequest = Omit<ReceivedRequest, 'connection' | 'number'>;

function cutRequest(pending: string): { request: WireRequest; rest: string } | undefined {
  const headEnd = pending.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [start = '', ...lines] = pending.slice(0, headEnd).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const end = headEnd + 4 + Number.parseInt(headers['content-length'] ?? '0', 10);
  if (pending.length < end) return undefined;
  const [method = '', path = ''] = start.split(' ');
  const raw = pending.slice(0, end);
  return { request: { method, path, headers, body: raw.slice(headEnd + 4), raw }, rest: pending.slice(end) };
}

function answeringOn(socket: Socket, done: () => void): Answering {
  return {
    reply({ status = 200, json, text, headers = {} }) {
      const body = text ?? (json === undefined ? '' : JSON.stringify(json));
      const all = {
        date: new Date().toUTCString(),
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      };
      const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
      done();
      socket.write(`HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n${body}`);
    },
    write: (text) => void socket.write(text),
    close: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
  };
}
