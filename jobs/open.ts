import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Jobs } from '../src/app.ts';
import { CATALOG, JOB_NAMES, type JobName, type JobPayload } from './catalog.ts';

const JOBS_PER_CALL_MAX = 500;

export interface NewJob<Name extends JobName> {
  /** Names what the job is about: while a job with this id is there, adding another does nothing. */
  readonly id: string;
  readonly payload: JobPayload<Name>;
  readonly delayMs?: number;
}

export interface JobQueues extends Jobs {
  /** The connection that workers are given, and the prefix of BullMQ's keys. */
  readonly redis: Redis;
  readonly prefix: string;
  add<Name extends JobName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void>;
}

/** The queues of the catalog, made from the app's connection. */
export function openQueues(redis: Redis, prefix: string): JobQueues {
  const queues = new Map(JOB_NAMES.map((name) => [name, openQueue(name, redis, prefix)]));

  async function add<Name extends JobName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void> {
    const queue = queues.get(name);
    const { attempts, backOffMs } = CATALOG[name];
    for (let from = 0; from < jobs.length; from += JOBS_PER_CALL_MAX) {
      const part = jobs.slice(from, from + JOBS_PER_CALL_MAX).map(({ id, payload, delayMs }) => ({
        name,
        data: payload,
        opts: {
          jobId: id,
          attempts,
          ...(backOffMs > 0 ? { backoff: { type: 'exponential', delay: backOffMs } } : {}),
          ...(delayMs === undefined ? {} : { delay: delayMs }),
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
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}

function openQueue(name: JobName, redis: Redis, prefix: string): Queue {
  const queue = new Queue(name, { connection: redis, prefix });
  // The connection's own listener tells of its losses; without one here they would end the process.
  queue.on('error', () => {});
  return queue;
}
