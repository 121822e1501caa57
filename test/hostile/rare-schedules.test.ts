import { expect, test } from 'vitest';
import { setSchedule } from '../../src/schedules/set.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from '../web/rig.ts';
import { longestTurnMs } from './turns.ts';

/** One of them may take a fifth of a second, all of them two seconds. */
const TURN_MS_MAX = 600;
const SCHEDULES = 20;

const server = await useTestRedis();

test('schedules that come once in 28 years keep nobody else waiting who only looks at something else', async () => {
  const { app, person } = await openWebRig(server.url);
  const rare = { cron: '0 0 * 2 5#5', zone: 'Europe/Berlin', act: { kind: 'start' }, windowMs: 60_000 } as const;
  for (let count = 0; count < SCHEDULES; count++) {
    await setSchedule(app, rare, { name: `rare-${count}`, actor: 'carl' });
  }
  const vera = await person('vera', 'viewer');
  for (const path of ['/schedules', '/schedules.csv', '/api/v1/schedules']) {
    const { value, longestMs } = await longestTurnMs(vera.get(path));
    expect(value.status).toBe(200);
    expect({ path, isQuick: longestMs < TURN_MS_MAX, longestMs }).toMatchObject({ path, isQuick: true });
  }
});
