import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What arrived on a connection, byte by byte, and how it ended. */
export interface Wire {
  readonly text: string;
  /** `closed` after a FIN, `reset` after an RST, `open` when nothing had ended it in the time given. */
  readonly end: 'closed' | 'reset' | 'open';
}

/** Sends one request on a bare socket and listens until its end, or for so long. */
export async function listen(
  url: string,
  request: { method: string; token: string; body?: object },
  forMs = 5000,
): Promise<Wire> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = '';
  let end: Wire['end'] = 'open';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.once('end', () => {
    end = 'closed';
  });
  socket.once('error', () => {
    end = 'reset';
  });
  const body = request.body === undefined ? '' : JSON.stringify(request.body);
  const head = [
    `${request.method} ${pathname} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${request.token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const waiting = new AbortController();
  await Promise.race([
    once(socket, 'end', { signal: waiting.signal }),
    delay(forMs, undefined, { signal: waiting.signal }),
  ]).catch(() => {});
  waiting.abort();
  socket.destroy();
  return { text, end };
}
