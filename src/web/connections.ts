import type { Socket } from 'node:net';
import { Problem } from './problem.ts';
import type { Web } from './web.ts';

/** Open connections of all people and programs together; each who watches a run holds one (runs/stream-limits.ts). */
const CONNECTIONS_MAX = 4000;
/** Those beyond it that are told so; of still more nothing is read. */
const TOLD_CONNECTIONS_MAX = 400;
const TRY_AGAIN_S = 30;

/**
 * Bounds the connections to the server. Who is connected stays so; a request over one connection too many is answered with
 * a Problem (503), and that connection ends. Whether payrun is alive is told over each.
 */
export function limitConnections(
  web: Web,
  { isHttps, most = CONNECTIONS_MAX }: { isHttps: boolean; most?: number },
): void {
  const beyond = new WeakSet<object>();
  let open = 0;
  web.server.maxConnections = most + TOLD_CONNECTIONS_MAX;
  web.server.on(isHttps ? 'secureConnection' : 'connection', (socket: Socket) => {
    open++;
    if (open > most) beyond.add(socket);
    socket.once('close', () => open--);
  });
  web.addHook('onRequest', async ({ raw, routeOptions }, reply) => {
    if (!beyond.has(raw.socket)) return;
    reply.header('connection', 'close');
    if (routeOptions.url === '/healthz') return;
    reply.header('retry-after', TRY_AGAIN_S);
    throw new Problem(
      503,
      'Too many connections are open here.',
      'Close pages that you do not need, and try again in a while.',
    );
  });
}
