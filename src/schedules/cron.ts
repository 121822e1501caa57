import { CronExpressionParser } from 'cron-parser';
import cronstrue from 'cronstrue';
import { Refusal } from '../refusal.ts';
import type { Zone } from '../zone.ts';
import { checkFields } from './cron-fields.ts';

const HOUR_MS = 60 * 60 * 1000;
const HOURS_PER_DAY = 24;
/** No clock of our days is put forward or back by more. */
const SHIFT_MS_MAX = 3 * HOUR_MS;

/**
 * Checks a cron as people may give it (five fields, cron-fields.ts) and gives it in capitals with single blanks. Throws a
 * Refusal that names what is wrong, also for one that never comes, such as 31 April.
 */
export function readCron(text: string): string {
  const cron = text.trim().toUpperCase().split(/\s+/).join(' ');
  const problem = checkFields(cron) ?? parserProblem(cron);
  if (problem === undefined) return cron;
  throw new Refusal(
    `${JSON.stringify(text)} is not a cron expression: ${problem}.`,
    'Give minute, hour, day of the month, month and day of the week, for example "30 6 * * 1-5"; each is *, a number, ' +
      'a range, a list or a step (*/15). See docs/schedules.md.',
  );
}

function parserProblem(cron: string): string | undefined {
  try {
    CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: 0 }).next();
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    return /loop limit|day of month definition/.test(reason) ? 'its day never comes' : reason;
  }
}

/** A cron in words: `At 06:30, Monday through Friday`. */
export function cronWords(cron: string): string {
  return cronstrue.toString(cron, { use24HourTimeFormat: true, verbose: true });
}

/**
 * The times that a cron plans in a zone after an instant, in their order, without end. Where clocks change, a cron for every hour goes by the clock as it runs, through the hour that comes
 * twice both times; any other comes once a day for each of its times: the first time where the time comes twice, and as
 * much later as clocks are put forward where it does not come at all (02:30 becomes 03:30).
 *
 * cron-parser is asked for the times of a clock that never changes, because in a zone it leaves out a day whose time does
 * not come at all when clocks are put forward at midnight, or by half an hour (Cairo, Havana, Lord Howe).
 */
export function* plannedTimes(cron: string, zone: Zone, afterMs: number): Generator<number, never> {
  const isHourly = CronExpressionParser.parse(cron, { tz: 'UTC' }).fields.hour.values.length === HOURS_PER_DAY;
  for (let fromMs = afterMs; ; ) {
    const { times, idleUntilMs } = plannedWithin({ cron, zone, isHourly }, { fromMs, untilMs: fromMs + HOUR_MS });
    yield* times;
    fromMs = idleUntilMs;
  }
}

/** The times after `fromMs`, up to and with `untilMs`, and an instant up to which there is no other. */
function plannedWithin(
  { cron, zone, isHourly }: { cron: string; zone: Zone; isHourly: boolean },
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): { times: number[]; idleUntilMs: number } {
  const times = new Set<number>();
  const shiftMs = shiftNear(zone, untilMs);
  const lastWallMs = zone.wallAt(untilMs) + shiftMs;
  const nextWallMs = wallTimes(cron, zone.wallAt(fromMs) - shiftNear(zone, fromMs));
  let wallMs = nextWallMs();
  for (; wallMs <= lastWallMs; wallMs = nextWallMs()) {
    const instants = isHourly ? zone.instantsAt(wallMs) : [zone.instantAt(wallMs)];
    for (const timeMs of instants) if (timeMs > fromMs && timeMs <= untilMs) times.add(timeMs);
  }
  const idleUntilMs = shiftMs > 0 ? untilMs : Math.max(untilMs, zone.instantAt(wallMs) - SHIFT_MS_MAX);
  return { times: [...times].toSorted((one, other) => one - other), idleUntilMs };
}

/** How far wall times have to be looked at beyond an instant's own: clocks that change nearby change their order. */
function shiftNear(zone: Zone, instantMs: number): number {
  const passed = zone.wallAt(instantMs + SHIFT_MS_MAX) - zone.wallAt(instantMs - SHIFT_MS_MAX);
  return passed === 2 * SHIFT_MS_MAX ? 0 : SHIFT_MS_MAX;
}

/** The times of a clock that never changes, after a wall time, one with each call. */
function wallTimes(cron: string, afterMs: number): () => number {
  const expression = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: afterMs });
  return () => expression.next().getTime();
}

/** The first `count` of them. */
export function nextTimes(cron: string, zone: Zone, { afterMs, count }: { afterMs: number; count: number }): number[] {
  const times: number[] = [];
  for (const timeMs of plannedTimes(cron, zone, afterMs)) {
    times.push(timeMs);
    if (times.length >= count) break;
  }
  return times;
}
