import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { Refusal } from '../refusal.ts';
import type { Delivery } from './answers.ts';
import { errorAnswer } from './errors.ts';
import type { HttpRequest } from './flow.ts';
import { deliver, headText } from './payments/delivery.ts';

const BODY_BYTES_MAX = 64 * 1024;
const REQUEST_MS_MAX = 30 * 1000;
/** Longer than clients keep idle connections, so that none is closed under a request that is on its way. */
const KEEP_ALIVE_MS = 75 * 1000;

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly handle: (request: HttpRequest) => Promise<Delivery>;
}

export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  /** Ends all connections; resolves when no request is at work any more. */
  close(): Promise<void>;
}

/** HTTP in and out. Throws a Refusal (unavailable) when the address cannot be had. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { host, port, clock } = options;
  const atWork = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const work = serve(request, response, options).finally(() => atWork.delete(work));
    atWork.add(work);
  });
  server.requestTimeout = REQUEST_MS_MAX;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end(malformedAnswer(clock));
    else socket.destroy();
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Refusal(`The sandbox cannot listen on ${host}:${port}`, 'Choose another port or host.', {
      kind: 'unavailable',
      cause,
    });
  }
  return {
    url: urlOf(server.address()),
    async close() {
      server.close();
      server.closeAllConnections();
      await Promise.all([once(server, 'close'), ...atWork]);
    },
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, options: ServerOptions): Promise<void> {
  let delivery: Delivery;
  try {
    const body = await bodyOf(request);
    const { method = '', url: target = '', headers } = request;
    delivery = await options.handle({ method, target, headers, body });
  } catch (error) {
    // A client that went away needs no answer; anything else is the sandbox's own fault, its disk for one.
    if (request.destroyed && !request.complete) return;
    const descriptions = [`the sandbox failed: ${error instanceof Error ? error.message : 'no error'}`];
    const headers = { Date: httpDate(options.clock) };
    const answer = errorAnswer({ code: 'SYS_001', descriptions, now: options.clock.now(), headers });
    delivery = { kind: 'answer', answer };
  }
  await deliver(response, delivery, options.clock);
}

/** The whole body, or undefined when it is too long; the rest of such a body is read and dropped. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return bytes > BODY_BYTES_MAX ? undefined : Buffer.concat(chunks);
}

function httpDate(clock: Clock): string {
  return new Date(clock.now()).toUTCString();
}

/** For what is no HTTP at all. */
function malformedAnswer(clock: Clock): string {
  const { status, body } = errorAnswer({ code: 'USR_001', descriptions: ['not a request'], now: clock.now() });
  const headers = { Date: httpDate(clock), 'Content-Type': 'application/json', Connection: 'close' };
  return headText(status, { ...headers, 'Content-Length': Buffer.byteLength(body) }) + body;
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}
