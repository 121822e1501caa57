import { type Calendar, type Calendars, WEEKDAYS } from '../config/calendars.ts';
import { openZone, timeIn, wallText, type Zone } from '../zone.ts';

export type Opening =
  | { readonly open: true }
  /** Why not, in words for people, and the next time when all are open, in milliseconds since 1970. */
  | { readonly open: false; readonly reason: string; readonly opensAt: number };

export interface Asked {
  readonly currencies: readonly string[];
  readonly nowMs: number;
  /** How long the run sends payments. */
  readonly takesMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Whatever is not open by then is shut for good as far as anybody knows. */
const DAYS_AHEAD_MAX = 400;
const REASONS_MAX = 3;

/** A currency's calendar on the clock of its zone. */
interface Desk {
  readonly currency: string;
  readonly calendar: Calendar;
  readonly zone: Zone;
}

/**
 * Whether a run of these currencies that starts now ends before the earliest cut-off of them all, on a banking day of all.
 * Where no time of the next 400 days will do, `opensAt` is the end of these.
 */
export function openingOf(calendars: Calendars, { currencies, nowMs, takesMs }: Asked): Opening {
  const desks = desksOf(calendars, currencies);
  const opensAt = earliestOfAll(desks, nowMs, takesMs);
  if (opensAt === nowMs) return { open: true };
  const shut = desks.filter((desk) => earliestStart(desk, nowMs, takesMs) !== nowMs);
  const reasons = shut.slice(0, REASONS_MAX).map((desk) => whyShut(desk, nowMs));
  if (shut.length > REASONS_MAX) reasons.push(`${shut.length - REASONS_MAX} more currencies are shut`);
  const then = whenOpen(shut, opensAt);
  return { open: false, reason: `${reasons.join('; ')}; ${then}`, opensAt: opensAt ?? nowMs + DAYS_AHEAD_MAX * DAY_MS };
}

/** How a currency stands against a run that would start now. */
export interface CurrencyHours {
  readonly currency: string;
  /** Of its cut-off, `HH:MM` by its own clock. */
  readonly cutOff: string;
  readonly zone: string;
  /** Why the run has to wait for it, for people; null where there is enough time. */
  readonly shut: string | null;
}

/** The same for each currency that has a calendar, in alphabetic order. */
export function hoursOf(calendars: Calendars, { currencies, nowMs, takesMs }: Asked): CurrencyHours[] {
  return desksOf(calendars, currencies).map((desk) => ({
    currency: desk.currency,
    cutOff: desk.calendar.cutOff,
    zone: desk.zone.name,
    shut: earliestStart(desk, nowMs, takesMs) === nowMs ? null : whyShut(desk, nowMs),
  }));
}

/** The time after which nothing of today counts for a currency. */
export interface CutOff {
  readonly currency: string;
  /** `HH:MM` by the currency's own clock. */
  readonly time: string;
  readonly atMs: number;
}

/** The earliest cut-off of the banking day that it is, over these currencies; undefined where none has one today. It may have passed. */
export function cutOffOf(
  calendars: Calendars,
  { currencies, nowMs }: Pick<Asked, 'currencies' | 'nowMs'>,
): CutOff | undefined {
  const today = desksOf(calendars, currencies).flatMap((desk): CutOff[] => {
    const day = Math.floor(desk.zone.wallAt(nowMs) / DAY_MS);
    if (holidayOn(desk, day) !== undefined) return [];
    return [{ currency: desk.currency, time: desk.calendar.cutOff, atMs: hoursOn(desk, day).cutOffMs }];
  });
  return today.toSorted((one, other) => one.atMs - other.atMs)[0];
}

function desksOf(calendars: Calendars, currencies: readonly string[]): Desk[] {
  return [...new Set(currencies)].toSorted().flatMap((currency): Desk[] => {
    const calendar = calendars[currency];
    return calendar === undefined ? [] : [{ currency, calendar, zone: openZone(calendar.zone) }];
  });
}

function whenOpen([first]: readonly Desk[], opensAt: number | undefined): string {
  if (opensAt === undefined || first === undefined) {
    return `in the next ${DAYS_AHEAD_MAX} days there is no time when it could be sent before every cut-off: split it`;
  }
  return `it can start at ${timeIn(first.zone, opensAt)}`;
}

/** The first time from an instant on at which a run may start for every currency. */
function earliestOfAll(desks: readonly Desk[], nowMs: number, takesMs: number): number | undefined {
  for (let startMs = nowMs; startMs - nowMs <= DAYS_AHEAD_MAX * DAY_MS; ) {
    let latest = startMs;
    for (const desk of desks) {
      const earliest = earliestStart(desk, startMs, takesMs);
      if (earliest === undefined) return undefined;
      latest = Math.max(latest, earliest);
    }
    if (latest === startMs) return startMs;
    startMs = latest;
  }
  return undefined;
}

function earliestStart(desk: Desk, fromMs: number, takesMs: number): number | undefined {
  const today = Math.floor(desk.zone.wallAt(fromMs) / DAY_MS);
  for (let day = today; day <= today + DAYS_AHEAD_MAX; day++) {
    if (holidayOn(desk, day) !== undefined) continue;
    const { opensMs, cutOffMs } = hoursOn(desk, day);
    const startMs = Math.max(fromMs, opensMs);
    if (startMs < cutOffMs && startMs + takesMs < cutOffMs) return startMs;
  }
  return undefined;
}

function hoursOn({ calendar, zone }: Desk, day: number): { opensMs: number; cutOffMs: number } {
  const at = (time: string): number => zone.instantAt(day * DAY_MS + timeOfDayMs(time));
  return { opensMs: at(calendar.opens), cutOffMs: at(calendar.cutOff) };
}

/** Milliseconds since midnight of a time as `HH:MM`. */
function timeOfDayMs(time: string): number {
  return Date.parse(`1970-01-01T${time}Z`);
}

/** Why a day is no banking day; undefined when it is one. `day` counts the days since 1970-01-01 on the wall. */
function holidayOn({ calendar }: Desk, day: number): string | undefined {
  const { date } = wallText(day * DAY_MS);
  if (calendar.holidays.has(date)) return `${date} is a holiday`;
  const weekday = WEEKDAYS[new Date(day * DAY_MS).getUTCDay()];
  return weekday !== undefined && calendar.weekend.includes(weekday) ? `${date} is a weekend` : undefined;
}

function whyShut(desk: Desk, nowMs: number): string {
  const { currency, calendar, zone } = desk;
  const day = Math.floor(zone.wallAt(nowMs) / DAY_MS);
  const holiday = holidayOn(desk, day);
  if (holiday !== undefined) return `${currency}: ${holiday} (${zone.name})`;
  const { opensMs, cutOffMs } = hoursOn(desk, day);
  const { date } = wallText(day * DAY_MS);
  if (nowMs < opensMs) return `${currency} opens at ${calendar.opens} on ${date} (${zone.name})`;
  if (nowMs < cutOffMs)
    return `${currency}: it would not end before the cut-off at ${calendar.cutOff} on ${date} (${zone.name})`;
  return `${currency}: the cut-off at ${calendar.cutOff} on ${date} (${zone.name}) has passed`;
}
