import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { WEB_LIMITS } from '../../src/web/limits/limits.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { selfSigned } from '../service/certificates.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 300_000 });

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});

const ADDRESSES = 26;
/** Below what one address may have at once; all of them together are more than the server takes. */
const EACH = 2 * WEB_LIMITS.strangersPerAddressMax - 20;
const AGAIN_MS = 100;
/** What docs/security.md says that the server takes. */
const MOST = 4400;

/** Connections over which nothing is said, each opened again as soon as it has ended. */
async function flood(port: number): Promise<void> {
  let isOver = false;
  const open: Set<Socket> = new Set();
  onTestFinished(() => {
    isOver = true;
    for (const socket of open) socket.destroy();
  });
  const connectAgain = async (localAddress: string): Promise<void> => {
    if (isOver) return;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      open.delete(socket);
      setTimeout(() => void connectAgain(localAddress), AGAIN_MS);
    });
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  };
  // No more at a time than wait to be taken.
  for (let one = 0; one < EACH; one++) {
    await Promise.all(Array.from({ length: ADDRESSES }, (_, address) => connectAgain(`127.0.1.${address + 1}`)));
  }
}

test('idle connections from many addresses, opened again whenever they end, keep out neither health checks, nor whoever signs in, nor people who have', async () => {
  const { cert: certificate, key } = selfSigned('localhost');
  const { base, hosts, session, web } = await openWebRig(server.url, {
    settings: { tls: { certificate, key } },
    // All of them have come just now, so that none has had its time.
    deps: (app) => ({ app: { ...app, clock: { ...app.clock, monotonic: () => 0 } } }),
  });
  hosts.add(new URL(base).host);
  const cookie = `${SESSION_COOKIE}=${await session('anna', 'viewer')}`;
  const port = Number(new URL(base).port);
  const ask = async (path: string, headers = {}): Promise<number | undefined> => {
    const asked = get({ host: '127.0.0.1', port, path, agent: false, rejectUnauthorized: false, headers });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode;
  };
  const count = async () =>
    await new Promise<number>((resolve) => {
      web.server.getConnections((_error, open) => resolve(open));
    });
  await flood(port);
  await expect.poll(count, { timeout: 60_000, interval: 100 }).toBe(MOST);
  for (let round = 0; round < 10; round++) {
    expect(await ask('/healthz')).toBe(204);
    expect(await ask('/sign-in')).toBe(200);
    expect(await ask('/runs', { cookie })).toBe(200);
  }
});
