import { expect, test } from 'vitest';
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
