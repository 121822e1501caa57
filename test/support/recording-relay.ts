import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A request as it went over the wire. */
export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Relay {
  readonly url: string;
  /** The whole requests so far, connection by connection. */
  readonly requests: () => RelayedRequest[];
  close(): Promise<void>;
}

/** Stands in front of a service on loopback, passes every byte on, and keeps what the client sent. */
export async function startRelay(target: string): Promise<Relay> {
  const { hostname, port } = new URL(target);
  const sent: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const chunks: Buffer[] = [];
    sent.push(chunks);
    const upstream = connect(Number.parseInt(port, 10), hostname);
    client.on('data', (chunk: Buffer) => chunks.push(chunk));
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${ownPort}`,
    requests: () => sent.flatMap((chunks) => requestsOf(Buffer.concat(chunks))),
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A connection's requests, which come one after the other, each with its length or without a body (RFC 9112 section 6). */
function requestsOf(bytes: Buffer): RelayedRequest[] {
  const requests: RelayedRequest[] = [];
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return requests;
    const [start = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const bodyStart = headEnd + 4;
    const end = bodyStart + Number.parseInt(headers['content-length'] ?? '0', 10);
    if (end > bytes.length) return requests;
    const [method = '', path = ''] = start.split(' ');
    requests.push({ method, path, headers, body: bytes.toString('utf8', bodyStart, end) });
    at = end;
  }
}
