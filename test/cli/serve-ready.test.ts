import { expect, test, vi } from 'vitest';
import { freePort } from '../browser/site.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const redis = await useTestRedis();
const processes = useProcesses();

test('serve says that it is ready once its worker is, and answers before', async () => {
  const cwd = processes.folder();
  const env = { REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: `${cwd}/data` };
  const ports = [await freePort(), await freePort()];
  const serve = (port = 0) =>
    processes.start(['serve', '--with-worker', '--sandbox', '--port', String(port)], { cwd, env });
  const first = serve(ports[0]);
  await first.said(' is ready: ');
  // Its worker waits while another process runs the sandbox.
  const second = serve(ports[1]);
  const ready = second.said(`payrun serve ${second.pid} is ready: `).then(() => 'ready');
  const status = async (): Promise<number> => (await fetch(`http://127.0.0.1:${ports[1]}/healthz`)).status;
  await vi.waitFor(async () => expect(await status()).toBe(204), { timeout: 60_000, interval: 100 });
  expect(await Promise.race([ready, Promise.resolve('not yet')])).toBe('not yet');
  first.kill('SIGTERM');
  await ready;
});
