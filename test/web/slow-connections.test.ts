import { describe, expect, test, vi } from 'vitest';
import { WEB_LIMITS, type WebLimits } from '../../src/web/limits/limits.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { openStranger } from '../hostile/sockets.ts';
import { selfSigned } from '../service/certificates.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 120_000 });

const server = await useTestRedis();

async function openRig(limits: Partial<WebLimits>, isEncrypted: boolean) {
  const { cert: certificate, key } = selfSigned('localhost');
  const settings = isEncrypted ? { tls: { certificate, key } } : {};
  const rig = await openWebRig(server.url, { settings, deps: () => ({ limits }) });
  const port = Number(new URL(rig.base).port);
  const open = async (isShaken = isEncrypted) => await openStranger(port, { isShaken });
  return { ...rig, host: `127.0.0.1:${port}`, open };
}

describe.each([
  ['plain', false],
  ['encrypted', true],
])('a %s connection', (_what, isEncrypted) => {
  test('over which nothing is ever said ends', async () => {
    const unshaken = await openRig({ handshakeMsMax: 300, headersMsMax: 300 }, isEncrypted);
    await expect((await unshaken.open(false)).closed).resolves.toBeDefined();
    const { open } = await openRig({ headersMsMax: 300 }, isEncrypted);
    await expect((await open()).closed).resolves.toBeDefined();
  });

  test('over which headers come slowly ends', async () => {
    const { open } = await openRig({ headersMsMax: 300 }, isEncrypted);
    const { socket, closed } = await open();
    socket.write('GET /runs HTTP/1.1\r\nHost: ');
    await expect(closed).resolves.toBeDefined();
  });

  test('over which a sign-in comes slowly ends; health is told, and who has signed in is answered', async () => {
    const { open, host, person } = await openRig({ bodyMsMax: 300 }, isEncrypted);
    const cookie = isEncrypted ? '' : ((await person('anna', 'viewer')).cookies.get(SESSION_COOKIE) ?? '');
    const form =
      'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nSec-Fetch-Site: same-origin';
    const slow = await Promise.all(Array.from({ length: 6 }, () => open()));
    for (const { socket } of slow) socket.write(`POST /sign-in HTTP/1.1\r\nHost: ${host}\r\n${form}\r\n\r\nname=a`);
    for (const path of ['/healthz', ...(cookie === '' ? [] : ['/runs'])]) {
      const one = await open();
      one.socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${SESSION_COOKIE}=${cookie}\r\nConnection: close\r\n\r\n`,
      );
      await one.closed;
      expect(one.answer()).toMatch(path === '/healthz' ? /^HTTP\/1\.1 20/ : /^HTTP\/1\.1 200 /);
    }
    await Promise.all(slow.map(({ closed }) => closed));
  });
});

test('a file of somebody who may hand it in ends with its connection at its limit, although it comes at its rate', async () => {
  const slowly = { bodyMsMax: 100, headersMsMax: 300, fileBytesMin: 1, fileBytesWithinMs: 600_000 };
  const handIn = async (limits: Partial<WebLimits>) => {
    const { open, host, session } = await openRig({ ...slowly, ...limits }, false);
    const cookie = await session('anna', 'maker');
    const one = await open();
    one.socket.write(
      `POST /upload HTTP/1.1\r\nHost: ${host}\r\nCookie: ${SESSION_COOKIE}=${cookie}\r\nSec-Fetch-Site: same-origin\r\n` +
        'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\n\r\n--x\r\n',
    );
    return one;
  };
  const long = await handIn({});
  const began = performance.now();
  const short = await handIn({ requestMsMax: 1500 });
  await short.closed;
  expect(short.answer()).toMatch(/^HTTP\/1\.1 408 /);
  expect(performance.now() - began).toBeGreaterThan(1500);
  expect([long.socket.destroyed, long.answer()]).toEqual([false, '']);
});

test('what is in force is what docs/web.md says: 15 minutes for a file', () => {
  expect(WEB_LIMITS.requestMsMax).toBe(15 * 60_000);
});

test('a sign-in is at most 16 KB long', async () => {
  const { visitor } = await openRig({}, false);
  const one = visitor();
  await one.get('/sign-in');
  for (const path of ['/sign-in', '/password', '/sign-out']) {
    const { status } = await one.post(path, { name: 'x'.repeat(17_000) });
    expect({ path, status }).toEqual({ path, status: 413 });
  }
});
