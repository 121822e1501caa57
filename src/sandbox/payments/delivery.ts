import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Answer, Delivery, Framing } from '../answers.ts';

/** The one place where bytes leave. Resolves when the last of them is handed to the system, or the client has gone. */
export async function deliver(response: ServerResponse, delivery: Delivery, clock: Clock): Promise<void> {
  const { socket } = response;
  switch (delivery.kind) {
    case 'reset':
      socket?.resetAndDestroy();
      return;
    case 'half-open':
      socket?.end();
      return;
    case 'silence':
      return;
    case 'cut':
      socket?.end(cutText(delivery.answer, delivery.framing));
      return;
    case 'drip':
      if (socket !== null) await drip(socket, delivery, clock);
      return;
    case 'answer': {
      const { status, headers, body } = delivery.answer;
      response.sendDate = false;
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
      response.end(body);
    }
  }
}

/** An answer as far as it gets: the head, and the first half of the body. */
function cutText({ status, headers, body }: Answer, framing: Framing): string {
  const half = body.slice(0, Math.floor(body.length / 2));
  const length = Buffer.byteLength(body);
  if (framing === 'length') return headText(status, { ...headers, 'Content-Length': length }) + half;
  if (framing === 'close') return headText(status, { ...headers, Connection: 'close' }) + half;
  return `${headText(status, { ...headers, 'Transfer-Encoding': 'chunked' })}${length.toString(16)}\r\n${half}`;
}

async function drip(
  socket: Socket,
  { answer, byteEveryMs }: Extract<Delivery, { kind: 'drip' }>,
  clock: Clock,
): Promise<void> {
  const { status, headers, body } = answer;
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const bytes = Buffer.from(body);
  socket.write(headText(status, { ...headers, Connection: 'close', 'Content-Length': bytes.length }));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 1) {
    await clock.sleep(byteEveryMs, gone.signal);
    if (!socket.destroyed) socket.write(bytes.subarray(at, at + 1));
  }
  if (!socket.destroyed) socket.end();
}

/** Status line and headers as RFC 9112, section 2.1, has them. */
export function headText(status: number, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}
