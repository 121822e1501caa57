import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Jobs } from '../src/app.ts';
import { CATALOG, JOB_NAMES, type JobName, type JobPayload } from './catalog.ts';
import { type Living, openLiving } from './living.ts';

const JOBS_PER_CALL_MAX = 500;
/** Of those with the highest ranks, which wait longest, so many are looked at for the oldest. */
const LATE_JOBS_MAX = 1000;

export interface NewJob<Name extends JobName> {
  /** Names what the job is about: while a job with this id is there, adding another does nothing. */
  readonly id: string;
  readonly payload: JobPayload<Name>;
  readonly delayMs?: number;
  /** Of the jobs of a kind that wait, those of the lowest rank are done first; 0 unless told. */
  readonly rank?: number;
}

export interface JobQueues extends Jobs {
  /** The connection that workers are given, and the prefix of BullMQ's keys. */
  readonly redis: Redis;
  readonly prefix: string;
  add<Name extends JobName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void>;
  readonly living: Living;
  /** What wakes a worker at the times of the schedules. */
  readonly scheduleTimers: ScheduleTimers;
  /** For pages that look into them. */
  queues(): Promise<readonly Queue[]>;
  /** How many jobs wait or are in work, and since when the oldest waits; `nowMs` is the time in milliseconds since 1970. */
  depths(nowMs: number): Promise<QueueDepth[]>;
}

/** What a kind of job has before it. */
export interface QueueDepth {
  readonly job: JobName;
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  /** Since the job that waits longest was added; 0 when none waits. */
  readonly oldestMs: number;
}

/**
 * The queues of the catalog, made from the app's connection when they are first used: most commands use none, and BullMQ is
 * what takes longest to load. `commands` asks who works, and waits no longer than its time for an answer: what goes to the queues
 * waits for a Redis that is away for as long as it takes.
 */
export function openQueues(redis: Redis, prefix: string, commands = redis): JobQueues {
  let opened: Promise<ReadonlyMap<JobName, Queue>> | undefined;
  const all = (): Promise<ReadonlyMap<JobName, Queue>> => {
    opened ??= openAll(redis, prefix);
    return opened;
  };

  const living = openLiving(commands, prefix);

  async function add<Name extends JobName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void> {
    const queue = (await all()).get(name);
    const { attempts, backOffMs } = CATALOG[name];
    for (let from = 0; from < jobs.length; from += JOBS_PER_CALL_MAX) {
      const part = jobs.slice(from, from + JOBS_PER_CALL_MAX).map(({ id, payload, delayMs, rank = 0 }) => ({
        name,
        data: payload,
        opts: {
          jobId: id,
          attempts,
          ...(backOffMs > 0 ? { backoff: { type: 'exponential', delay: backOffMs } } : {}),
          ...(delayMs === undefined ? {} : { delay: delayMs }),
          priority: rank,
          removeOnComplete: true,
          removeOnFail: true,
        },
      }));
      await queue?.addBulk(part);
    }
  }

  return {
    redis,
    prefix,
    add,
    wake: (runId) => add('feed', [{ id: `feed-${runId}`, payload: { runId } }]),
    living,
    workers: () => living.all(),
    scheduleTimers: openScheduleTimers(async () => (await all()).get('tick')),
    queues: async () => [...(await all()).values()],
    depths: async (nowMs) => Promise.all([...(await all())].map(([name, queue]) => depthOf(name, queue, nowMs))),
    async close() {
      if (opened !== undefined) await Promise.all([...(await opened).values()].map((queue) => queue.close()));
    },
  };
}

async function openAll(redis: Redis, prefix: string): Promise<ReadonlyMap<JobName, Queue>> {
  const { Queue } = await import('bullmq');
  return new Map(
    JOB_NAMES.map((name) => {
      const queue = new Queue(name, { connection: redis, prefix });
      // The connection's own listener tells of its losses; without one here they would end the process.
      queue.on('error', () => {});
      return [name, queue];
    }),
  );
}

async function depthOf(job: JobName, queue: Queue, nowMs: number): Promise<QueueDepth> {
  const [counts, first, late] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'),
    queue.getJobs(['waiting'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, LATE_JOBS_MAX - 1, false),
  ]);
  // Another machine's clock may be ahead of this one's: nothing is older than now.
  const oldest = [...first, ...late].reduce((at, { timestamp }) => Math.min(at, timestamp), nowMs);
  return {
    job,
    waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
    active: counts['active'] ?? 0,
    delayed: counts['delayed'] ?? 0,
    oldestMs: nowMs - oldest,
  };
}

/** What wakes a worker at the times of the schedules: a job scheduler of BullMQ for each. Losing one costs a sweep's time. */
interface ScheduleTimers {
  set(name: string, times: { cron: string; zone: string }): Promise<void>;
  remove(name: string): Promise<void>;
  /** The schedules that have one. */
  names(): Promise<string[]>;
}

/** The timers in the queue of the ticks. */
function openScheduleTimers(ticks: () => Promise<Queue | undefined>): ScheduleTimers {
  return {
    async set(name, { cron, zone }) {
      const opts = { attempts: 1, removeOnComplete: true, removeOnFail: true };
      const queue = await ticks();
      await queue?.upsertJobScheduler(name, { pattern: cron, tz: zone }, { name: 'tick', data: { name }, opts });
    },
    async remove(name) {
      await (await ticks())?.removeJobScheduler(name);
    },
    async names() {
      return ((await (await ticks())?.getJobSchedulers()) ?? []).map(({ key }) => key);
    },
  };
}
