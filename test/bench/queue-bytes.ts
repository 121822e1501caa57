import type { Redis } from 'ioredis';
import { JOB_NAMES } from '../../jobs/catalog.ts';

/** Keys that BullMQ keeps beside its jobs. */
const QUEUE_KEYS = [
  'wait',
  'active',
  'delayed',
  'prioritized',
  'stalled',
  'stalled-check',
  'meta',
  'id',
  'marker',
  'events',
];

/** Bytes of everything that the queues hold in Redis now. */
export async function queueBytes(redis: Redis, prefix: string): Promise<number> {
  const keys: string[] = [];
  for (const name of JOB_NAMES) {
    const queue = `${prefix}:bull:${name}`;
    const ids = [
      ...(await redis.lrange(`${queue}:wait`, 0, -1)),
      ...(await redis.lrange(`${queue}:active`, 0, -1)),
      ...(await redis.zrange(`${queue}:delayed`, 0, -1)),
      ...(await redis.zrange(`${queue}:prioritized`, 0, -1)),
    ];
    keys.push(
      ...QUEUE_KEYS.map((key) => `${queue}:${key}`),
      ...ids.flatMap((id) => [`${queue}:${id}`, `${queue}:${id}:lock`]),
    );
  }
  const asking = redis.pipeline();
  // All of each, not a sample of its elements.
  for (const key of keys) asking.memory('USAGE', key, 'SAMPLES', 0);
  const replies = (await asking.exec()) ?? [];
  return replies.reduce((sum, [, bytes]) => sum + (typeof bytes === 'number' ? bytes : 0), 0);
}

/** Bytes that the server uses for everything. */
export async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}
