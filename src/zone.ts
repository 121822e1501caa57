import { Refusal } from './refusal.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Longer than what a place is away from UTC, plus the hours by which its clocks are ever put forward or back. */
const AWAY_MS = 26 * HOUR_MS;

/**
 * The clock on the wall of a place. A wall time is what that clock shows, as milliseconds since 1970 as if the place had
 * UTC; an instant is milliseconds since 1970 (UTC).
 */
export interface Zone {
  /** Its name in the IANA time zone database, such as `Europe/Berlin`. */
  readonly name: string;
  /** What the clock shows at an instant. */
  wallAt(instantMs: number): number;
  /**
   * The instants at which the clock shows a wall time, in their order: two where clocks were put back, none where they
   * were put forward past it.
   */
  instantsAt(wallMs: number): readonly number[];
  /**
   * The instant that stands for a wall time: the first one where it comes twice; where the clock jumps over it, as long
   * after the jump as it should have come after the jump's beginning (02:30 becomes 03:30).
   */
  instantAt(wallMs: number): number;
}

/** The zone of this name, or a Refusal. What it knows of zones is what Node was built with. */
export function openZone(name: string): Zone {
  const format = formatIn(name);
  const resolved = format.resolvedOptions().timeZone;
  const wallAt = (instantMs: number): number => readParts(format.formatToParts(instantMs));
  const offsetAt = (instantMs: number): number => wallAt(instantMs) - Math.floor(instantMs / 1000) * 1000;

  function around(wallMs: number): { before: number; after: number } {
    return { before: wallMs - offsetAt(wallMs - AWAY_MS), after: wallMs - offsetAt(wallMs + AWAY_MS) };
  }

  function instantsAt(wallMs: number): readonly number[] {
    const { before, after } = around(wallMs);
    const shown = [...new Set([before, after])].filter((instantMs) => wallAt(instantMs) === wallMs);
    return shown.toSorted((one, other) => one - other);
  }

  return {
    // Its own spelling, but not another name for the same place, which is what some are resolved to.
    name: resolved.toLowerCase() === name.toLowerCase() ? resolved : name,
    wallAt,
    instantsAt,
    instantAt: (wallMs) => instantsAt(wallMs)[0] ?? around(wallMs).before,
  };
}

function formatIn(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (cause) {
    throw new Refusal(
      `There is no time zone ${JSON.stringify(timeZone)}.`,
      'Give its name in the IANA time zone database, for example Europe/Berlin, America/New_York or UTC.',
      { cause },
    );
  }
}

/** Whole seconds are enough: nothing here is planned more finely. */
function readParts(parts: readonly Intl.DateTimeFormatPart[]): number {
  const number = (wanted: Intl.DateTimeFormatPartTypes): number =>
    Number.parseInt(parts.find(({ type }) => type === wanted)?.value ?? '', 10);
  const [year, month, day] = [number('year'), number('month'), number('day')];
  return Date.UTC(year, month - 1, day, number('hour'), number('minute'), number('second'));
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** An instant as people of the place read it: `Mon 2026-03-30 06:30 +02:00 Europe/Berlin`. */
export function timeIn(zone: Zone, instantMs: number): string {
  const wallMs = zone.wallAt(instantMs);
  const offsetMs = wallMs - Math.floor(instantMs / 1000) * 1000;
  const away = new Date(Math.abs(offsetMs)).toISOString().slice(11, 16);
  const { date, time, day } = wallText(wallMs);
  return `${day} ${date} ${time} ${offsetMs < 0 ? '-' : '+'}${away} ${zone.name}`;
}

/** A wall time's day of the week, date and time of day, seconds only where there are any. */
export function wallText(wallMs: number): { day: (typeof DAYS)[number]; date: string; time: string } {
  const wall = new Date(wallMs);
  const text = wall.toISOString();
  const time = text.slice(11, 19);
  return {
    day: DAYS[wall.getUTCDay()] ?? 'Sun',
    date: text.slice(0, 10),
    time: time.endsWith(':00') ? time.slice(0, 5) : time,
  };
}
