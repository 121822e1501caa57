import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { JobDeps } from '../../jobs/deps.ts';
import { openQueues } from '../../jobs/open.ts';
import { doScheduled, type ScheduledActs, setWakers, sweepSchedules, tickSchedule } from '../../jobs/schedules.ts';
import { systemClock } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import type { Act } from '../../src/schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../src/schedules/set.ts';
import { newLedger, type TestLedger, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';

const DAY_MS = 86_400_000;
/** Its times are a day apart, so that none comes while a test runs. */
const DAILY = { cron: '0 0 * * *', zone: 'UTC', act: { kind: 'start' } as Act, windowMs: DAY_MS };

const server = await useTestRedis();
const arming = await useArming(server);
let connection: Redis;
let desk: TestLedger;
let deps: JobDeps;

beforeAll(async () => {
  connection = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'jobs' });
});
afterAll(async () => {
  connection.disconnect();
});
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  const jobs = openQueues(connection, `${desk.prefix}:bull`);
  onTestFinished(() => jobs.close());
  const config = { inbox: { allowed: { folders: ['/srv'], hosts: [] } } };
  deps = { app: { ledger: desk.ledger, jobs, clock: systemClock, log: silentLog, config } } as unknown as JobDeps;
});

const set = (name: string, act: Act = DAILY.act) => setSchedule(desk, { ...DAILY, act }, { name, actor: 'anna' });

/** As if the schedule had planned this time, which has come. */
async function plan(name: string): Promise<number> {
  const planned = Math.floor((await desk.ledger.schedules.read()).now / DAY_MS) * DAY_MS;
  await desk.redis.hset(`${desk.prefix}:schedule:${name}`, 'next', planned);
  return planned;
}

const waiting = async (): Promise<string[]> => {
  const ids = await server.redis.lrange(`${desk.prefix}:bull:scheduled:wait`, 0, -1);
  return ids.toSorted();
};

describe('a worker that starts', () => {
  test('makes the job schedulers what the ledger says, and takes away those of schedules that are gone', async () => {
    await set('morning');
    await set('evening');
    await deps.app.jobs.scheduleTimers.set('gone', DAILY);
    await setWakers(deps);
    await setWakers(deps);
    expect((await deps.app.jobs.scheduleTimers.names()).toSorted()).toEqual(['evening', 'morning']);
  });

  test('starts also where a schedule is not one that it knows', async () => {
    await set('morning');
    await desk.redis.hset(`${desk.prefix}:schedules`, 'morning', '{}');
    const seal = desk.ledger.seals.schedule({ name: 'morning', definition: '{}', setBy: 'anna' });
    await desk.redis.hset(`${desk.prefix}:schedule:morning`, { seal, setBy: 'anna' });
    await expect(setWakers(deps)).resolves.toBeUndefined();
  });
});

describe('a time that has come', () => {
  test('gets one job, whether a waker or the sweeper sees it, and however often', async () => {
    await set('morning');
    const planned = await plan('morning');
    await Promise.all([
      sweepSchedules(deps),
      tickSchedule(deps, { name: 'morning' }),
      sweepSchedules(deps),
      tickSchedule(deps, { name: 'morning' }),
    ]);
    expect(await waiting()).toEqual([`scheduled-morning-${planned}`]);
    // Lost, as a queue may be: it comes again, but not while somebody may have it in hand.
    await server.redis.del(
      `${desk.prefix}:bull:scheduled:wait`,
      `${desk.prefix}:bull:scheduled:scheduled-morning-${planned}`,
    );
    await sweepSchedules(deps);
    expect(await waiting()).toEqual([]);
    await desk.redis.zadd(desk.keys.ticks, 1, `morning ${planned}`);
    await sweepSchedules(deps);
    expect(await waiting()).toEqual([`scheduled-morning-${planned}`]);
  });

  test('takes the waker of a schedule that is gone away', async () => {
    await set('morning');
    await setWakers(deps);
    await removeSchedule(desk, { name: 'morning', actor: 'bob' });
    await tickSchedule(deps, { name: 'morning' });
    expect(await deps.app.jobs.scheduleTimers.names()).toEqual([]);
    expect(await waiting()).toEqual([]);
  });

  test('does not keep the sweeper from its other work when the schedules are out of order', async () => {
    await desk.redis.set(`${desk.prefix}:schedules`, 'no hash');
    await expect(sweepSchedules(deps)).resolves.toBeUndefined();
  });
});

describe('what is done for a schedule', () => {
  const done: string[] = [];
  const acts: ScheduledActs = {
    inbox: async (_deps, { dir, stages }, actor) =>
      void done.push(`inbox ${dir}${stages === undefined ? '' : ` in ${stages.sizes}`} by ${actor}`),
    start: async (_deps, { actor }) => void done.push(`start by ${actor}`),
    purge: async (_deps, actor) => void done.push(`purge by ${actor}`),
  };

  test.each<[Act, string[]]>([
    [{ kind: 'inbox', dir: '/srv/in' }, ['inbox /srv/in by schedule morning of anna']],
    [
      { kind: 'inbox', dir: '/srv/in', stages: { sizes: '10,rest', goesOnIfPaid: true } },
      ['inbox /srv/in in 10,rest by schedule morning of anna'],
    ],
    [{ kind: 'start' }, ['start by schedule morning of anna']],
    [{ kind: 'purge' }, ['purge by schedule morning of anna']],
    [{ kind: 'look-up' }, []],
  ])('is what it says: %j', async (act, expected) => {
    done.length = 0;
    await set('morning', act);
    const planned = await plan('morning');
    await sweepSchedules(deps);
    await doScheduled(deps, { name: 'morning', planned }, acts);
    expect(done).toEqual(expected);
    expect(await desk.ledger.schedules.open()).toEqual([]);
  });

  test('is nothing for an inbox that may not lie where it does, however its schedule came there', async () => {
    done.length = 0;
    await set('morning', { kind: 'inbox', dir: '/etc' });
    const planned = await plan('morning');
    await sweepSchedules(deps);
    await doScheduled(deps, { name: 'morning', planned }, acts);
    expect(done).toEqual([]);
  });
});
