import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { openRedisCheck } from '../../src/web/limits/redis-answers.ts';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';

const redis = await useTestRedis();

test('what workers see to be away stands on each page and in the API, for those who have signed in', async () => {
  const rig = await openApiRig(redis.url);
  const { ledger } = rig.app;
  const anna = await rig.person('anna', 'maker');
  const page = async (path: string, headers = {}): Promise<string> =>
    await (await fetch(`${rig.base}${path}`, { headers })).text();

  await recordRun(ledger, { lines: [2, 3] });
  const since = Date.UTC(2026, 3, 1);
  await ledger.outages.note([{ what: 'service', name: 'The payments service (<b>)', since }]);
  const words = 'The payments service (&lt;b>) has not answered since 2026-04-01T00:00:00.000Z';
  const shown = await page('/runs', anna.headers);
  expect(shown).toContain(words);
  expect(shown).toContain('0 of 2 rows were sent, 2 wait. payrun keeps trying and goes on by itself.');
  expect((await anna.call('GET', '/status')).json).toMatchObject({
    outages: [{ what: 'service', name: 'The payments service (<b>)', since: '2026-04-01T00:00:00.000Z' }],
    paying: { rows: 2, sent: 0, inDoubt: 0, waiting: 2 },
  });
  expect(await page('/sign-in')).not.toContain('has not answered');
  await ledger.outages.forget();
  expect(await page('/runs', anna.headers)).not.toContain('has not answered');
});

test('pages and the API say within seconds that Redis does not answer, and answer again once it does', async () => {
  const own = await useTestRedis();
  onTestFinished(() => own.stop());
  const rig = await openApiRig(own.url);
  const anna = await rig.person('anna', 'maker');
  const get = async (path: string): Promise<{ status: number; text: string }> => {
    // Far less than the 30 s that a command may wait.
    const response = await fetch(`${rig.base}${path}`, { headers: anna.headers, signal: AbortSignal.timeout(10_000) });
    return { status: response.status, text: await response.text() };
  };
  process.kill(own.pid, 'SIGSTOP');
  try {
    const answers = await Promise.all(['/', '/runs', '/sign-in', '/api/v1/status'].map(get));
    for (const { status, text } of answers) {
      expect(status).toBe(503);
      expect(text).toContain('Redis, which holds the ledger, has not answered since 20');
    }
    expect((await get('/healthz')).status).toBe(204);
  } finally {
    process.kill(own.pid, 'SIGCONT');
  }
  await expect.poll(async () => (await get('/runs')).status, { timeout: 60_000, interval: 500 }).toBe(200);
});

test('the time since which Redis does not answer stays that of the first question of an outage', async () => {
  let at = Date.UTC(2026, 3, 1);
  const reads: Promise<[]>[] = [Promise.reject(new Error('Connection is closed.')), new Promise(() => {})];
  const clock = { now: () => at, monotonic: () => at, sleep: async () => {} };
  const ledger = { outages: { read: () => reads.shift() ?? Promise.resolve([]) } };
  const check = openRedisCheck({ clock, ledger: ledger as unknown as App['ledger'] });
  await expect(check()).rejects.toThrow('Connection is closed.');
  at += 10_000;
  await expect(check()).rejects.toThrow('has not answered since 2026-04-01T00:00:00.000Z');
});
