import { describe, expect, test } from 'vitest';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';
import { createKey } from '../../src/people/keys.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig, type Visitor } from './rig.ts';

const server = await useTestRedis();

const DAY_MS = 86_400_000;

/** What heads the lines of the list. */
async function headsOf(visitor: Visitor, path: string): Promise<string[]> {
  const { status, text } = await visitor.get(path);
  expect([path, status]).toEqual([path, 200]);
  return [...text.matchAll(/<th scope="row"[^>]*>([^<]+)</g)].map(([, words = '']) => words);
}

describe('a list of what operators set', () => {
  test('of users is sorted by name, role and when they were added, up and down', async () => {
    const { person } = await openWebRig(server.url);
    const ada = await person('zoe', 'admin');
    await person('bob', 'viewer');
    await person('carl', 'checker');
    expect(await headsOf(ada, '/users')).toEqual(['bob', 'carl', 'zoe']);
    expect(await headsOf(ada, '/users?sort=-name')).toEqual(['zoe', 'carl', 'bob']);
    expect(await headsOf(ada, '/users?sort=role')).toEqual(['bob', 'carl', 'zoe']);
    expect(await headsOf(ada, '/users?sort=added')).toEqual(['zoe', 'bob', 'carl']);
    expect((await ada.get('/users?sort=nothing')).status).toBe(400);
  });

  test('of keys is sorted by name and by their end; those without one come last, whichever way', async () => {
    const { app, person } = await openWebRig(server.url);
    const ada = await person('ada', 'admin');
    await createKey(app, { name: 'late', role: 'maker', actor: 'ada', lifeMs: 9 * DAY_MS });
    await createKey(app, { name: 'early', role: 'maker', actor: 'ada', lifeMs: 2 * DAY_MS });
    await createKey(app, { name: 'always', role: 'maker', actor: 'ada' });
    expect(await headsOf(ada, '/keys')).toEqual(['always', 'early', 'late']);
    expect(await headsOf(ada, '/keys?sort=ends')).toEqual(['early', 'late', 'always']);
    expect(await headsOf(ada, '/keys?sort=-ends')).toEqual(['late', 'early', 'always']);
  });

  test('of schedules is sorted by name and by when they are due, in pages that keep the order', async () => {
    const { app, person } = await openWebRig(server.url);
    for (let n = 10; n < 27; n++) {
      const asked = { cron: `0 0 ${40 - n} 12 *`, zone: 'UTC', act: { kind: 'start' } as const, windowMs: 60_000 };
      await setSchedule(app, await parseSchedule(asked, app.config), { name: `s-${n}`, actor: 'test' });
    }
    const anna = await person('anna', 'viewer');
    const names = Array.from({ length: 17 }, (_, at) => `s-${10 + at}`);
    expect(await headsOf(anna, '/schedules')).toEqual(names.slice(0, 15));
    expect(await headsOf(anna, '/schedules?page=2')).toEqual(names.slice(15));
    expect(await headsOf(anna, '/schedules?sort=-name')).toEqual(names.toReversed().slice(0, 15));
    expect((await anna.get('/schedules?sort=-name')).text).toContain('href="/schedules?sort=-name&amp;page=2"');
  });

  test('of the blocked has pages of 25', async () => {
    const { app, person } = await openWebRig(server.url);
    for (let n = 10; n < 40; n++) {
      await blockBeneficiary(app, `9a6ee577-1d2f-42c8-a8de-fe56e6868a${n}`, { actor: 'anna', reason: 'a test' });
    }
    const anna = await person('anna', 'viewer');
    const count = async (page: number): Promise<number> =>
      [...(await anna.get(`/block-list?page=${page}`)).text.matchAll(/<th scope="row">/g)].length;
    expect([await count(1), await count(2), await count(3)]).toEqual([25, 5, 5]);
  });
});
