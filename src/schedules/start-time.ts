import { Refusal } from '../refusal.ts';
import { openZone, timeIn, wallText } from '../zone.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const AHEAD_MS_MAX = 366 * DAY_MS;

const FORMS =
  'Give an RFC 3339 time such as 2026-03-30T06:30:00+02:00, or 06:30 or 2026-03-30T06:30 together with --zone Europe/Berlin.';

/**
 * The instant that `--at` names, in milliseconds since 1970: an RFC 3339 time with its offset, or a time of day (its next
 * coming) or a local date and time in a zone. Throws a Refusal for anything else, for a time that has passed or is
 * more than a year away, and for a local time that a change of clocks leaves out or brings twice.
 */
export function startTimeOf(text: string, { zone, nowMs }: { zone?: string | undefined; nowMs: number }): number {
  const atMs = zone === undefined ? absoluteTime(text) : localTime(text, { zone, nowMs });
  if (atMs <= nowMs)
    throw new Refusal(`The start time ${text} has passed.`, 'Give a time to come, or leave --at out to start at once.');
  if (atMs - nowMs > AHEAD_MS_MAX)
    throw new Refusal(`The start time ${text} is more than a year away.`, 'Give an earlier time.');
  return atMs;
}

/** RFC 3339, section 5.6: with seconds and an offset. */
function absoluteTime(text: string): number {
  const form = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
  const [, date = '', time = ''] = form.exec(text) ?? [];
  const atMs = Date.parse(text.toUpperCase().replace(' ', 'T'));
  // Date.parse takes 31 February for a day in March.
  if (date !== '' && !Number.isNaN(atMs) && isWall(`${date}T${time}`)) return atMs;
  throw new Refusal(`The start time ${JSON.stringify(text)} is no time.`, FORMS);
}

function isWall(text: string): boolean {
  const wallMs = Date.parse(`${text}Z`);
  return !Number.isNaN(wallMs) && new Date(wallMs).toISOString().startsWith(text);
}

function localTime(text: string, { zone: name, nowMs }: { zone: string; nowMs: number }): number {
  const zone = openZone(name);
  const [, date, time = ''] = /^(?:(\d{4}-\d{2}-\d{2})T)?(\d{2}:\d{2})$/.exec(text) ?? [];
  const today = wallText(zone.wallAt(nowMs)).date;
  if (!isWall(`${date ?? today}T${time}`)) {
    throw new Refusal(
      `The start time ${JSON.stringify(text)} is no time of day or local date and time, as a time zone asks for.`,
      FORMS,
    );
  }
  const wallMs = Date.parse(`${date ?? today}T${time}Z`);
  const [atMs, again] = zone.instantsAt(wallMs);
  const isToCome = date !== undefined || (again ?? atMs ?? zone.instantAt(wallMs)) > nowMs;
  const wantedMs = isToCome ? wallMs : wallMs + DAY_MS;
  return onlyInstant(text, zone, wantedMs);
}

function onlyInstant(text: string, zone: ReturnType<typeof openZone>, wallMs: number): number {
  const [atMs, again] = zone.instantsAt(wallMs);
  const { date } = wallText(wallMs);
  if (atMs === undefined) {
    throw new Refusal(
      `The start time ${text} does not come on ${date} in ${zone.name}: clocks are put forward past it.`,
      FORMS,
    );
  }
  if (again === undefined) return atMs;
  throw new Refusal(
    `The start time ${text} comes twice on ${date} in ${zone.name}: ${timeIn(zone, atMs)} and ${timeIn(zone, again)}.`,
    'Say which by an RFC 3339 time with its offset, without --zone.',
  );
}
