import { requireAllowed } from '../src/inbox/allowed.ts';
import { type Act, type InboxAct, readSchedule } from '../src/schedules/schedule.ts';
import { doTick, recordDue } from '../src/schedules/tick.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';

/**
 * What schedules may do beside looking unknown payouts up. Each ends once it is done, may be called again for the same time
 * and has to bear that; `actor` is the schedule, for histories and the audit log.
 */
export interface ScheduledActs {
  inbox(deps: JobDeps, act: InboxAct, actor: string): Promise<void>;
  /** `planned`: the time for which it is done, in milliseconds since 1970. */
  start(deps: JobDeps, due: { readonly actor: string; readonly planned: number }): Promise<void>;
  purge(deps: JobDeps, actor: string): Promise<void>;
}

/**
 * Records what of the schedules has come, and gives it a job. The sweeper does so too: it is what finds the ticks of a stop,
 * while BullMQ's job scheduler is only what wakes a worker in time, for it does not catch up (engine-notes 20) and leaves
 * out days on which clocks change.
 */
async function giveScheduled({ app }: Pick<JobDeps, 'app'>): Promise<void> {
  const { schedules } = app.ledger;
  await recordDue({ ...app, schedules });
  const ticks = await schedules.take();
  await app.jobs.add(
    'scheduled',
    ticks.map(({ name, planned }) => ({ id: `scheduled-${name}-${planned}`, payload: { name, planned } })),
  );
}

/** The same for the sweeper, whose other work does not wait for schedules that are out of order. */
export async function sweepSchedules({ app }: Pick<JobDeps, 'app'>): Promise<void> {
  await giveScheduled({ app }).catch((error: unknown) =>
    app.log.warn('the schedules could not be looked at', { error }),
  );
}

/** A job scheduler has woken a worker. One of a schedule that is gone is taken away. */
export async function tickSchedule({ app }: JobDeps, { name }: JobPayload<'tick'>): Promise<void> {
  await giveScheduled({ app });
  const { schedules } = await app.ledger.schedules.read();
  if (!schedules.some((schedule) => schedule.name === name)) await app.jobs.scheduleTimers.remove(name);
}

/** Does what a schedule has planned for a time. */
export async function doScheduled(deps: JobDeps, planned: JobPayload<'scheduled'>, acts: ScheduledActs): Promise<void> {
  await doTick({ ...deps.app, schedules: deps.app.ledger.schedules }, planned, (act, tick) =>
    doAct(deps, { act, ...tick }, acts),
  );
}

interface Due {
  readonly act: Act;
  readonly actor: string;
  readonly planned: number;
}

async function doAct(deps: JobDeps, { act, actor, planned }: Due, acts: ScheduledActs): Promise<void> {
  switch (act.kind) {
    case 'inbox':
      // It may have been set elsewhere, or under other settings.
      await requireAllowed(act.dir, deps.app.config.inbox.allowed);
      return await acts.inbox(deps, act, actor);
    case 'start':
      return await acts.start(deps, { actor, planned });
    case 'purge':
      return await acts.purge(deps, actor);
    case 'look-up':
      await deps.app.ledger.schedules.lookNow();
  }
}

/** Makes the job schedulers what the ledger says; whatever was lost or left behind is put right at a worker's start. */
export async function setWakers({ app }: Pick<JobDeps, 'app'>): Promise<void> {
  try {
    const { schedules } = await app.ledger.schedules.read();
    for (const name of await app.jobs.scheduleTimers.names()) {
      if (!schedules.some((schedule) => schedule.name === name)) await app.jobs.scheduleTimers.remove(name);
    }
    for (const stored of schedules) await app.jobs.scheduleTimers.set(stored.name, readSchedule(stored));
  } catch (error) {
    app.log.warn('the job schedulers could not be set', { error });
  }
}
