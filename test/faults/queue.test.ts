import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { openQueues } from '../../jobs/open.ts';
import { readValues } from '../support/records.ts';
import { DEPTH } from './depth.ts';
import { connection } from './redis-process.ts';
import { intentsOf, SLOWLY } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';

const QUEUE = '{payrun}:bull';

/** Further pay jobs for each line of a run, so many under ids of their own. */
async function repeated(rig: Rig, runId: string, times: number): Promise<void> {
  const queues = openQueues(connection(rig.redis.socket), QUEUE);
  const lines = Array.from({ length: rig.rows }, (_, index) => index + 2);
  for (let time = 1; time <= times; time++) {
    const jobs = lines.map((line) => ({
      id: `again-${time}-${runId}-${line}`,
      payload: { runId, from: line, to: line, stamp: '1' },
    }));
    await queues.add('pay', jobs);
  }
  await queues.close();
  queues.redis.disconnect();
}

/** No attempt of a payout was armed twice: each has one line in the logs of all workers, and a counter of its own. */
async function armedOnce(rig: Rig): Promise<void> {
  const intents = intentsOf(rig);
  expect(intents.length).toBeGreaterThanOrEqual(rig.rows);
  for (const name of [['line', 'attempt'], ['armingCounter'], ['quoteId']]) {
    const own = intents.map((intent) => name.map((field) => intent[field]).join(' '));
    expect(new Set(own).size).toBe(own.length);
  }
}

faultRow({
  ids: ['F6'],
  fault: 'each payout comes five times more, and jobs at work are put into the queue again by hand',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    const runId = await rig.submit();
    await repeated(rig, runId, 5);
    await rig.startWorker('one');
    await rig.booked(8);
    const { client } = rig.redis;
    for (const id of await client.lrange(`${QUEUE}:pay:active`, 0, -1)) {
      await client.lrem(`${QUEUE}:pay:active`, 1, id);
      await client.rpush(`${QUEUE}:pay:wait`, id);
    }
  },
  after: armedOnce,
});

faultRow({
  ids: ['F7'],
  fault: 'two workers are given each payout at once',
  tries: { short: 1, long: 1 },
  rows: DEPTH === 'short' ? 100 : 1000,
  switches: { completesAfterMs: 100 },
  times: { quoteLifeMs: 5000 },
  async body(rig) {
    const runId = await rig.submit();
    await Promise.all([rig.startWorker('one'), rig.startWorker('two'), repeated(rig, runId, 2)]);
    await rig.booked(rig.rows);
  },
  after: armedOnce,
});

faultRow({
  ids: ['F8'],
  fault: 'the jobs of a worker that was killed with -9 are gone for good',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    const worker = await rig.startWorker('one');
    await rig.booked(8);
    worker.kill('SIGKILL');
    await worker.ended;
    const { client } = rig.redis;
    const lost = await client.lrange(`${QUEUE}:pay:active`, 0, -1);
    expect(lost.length).toBeGreaterThan(0);
    await client.del(`${QUEUE}:pay:active`, ...lost.flatMap((id) => [`${QUEUE}:pay:${id}`, `${QUEUE}:pay:${id}:lock`]));
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F9'],
  fault: 'all keys of the queue are deleted in the middle',
  tries: { short: 1, long: 2 },
  rows: 80,
  switches: SLOWLY.switches,
  // The workers have taken no more than a few of the jobs.
  settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_WINDOW: '8' },
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    for (const count of [4, 12, 24]) {
      await rig.booked(count);
      for (const key of await rig.redis.client.keys(`${QUEUE}:*`)) await rig.redis.client.del(key);
    }
  },
});

faultRow({
  ids: ['F63'],
  fault:
    'one file is submitted many times at once, and one submit stands still in mid-recording until the run has been paid',
  tries: { short: 1, long: 2 },
  async body(rig) {
    await rig.startWorker('one');
    const sleeper = rig.launch('one', ['submit', 'payouts.csv', '--json'], { crashAt: 'C16 SIGSTOP 1' });
    await sleeper.said('at the crash point');
    const many = Array.from({ length: DEPTH === 'short' ? 6 : 19 }, () => rig.submit());
    const ids = await Promise.all(many);
    expect(new Set(ids).size).toBe(1);
    await rig.until('a paid run', async () => (await rig.states())['completed'] === rig.rows);
    const before = await records(rig, ids[0] ?? '');
    sleeper.kill('SIGCONT');
    expect(await sleeper.ended).toMatchObject({ code: 0 });
    await delay(3000);
    expect(await records(rig, ids[0] ?? '')).toEqual(before);
  },
  after: armedOnce,
});

async function records({ redis, rows }: Rig, runId: string): Promise<Record<string, string>[]> {
  const lines = Array.from({ length: rows }, (_, index) => index + 2);
  return await Promise.all(lines.map((line) => readValues({ redis: redis.client, prefix: '{payrun}', runId, line })));
}
