import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A tunnel that was asked for. Doing nothing leaves the asker waiting. */
interface AskedTunnel {
  /** From 1. */
  readonly number: number;
  /** Opens the tunnel; every name leads to the loopback address. `onOpen` runs once it stands. */
  readonly pass: (onOpen?: () => void) => void;
  /** Raw bytes, for all else that a proxy may say. */
  readonly say: (text: string) => void;
  readonly cut: () => void;
}

export interface ConnectProxy {
  readonly url: string;
  /** What was asked for, in order; anything but a CONNECT is recorded as its method and address. */
  readonly asked: readonly { readonly target: string; readonly headers: IncomingMessage['headers'] }[];
  /** Connections to it that are open. */
  readonly open: number;
  close(): Promise<void>;
}

/** A forward proxy on a free port of the loopback address that does with each CONNECT what a test wants. */
export async function startConnectProxy(
  handler: (tunnel: AskedTunnel) => void,
  tls?: { readonly key: string; readonly cert: string },
): Promise<ConnectProxy> {
  const asked: { target: string; headers: IncomingMessage['headers'] }[] = [];
  const sockets = new Set<Socket>();
  const server = tls === undefined ? createServer() : createSecureServer(tls);
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', ({ method, url, headers }, response) => {
    asked.push({ target: `${method} ${url}`, headers });
    response.writeHead(500).end();
  });
  server.on('connect', ({ url = '', headers }, client) => {
    asked.push({ target: url, headers });
    // Read on, so that the end of an asker who gave up is seen; none speaks before the tunnel stands.
    client.once('end', () => client.end()).resume();
    handler({
      number: asked.length,
      pass: (onOpen) => {
        const service = connect(Number.parseInt(url.slice(url.lastIndexOf(':') + 1), 10), '127.0.0.1');
        service.on('error', () => client.destroy()).once('close', () => client.destroy());
        client.once('close', () => service.destroy());
        service.once('connect', () => {
          client.write('HTTP/1.1 200 Connection established\r\n\r\n');
          client.pipe(service).pipe(client);
          onOpen?.();
        });
      },
      say: (text) => client.write(text),
      cut: () => client.destroy(),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    asked,
    get open() {
      return sockets.size;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
