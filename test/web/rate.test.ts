import { expect, test } from 'vitest';
import { createKey } from '../../src/people/keys.ts';
import { openRate } from '../../src/web/limits/rate.ts';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

test('a key has so many requests in a minute from its first one on, whatever others ask for', () => {
  let now = 5000;
  const wait = openRate({ monotonic: () => now }, { requestsMax: 3, perMs: 60_000 });
  expect([wait('a'), wait('a'), wait('a'), wait('b')]).toEqual([0, 0, 0, 0]);
  now += 59_000;
  expect([wait('a'), wait('a'), wait('b')]).toEqual([1000, 1000, 0]);
  now += 1000;
  expect([wait('a'), wait('a'), wait('a'), wait('a')]).toEqual([0, 0, 0, 60_000]);
});

test('a key that asks too often is told when to come again, and nothing is done; people are not counted', async () => {
  const { app, base, person } = await openWebRig(server.url, {
    deps: () => ({ limits: { keyRequestsPerMinuteMax: 2 } }),
  });
  const vera = await person('vera', 'viewer');
  const { bearer } = await createKey(app, { name: 'erp', role: 'maker', actor: 'root' });
  const run = await recordRun(app.ledger, { lines: [2] });
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  const list = () => fetch(`${base}/api/v1/runs`, { headers });
  expect([(await list()).status, (await list()).status]).toEqual([200, 200]);
  const init = { method: 'POST', headers, body: JSON.stringify({ reason: 'test' }) };
  const refused = await fetch(`${base}/api/v1/runs/${run}/pause`, init);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect(await refused.json()).toMatchObject({
    title: 'Too Many Requests',
    detail: expect.stringContaining('2 requests'),
  });
  expect((await app.ledger.runs.read(run))?.state).not.toBe('paused');
  for (let count = 0; count < 5; count++) expect((await vera.get('/runs')).status).toBe(200);
});
