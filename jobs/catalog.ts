import { z } from 'zod';
import { endpointName } from '../src/config/notify.ts';
import { SLICE_LINES_MAX } from '../src/runs/feed.ts';
import { scheduleName } from '../src/schedules/schedule.ts';

const runId = z.string().min(1);
const line = z.int().positive();

/** How BullMQ treats a kind of job. */
export interface JobKind<Payload extends z.ZodType = z.ZodType> {
  readonly payload: Payload;
  /** Jobs of this kind at a time in one process. */
  readonly atATime: number;
  /** Tries before the job is dropped; the sweeper finds what it was about. */
  readonly attempts: number;
  readonly backOffMs: number;
}

/**
 * Every job there is. A job is only a wake-up call: losing one, or running one twice, costs nothing but time. `atATime`
 * of `pay` is bounded further by PAYRUN_CONCURRENCY.
 */
export const CATALOG = {
  /** Fills a run's window with slices. */
  feed: { payload: z.strictObject({ runId }), atATime: 4, attempts: 1, backOffMs: 0 },
  /** Pays the payouts of a slice. */
  pay: {
    payload: z
      .strictObject({ runId, from: line, to: line, stamp: z.string() })
      .refine(({ from, to }) => from <= to && to - from < SLICE_LINES_MAX, { error: 'must be a slice' }),
    atATime: 64,
    attempts: 1,
    backOffMs: 0,
  },
  /** Looks up payouts whose payment may exist. */
  'look-up': {
    payload: z.strictObject({ runId, lines: z.array(line).max(50) }),
    atATime: 8,
    attempts: 1,
    backOffMs: 0,
  },
  /** Follows accepted payments. */
  track: { payload: z.strictObject({ runId, lines: z.array(line).max(50) }), atATime: 8, attempts: 1, backOffMs: 0 },
  /** Looks whether completed payments of a finished run came back. */
  watch: { payload: z.strictObject({ runId }), atATime: 1, attempts: 1, backOffMs: 0 },
  /** Writes a run's report. */
  report: { payload: z.strictObject({ runId }), atATime: 1, attempts: 5, backOffMs: 2000 },
  /** A schedule's time has come, or so it seems: records what is due. */
  tick: { payload: z.strictObject({ name: scheduleName }), atATime: 1, attempts: 1, backOffMs: 0 },
  /** Does what a schedule planned for a time. */
  scheduled: {
    payload: z.strictObject({ name: scheduleName, planned: z.int() }),
    atATime: 4,
    attempts: 1,
    backOffMs: 0,
  },
  /** Delivers what waits for an endpoint about a run, or about the ledger. */
  notify: {
    payload: z.strictObject({ endpoint: endpointName, queue: z.string().min(1) }),
    atATime: 32,
    attempts: 1,
    backOffMs: 0,
  },
  /** Gives a job to what is due and has none. */
  sweep: { payload: z.strictObject({ period: z.int() }), atATime: 1, attempts: 1, backOffMs: 0 },
} as const satisfies Record<string, JobKind>;

export type JobName = keyof typeof CATALOG;
export type JobPayload<Name extends JobName> = z.infer<(typeof CATALOG)[Name]['payload']>;

export const JOB_NAMES = [
  'feed',
  'pay',
  'look-up',
  'track',
  'watch',
  'report',
  'tick',
  'scheduled',
  'notify',
  'sweep',
] as const satisfies readonly JobName[];
