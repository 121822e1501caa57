import type { PlannedTicks, StoredSchedule } from '../ledger/schedules.ts';
import { openZone, type Zone } from '../zone.ts';
import { plannedTimes } from './cron.ts';
import { readSchedule, type Schedule } from './schedule.ts';

/** What a long stop left behind is recorded in pieces; the sweeper comes back for the rest. */
const TICKS_PER_RECORD_MAX = 500;
const HOUR_MS = 60 * 60 * 1000;
const SPAN_GROWS_BY = 4;

/**
 * The planned times of a schedule that have come and are not recorded: those whose window is still open are due, of the
 * others the last one is remembered as missed. Undefined when none has come. `nowMs` is Redis's time.
 */
export function planTicks(stored: StoredSchedule, nowMs: number): PlannedTicks | undefined {
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
export function isOpen({ windowMs }: Pick<Schedule, 'windowMs'>, planned: number, nowMs: number): boolean {
  return nowMs - planned <= windowMs;
}
