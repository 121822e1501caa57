import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LedgerKeys } from './keys.ts';

/** So long a process's word that something is away counts; it says so again and again. */
const NOTED_MS = 5000;

/** Something that payrun waits for, as a process that works on runs has seen it. */
export interface NotedOutage {
  readonly what: 'service' | 'disk';
  /** For people: which service, or which disk. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** What is wrong with it, as the words after its name; that it has not answered, where there are none. */
  readonly fault?: string | undefined;
}

/** What is away now, for those who only look. Nothing is decided by it. */
export interface Outages {
  note(outages: readonly NotedOutage[]): Promise<void>;
  /** There is none any more that this process has seen. */
  forget(): Promise<void>;
  read(): Promise<readonly NotedOutage[]>;
}

const schema = z.array(
  z.object({
    what: z.enum(['service', 'disk']),
    name: z.string(),
    since: z.number(),
    fault: z.string().optional(),
  }),
);

export function openOutages(redis: Redis, { outages: key }: LedgerKeys): Outages {
  return {
    async note(outages) {
      await redis.set(key, JSON.stringify(outages), 'PX', NOTED_MS);
    },
    async forget() {
      await redis.del(key);
    },
    async read() {
      const text = await redis.get(key);
      return text === null ? [] : schema.parse(JSON.parse(text));
    },
  };
}
