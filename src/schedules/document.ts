import { rfc3339, timeOrNull } from '../clock.ts';
import type { StoredSchedule } from '../ledger/schedules.ts';
import type { StagePlan } from '../payout.ts';
import { openZone } from '../zone.ts';
import { cronWords, nextTimes } from './cron.ts';
import { actWords, readSchedule, stagesOfAct } from './schedule.ts';

/** Planned times that are shown of a schedule. */
export const TIMES_SHOWN = 5;

/** A schedule as every door gives it as JSON. */
export interface ScheduleDocument {
  readonly name: string;
  readonly do: string;
  /** In which the files of an inbox are paid; null where the settings say so, or nothing is read. */
  readonly stages: StagePlan | null;
  readonly cron: string;
  readonly zone: string;
  /** The cron in words. */
  readonly words: string;
  readonly windowMs: number;
  readonly setBy: string;
  readonly setAt: string;
  readonly last: { readonly planned: string | null; readonly doneAt: string | null };
  readonly missed: string | null;
  readonly fault: string | null;
  readonly next: readonly string[];
}

/** What a schedule does and when, and what became of it; `nowMs` is Redis's time in milliseconds since 1970. */
export function scheduleDocument(stored: StoredSchedule, nowMs: number): ScheduleDocument {
  const { cron, zone, act, windowMs } = readSchedule(stored);
  const afterMs = Math.min(nowMs, stored.next - 1);
  return {
    name: stored.name,
    do: actWords(act),
    stages: stagesOfAct(act),
    cron,
    zone,
    words: cronWords(cron),
    windowMs,
    setBy: stored.setBy,
    setAt: rfc3339(stored.setAt),
    last: { planned: timeOrNull(stored.lastPlanned), doneAt: timeOrNull(stored.lastDoneAt) },
    missed: timeOrNull(stored.missedPlanned),
    fault: stored.fault,
    next: nextTimes(cron, openZone(zone), { afterMs, count: TIMES_SHOWN }).map(rfc3339),
  };
}
