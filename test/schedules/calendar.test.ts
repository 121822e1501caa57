import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Calendar, Calendars } from '../../src/config/calendars.ts';
import { openingOf } from '../../src/schedules/calendar.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function calendar(zone: string, hours: string, other: Partial<Calendar> = {}): Calendar {
  const [opens = '', cutOff = ''] = hours.split(' ');
  return { zone, opens, cutOff, weekend: ['sat', 'sun'], holidays: new Set(), ...other };
}

const CALENDARS: Calendars = {
  EUR: calendar('Europe/Berlin', '08:00 16:00', { holidays: new Set(['2026-12-25']) }),
  USD: calendar('America/New_York', '09:00 17:00'),
  MXN: calendar('America/Mexico_City', '09:00 16:30'),
  AED: calendar('Asia/Dubai', '08:00 14:00', { weekend: ['fri', 'sat'] }),
};

const at = (text: string): number => Date.parse(text);
const ask = (currencies: readonly string[], now: string, takesMs = 0) =>
  openingOf(CALENDARS, { currencies, nowMs: at(now), takesMs });

describe('a run may start', () => {
  test('on a banking day between the opening and the cut-off', () => {
    expect(ask(['EUR'], '2026-03-27T08:00:00+01:00')).toEqual({ open: true });
    expect(ask(['EUR'], '2026-03-27T15:59:59+01:00')).toEqual({ open: true });
  });

  test('at any time in a currency without a calendar', () => {
    expect(ask(['GBP', 'JPY'], '2026-03-28T03:00:00Z')).toEqual({ open: true });
    expect(ask([], '2026-03-28T03:00:00Z')).toEqual({ open: true });
  });

  test('in several currencies while all are open', () => {
    expect(ask(['EUR', 'USD', 'GBP'], '2026-03-27T14:30:00Z')).toEqual({ open: true });
  });
});

describe('a run waits, and is told why and until when', () => {
  test.each<[why: string, currencies: string[], now: string, takesMs: number, reason: string, opensAt: string]>([
    [
      'before the opening',
      ['EUR'],
      '2026-03-27T07:59:59+01:00',
      0,
      'EUR opens at 08:00 on 2026-03-27 (Europe/Berlin); it can start at Fri 2026-03-27 08:00 +01:00 Europe/Berlin',
      '2026-03-27T08:00:00+01:00',
    ],
    [
      'at the cut-off, and over a weekend in which clocks change',
      ['EUR'],
      '2026-03-27T16:00:00+01:00',
      0,
      'EUR: the cut-off at 16:00 on 2026-03-27 (Europe/Berlin) has passed; it can start at Mon 2026-03-30 08:00 +02:00 Europe/Berlin',
      '2026-03-30T08:00:00+02:00',
    ],
    [
      'when it would take until the cut-off',
      ['EUR'],
      '2026-03-26T15:30:00+01:00',
      30 * MINUTE_MS,
      'EUR: it would not end before the cut-off at 16:00 on 2026-03-26 (Europe/Berlin); it can start at Fri 2026-03-27 08:00 +01:00 Europe/Berlin',
      '2026-03-27T08:00:00+01:00',
    ],
    [
      'on a weekend',
      ['EUR'],
      '2026-03-28T12:00:00+01:00',
      0,
      'EUR: 2026-03-28 is a weekend (Europe/Berlin); it can start at Mon 2026-03-30 08:00 +02:00 Europe/Berlin',
      '2026-03-30T08:00:00+02:00',
    ],
    [
      'on a holiday before a weekend',
      ['EUR'],
      '2026-12-25T12:00:00+01:00',
      0,
      'EUR: 2026-12-25 is a holiday (Europe/Berlin); it can start at Mon 2026-12-28 08:00 +01:00 Europe/Berlin',
      '2026-12-28T08:00:00+01:00',
    ],
    [
      'until all its currencies are open together',
      ['USD', 'EUR'],
      '2026-03-26T09:00:00+01:00',
      0,
      'USD opens at 09:00 on 2026-03-26 (America/New_York); it can start at Thu 2026-03-26 09:00 -04:00 America/New_York',
      '2026-03-26T14:00:00+01:00',
    ],
    [
      'on a day that is a banking day here and none there',
      ['EUR', 'AED'],
      '2026-03-27T09:00:00+01:00',
      0,
      'AED: 2026-03-27 is a weekend (Asia/Dubai); it can start at Mon 2026-03-30 10:00 +04:00 Asia/Dubai',
      '2026-03-30T08:00:00+02:00',
    ],
  ])('%s', (...[, currencies, now, takesMs, reason, opensAt]) => {
    expect(ask(currencies, now, takesMs)).toEqual({ open: false, reason, opensAt: at(opensAt) });
  });

  test('with no more than three currencies by name', () => {
    const many = Object.fromEntries(
      ['AAA', 'BBB', 'CCC', 'DDD', 'EEE'].map((name) => [name, calendar('UTC', '08:00 16:00')]),
    );
    const opening = openingOf(many, { currencies: Object.keys(many), nowMs: at('2026-03-28T00:00:00Z'), takesMs: 0 });
    expect(opening).toMatchObject({
      reason: expect.stringMatching(/^AAA: .*BBB: .*CCC: .*; 2 more currencies are shut; it can/),
    });
  });

  test('for 400 days, when it is too long for any day', () => {
    const now = '2026-03-27T09:00:00+01:00';
    expect(ask(['EUR'], now, 8 * HOUR_MS)).toEqual({
      open: false,
      reason: expect.stringContaining(
        'in the next 400 days there is no time when it could be sent before every cut-off',
      ),
      opensAt: at(now) + 400 * DAY_MS,
    });
  });

  test('for 400 days, when its currencies are never open together', () => {
    const apart = { AAA: calendar('UTC', '08:00 09:00'), BBB: calendar('UTC', '10:00 11:00') };
    const opening = openingOf(apart, { currencies: ['AAA', 'BBB'], nowMs: at('2026-03-27T08:30:00Z'), takesMs: 0 });
    expect(opening).toMatchObject({ open: false, opensAt: at('2026-03-27T08:30:00Z') + 400 * DAY_MS });
  });
});

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** What a clock of the zone shows, read in another way than by the source. */
function clockIn(timeZone: string, instantMs: number): { date: string; time: string; weekday: string } {
  const format =
    FORMATS.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  FORMATS.set(timeZone, format);
  const [date = '', time = ''] = format.format(instantMs).split(' ');
  const weekday = new Date(date).toUTCString().slice(0, 3).toLowerCase();
  return { date, time: time.slice(0, 5), weekday };
}

/** Whether a run may be sent in one currency from one instant to another, by the clock on the wall alone. */
function mayBeSent({ zone, opens, cutOff, weekend, holidays }: Calendar, fromMs: number, untilMs: number): boolean {
  const [from, until] = [clockIn(zone, fromMs), clockIn(zone, untilMs)];
  const isBankingDay = !weekend.some((day) => day === from.weekday) && !holidays.has(from.date);
  return isBankingDay && from.date === until.date && from.time >= opens && until.time < cutOff;
}

// Their clocks change at night, outside the hours below.
const anyCalendar = fc
  .record({
    zone: fc.constantFrom(
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'Africa/Cairo',
      'UTC',
    ),
    opens: fc.constantFrom('06:00', '08:30', '10:15'),
    cutOff: fc.constantFrom('12:00', '16:45', '21:59'),
    weekend: fc.subarray(['sat', 'sun', 'fri'] as const),
    holidays: fc.subarray(['2026-03-30', '2026-10-26', '2026-10-27', '2026-04-24']).map((dates) => new Set(dates)),
  })
  .map((one): Calendar => one);
const anyNow = fc
  .tuple(
    fc.constantFrom('2026-03-27', '2026-10-23', '2026-04-22', '2026-04-03', '2026-10-02'),
    fc.integer({ min: 0, max: 4 * 24 * 60 }),
  )
  .map(([date, minutes]) => Date.parse(`${date}T00:00:00Z`) + minutes * MINUTE_MS);

test('over zones, holidays and changes of clocks: it is open when every wall clock says so, and opens at the first such minute', () => {
  const anyCase = fc.record({
    one: anyCalendar,
    other: anyCalendar,
    nowMs: anyNow,
    minutes: fc.integer({ min: 0, max: 90 }),
  });
  fc.assert(
    fc.property(anyCase, ({ one, other, nowMs, minutes }) => {
      const calendars = { AAA: one, BBB: other };
      const takesMs = minutes * MINUTE_MS;
      const isOpen = (fromMs: number): boolean =>
        mayBeSent(one, fromMs, fromMs + takesMs) && mayBeSent(other, fromMs, fromMs + takesMs);
      const opening = openingOf(calendars, { currencies: ['AAA', 'BBB'], nowMs, takesMs });
      expect(opening.open).toBe(isOpen(nowMs));
      if (opening.open || opening.opensAt - nowMs >= 400 * DAY_MS) return;
      expect(isOpen(opening.opensAt)).toBe(true);
      const earlier: number[] = [];
      for (let fromMs = opening.opensAt - MINUTE_MS; fromMs >= nowMs; fromMs -= 11 * MINUTE_MS) earlier.push(fromMs);
      expect(earlier.filter(isOpen)).toEqual([]);
    }),
    { numRuns: 80 },
  );
});
