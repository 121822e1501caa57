import type { Queue } from 'bullmq';

/** What wakes a worker at the times of the schedules: a job scheduler of BullMQ for each. Losing one costs a sweep's time. */
export interface ScheduleTimers {
  set(name: string, times: { cron: string; zone: string }): Promise<void>;
  remove(name: string): Promise<void>;
  /** The schedules that have one. */
  names(): Promise<string[]>;
}

/** The timers in the queue of the ticks. */
export function openScheduleTimers(ticks: () => Promise<Queue | undefined>): ScheduleTimers {
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
