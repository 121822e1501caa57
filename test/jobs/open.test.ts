import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { JOB_NAMES, type JobName } from '../../jobs/catalog.ts';
import { shortenLocks } from '../../jobs/locks.ts';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { freshPrefix, startTestRedis, useTestRedis } from '../support/redis.ts';

const RUN = '20260131-k3f9xq';

const server = await useTestRedis();
let connection: Redis;
let prefix: string;
let jobs: JobQueues;
/** Looks at a queue from outside. */
let queues: Map<JobName, Queue>;

beforeAll(async () => {
  connection = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'jobs' });
});
afterAll(async () => {
  connection.disconnect();
});
beforeEach(() => {
  prefix = `${freshPrefix()}:bull`;
  jobs = openQueues(connection, prefix);
  queues = new Map(JOB_NAMES.map((name) => [name, new Queue(name, { connection: server.redis, prefix })]));
});
afterEach(async () => {
  await Promise.all([...queues.values()].map((queue) => queue.close()));
  await jobs.close();
});

function queueOf(name: JobName): Queue {
  const queue = queues.get(name);
  if (queue === undefined) throw new Error(`no queue ${name}`);
  return queue;
}

async function idsOf(name: JobName): Promise<string[]> {
  const found = await queueOf(name).getJobs(['waiting', 'delayed', 'prioritized', 'active', 'completed', 'failed']);
  return found.map(({ id }) => id ?? '').toSorted();
}

/** Works on all jobs of a name until none is left; gives their data. */
async function workOff(name: JobName, process: (data: unknown) => void = () => {}): Promise<unknown[]> {
  const seen: unknown[] = [];
  const own = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'jobs' });
  const worker = new Worker(
    name,
    async ({ data }) => {
      seen.push(data);
      process(data);
    },
    { connection: own, prefix },
  );
  worker.on('error', () => {});
  await expect.poll(async () => await idsOf(name)).toEqual([]);
  await worker.close();
  own.disconnect();
  return seen;
}

describe('a job', () => {
  test('is there once, however often and by however many it is added', async () => {
    const payload = { runId: RUN, from: 2, to: 2, stamp: '1' };
    const others = openQueues(connection, prefix);
    await Promise.all([jobs, others, jobs].map((some) => some.add('pay', [{ id: 'pay-1', payload }])));
    await jobs.add('pay', [
      { id: 'pay-1', payload },
      { id: 'pay-1', payload },
      { id: 'pay-2', payload },
    ]);
    await others.close();
    expect(await idsOf('pay')).toEqual(['pay-1', 'pay-2']);
  });

  test('keeps the payload with which it was added first', async () => {
    await jobs.add('pay', [{ id: 'pay-1', payload: { runId: RUN, from: 2, to: 2, stamp: 'first' } }]);
    await jobs.add('pay', [{ id: 'pay-1', payload: { runId: RUN, from: 2, to: 2, stamp: 'second' } }]);
    expect(await workOff('pay')).toEqual([{ runId: RUN, from: 2, to: 2, stamp: 'first' }]);
  });

  test('may come again under its id once it was worked off', async () => {
    const job = { id: `feed-${RUN}`, payload: { runId: RUN } };
    for (let round = 0; round < 3; round++) {
      await jobs.add('feed', [job]);
      expect(await workOff('feed')).toEqual([{ runId: RUN }]);
    }
  });

  test('may come again under its id after it failed or was removed by hand', async () => {
    const job = { id: 'look-up-1', payload: { runId: RUN, lines: [2] } };
    await jobs.add('look-up', [job]);
    await workOff('look-up', () => {
      throw new Error('a fault');
    });
    await jobs.add('look-up', [job]);
    expect(await idsOf('look-up')).toEqual(['look-up-1']);
    await queueOf('look-up').remove('look-up-1');
    await jobs.add('look-up', [job]);
    expect(await workOff('look-up')).toEqual([{ runId: RUN, lines: [2] }]);
  });

  test('leaves nothing behind when it was worked off', async () => {
    await jobs.add('track', [{ id: 'track-1', payload: { runId: RUN, lines: [2, 3] } }]);
    await workOff('track');
    expect(await queueOf('track').getJobCounts()).toMatchObject({ completed: 0, failed: 0, waiting: 0, delayed: 0 });
  });

  test('is done before those of a higher rank, and after those of its own that were there first', async () => {
    const ranks = [2, 0, 1, 0, 2, 1];
    await jobs.add(
      'feed',
      ranks.map((rank, at) => ({ id: `feed-${at}`, payload: { runId: String(at) }, rank })),
    );
    const { waiting } = (await jobs.depths(Date.now())).find(({ job }) => job === 'feed') ?? {};
    expect(waiting).toBe(6);
    expect(await workOff('feed')).toEqual(['1', '3', '2', '5', '0', '4'].map((runId) => ({ runId })));
  });

  test('waits for its delay where it has one', async () => {
    await jobs.add('report', [{ id: 'report-1', payload: { runId: RUN }, delayMs: 60_000 }]);
    expect(await queueOf('report').getJobCounts('waiting', 'delayed')).toEqual({ waiting: 0, delayed: 1 });
    const [job] = await queueOf('report').getDelayed();
    expect(job?.opts).toMatchObject({ delay: 60_000, attempts: 5, backoff: { type: 'exponential', delay: 2000 } });
  });

  test('shows nothing but run, lines and its own bookkeeping', async () => {
    await jobs.add('pay', [{ id: 'pay-1', payload: { runId: RUN, from: 2, to: 9, stamp: '1' } }]);
    const fields = await server.redis.hgetall(`${prefix}:pay:pay-1`);
    expect(JSON.parse(fields['data'] ?? '')).toEqual({ runId: RUN, from: 2, to: 9, stamp: '1' });
  });
});

describe('many jobs', () => {
  test('of one call are all there', async () => {
    const many = Array.from({ length: 1203 }, (_value, index) => ({
      id: `pay-${RUN}-${index + 2}`,
      payload: { runId: RUN, from: index + 2, to: index + 2, stamp: '' },
    }));
    await jobs.add('pay', many);
    await jobs.add('pay', many);
    expect(await queueOf('pay').getWaitingCount()).toBe(1203);
  });

  test('none are none', async () => {
    await jobs.add('pay', []);
    expect(await idsOf('pay')).toEqual([]);
  });
});

describe('waking a run', () => {
  test('asks for its feed, once while that waits', async () => {
    await Promise.all([jobs.wake(RUN), jobs.wake(RUN), jobs.wake('20260131-other2')]);
    expect(await idsOf('feed')).toEqual(['feed-20260131-k3f9xq', 'feed-20260131-other2']);
    expect(await workOff('feed')).toHaveLength(2);
  });
});

test('all keys of the queues lie under the prefix that was given, in one slot of a cluster', async () => {
  const before = new Set(await server.redis.keys('*'));
  await jobs.wake(RUN);
  await jobs.add('sweep', [{ id: 'sweep-1', payload: { period: 1 } }]);
  const added = (await server.redis.keys('*')).filter((key) => !before.has(key));
  expect(added.length).toBeGreaterThan(0);
  expect(added.filter((key) => !key.startsWith(`${prefix}:`))).toEqual([]);
});

test('closing leaves the connection to whoever opened it', async () => {
  const own = openQueues(connection, `${freshPrefix()}:bull`);
  await own.wake(RUN);
  await own.close();
  expect(await connection.ping()).toBe('PONG');
});

test('the job of a worker that died is not kept from others by a lock that the clock of Redis made longer', async () => {
  await jobs.add('watch', [{ id: 'watch-1', payload: { runId: RUN } }]);
  const died = new Worker('watch', undefined, { connection, prefix, autorun: false });
  expect((await died.getNextJob('its token'))?.id).toBe('watch-1');
  const locks = [`${prefix}:watch:watch-1:lock`, `${prefix}:watch:stalled-check`];
  await server.redis.set(locks[1] ?? '', '1');
  for (const lock of locks) expect(await server.redis.pexpire(lock, 3_600_000)).toBe(1);
  await shortenLocks(jobs);
  for (const lock of locks) expect(await server.redis.pttl(lock)).toBeLessThanOrEqual(8000);
  await died.close();
});

test('who asks which workers live is not kept waiting by a Redis that is gone, though what goes to the queues is', async () => {
  const gone = await startTestRedis();
  onTestFinished(() => gone.stop());
  const address = { socket: gone.socket };
  const waiting = await connectRedis(address, { name: 'test', kind: 'jobs' });
  const commands = await connectRedis(address, { name: 'test', kind: 'commands', commandTimeoutMs: 200 });
  onTestFinished(() => [waiting, commands].forEach((redis) => redis.disconnect()));
  const asked = openQueues(waiting, `${freshPrefix()}:bull`, commands);
  expect(await asked.workers()).toEqual([]);
  await gone.stop();
  await expect(asked.workers()).rejects.toThrow('Command timed out');
});
