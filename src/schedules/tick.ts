import type { Clock } from '../clock.ts';
import type { PlannedTicks, Schedules, StoredSchedule, Tick } from '../ledger/schedules.ts';
import type { Log } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { openZone, type Zone } from '../zone.ts';
import { plannedTimes } from './cron.ts';
import { type Act, readSchedule, type Schedule } from './schedule.ts';

/** What a long stop left behind is recorded in pieces; the sweeper comes back for the rest. */
const TICKS_PER_RECORD_MAX = 500;
const HOUR_MS = 60 * 60 * 1000;
const SPAN_GROWS_BY = 4;

/**
 * The planned times of a schedule that have come and are not recorded: those whose window is still open are due, of the
 * others the last one is remembered as missed. Undefined when none has come. `nowMs` is Redis's time.
 */
function planTicks(stored: StoredSchedule, nowMs: number): PlannedTicks | undefined {
  if (stored.next > nowMs) return undefined;
  const schedule = readSchedule(stored);
  const zone = openZone(schedule.zone);
  const openFromMs = nowMs - schedule.windowMs;
  const isLate = stored.next < openFromMs;
  const due: number[] = [];
  for (const timeMs of plannedTimes(schedule.cron, zone, Math.max(stored.next, openFromMs) - 1)) {
    if (timeMs > nowMs || due.length >= TICKS_PER_RECORD_MAX) {
      const missed = isLate ? lastBefore({ ...schedule, zone }, { fromMs: stored.next, untilMs: openFromMs }) : null;
      return { name: stored.name, definition: stored.definition, seen: stored.next, next: timeMs, due, missed };
    }
    due.push(timeMs);
  }
  throw new Error(`schedule ${stored.name} plans nothing any more`);
}

/** The last planned time before `untilMs`; `fromMs` is one of them. Looked for from the end, for a stop may be long. */
function lastBefore(
  { cron, zone }: Pick<Schedule, 'cron'> & { zone: Zone },
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): number {
  for (let spanMs = HOUR_MS; ; spanMs *= SPAN_GROWS_BY) {
    const beginMs = Math.max(fromMs - 1, untilMs - spanMs);
    let last: number | undefined;
    for (const timeMs of plannedTimes(cron, zone, beginMs)) {
      if (timeMs >= untilMs) break;
      last = timeMs;
    }
    if (last !== undefined || beginMs < fromMs) return last ?? fromMs;
  }
}

/** Whether what was planned for a time may still be done at another. */
function isOpen({ windowMs }: Pick<Schedule, 'windowMs'>, planned: number, nowMs: number): boolean {
  return nowMs - planned <= windowMs;
}

export interface TickDeps {
  readonly schedules: Schedules;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** Does what a schedule says, for `actor`. It may be called again for the same time, and has to bear that. */
export type DoAct = (act: Act, due: { readonly actor: string; readonly planned: number }) => Promise<void>;

const FAULT_CHARACTERS_MAX = 300;

/**
 * Records what of all schedules has come, each planned time once, however many do so at a time. A schedule that cannot be
 * read keeps no other one from its time.
 */
export async function recordDue({ schedules, clock, log }: TickDeps): Promise<void> {
  const { now: redisNow, schedules: all } = await schedules.read();
  // A time has come when two clocks say so.
  const now = Math.min(redisNow, clock.now());
  for (const stored of all) {
    try {
      const ticks = planTicks(stored, now);
      if (ticks === undefined || !(await schedules.record(ticks))) continue;
      if (ticks.missed !== null) log.warn('a schedule was missed', { actor: nameOf(stored) });
    } catch (error) {
      log.error('a schedule cannot be followed', { actor: nameOf(stored), error });
    }
  }
}

/**
 * Does what was recorded as due, unless it was done before or its window has passed meanwhile. What fails stays due, and is
 * tried again until its window has passed.
 */
export async function doTick({ schedules, clock, log }: TickDeps, tick: Tick, doAct: DoAct): Promise<void> {
  const { now: redisNow, schedules: all } = await schedules.read();
  const now = Math.min(redisNow, clock.now());
  const stored = all.find(({ name }) => name === tick.name);
  if (stored === undefined || !(await schedules.isOpen(tick))) return;
  const schedule = readSchedule(stored);
  if (!isOpen(schedule, tick.planned, now)) {
    await schedules.end(tick, { as: 'missed' });
    log.warn('a schedule was missed', { actor: nameOf(stored) });
    return;
  }
  try {
    await doAct(schedule.act, { actor: actorOf(stored), planned: tick.planned });
  } catch (error) {
    log.warn('what a schedule says could not be done', { actor: nameOf(stored), error });
    await schedules.end(tick, { as: 'failed', fault: faultText(error) });
    return;
  }
  await schedules.end(tick, { as: 'done' });
}

function nameOf({ name }: StoredSchedule): string {
  return `schedule ${name}`;
}

/** Who acts, as histories and the audit log name it: whoever set a schedule is behind what it does. */
function actorOf(schedule: StoredSchedule): string {
  return `${nameOf(schedule)} of ${schedule.setBy}`;
}

/** What people may read; anything else may hold what nobody should, and stands in the log. */
function faultText(error: unknown): string {
  const text =
    error instanceof Refusal ? `${error.message} ${error.remedy}` : 'a fault; the log of the worker names it';
  return text.slice(0, FAULT_CHARACTERS_MAX);
}
