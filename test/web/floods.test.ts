import { expect, test, vi } from 'vitest';
import { WEB_LIMITS } from '../../src/web/limits/limits.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { addresses, keepSilent, statusOf } from '../hostile/sockets.ts';
import { selfSigned } from '../service/certificates.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 300_000 });

const server = await useTestRedis();

const ADDRESSES = addresses(26);
/** Below what one address may have at once; all of them together are more than the server takes. */
const EACH = 2 * WEB_LIMITS.strangersPerAddressMax - 20;
/** What docs/security.md says that the server takes. */
const MOST = 4400;

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
  const ask = async (path: string, headers = {}) => await statusOf({ port, isTls: true }, path, headers);
  const count = async () =>
    await new Promise<number>((resolve) => {
      web.server.getConnections((_error, open) => resolve(open));
    });
  await keepSilent(port, EACH, ADDRESSES);
  await expect.poll(count, { timeout: 60_000, interval: 100 }).toBe(MOST);
  for (let round = 0; round < 10; round++) {
    expect(await ask('/healthz')).toBe(204);
    expect(await ask('/sign-in')).toBe(200);
    expect(await ask('/runs', { cookie })).toBe(200);
  }
});
