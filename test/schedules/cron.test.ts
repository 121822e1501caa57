import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../src/refusal.ts';
import { cronWords, nextTimes, readCron } from '../../src/schedules/cron.ts';
import { openZone, timeIn, wallText, type Zone } from '../../src/zone.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The next times as people of the zone read them, without its name. */
function shown([cron, zoneName, after]: readonly [string, string, string], count: number): string[] {
  const zone = openZone(zoneName);
  const times = nextTimes(cron, zone, { afterMs: Date.parse(after), count });
  return times.map((timeMs) => timeIn(zone, timeMs).replace(` ${zoneName}`, ''));
}

describe('a cron is read', () => {
  test.each([
    ['30 6 * * 1-5', 'At 06:30, Monday through Friday'],
    ['*/15 * * * *', 'Every 15 minutes, every hour, every day'],
    ['0-30/10 8-17 * * *', 'Every 10 minutes, minutes 0 through 30 past the hour, between 08:00 and 17:59, every day'],
    ['0 6,18 1,15 * *', 'At 06:00 and 18:00, on day 1 and 15 of the month'],
    ['0 9 L * *', 'At 09:00, on the last day of the month'],
    ['0 9 * * 5L', 'At 09:00, on the last Friday of the month'],
    ['0 9 * * 1#2', 'At 09:00, on the second Monday of the month'],
    ['0 0 29 2 *', 'At 00:00, on day 29 of the month, only in February'],
    ['  0  6 * jan-mar MON ', 'At 06:00, only on Monday, January through March'],
    ['0 6 * * 0', 'At 06:00, only on Sunday'],
    ['0 6 * * 7', 'At 06:00, only on Sunday'],
    ['0 6 * * SAT,SUN', 'At 06:00, only on Saturday and Sunday'],
  ])('%j, and told in words', (text, words) => {
    expect(cronWords(readCron(text))).toBe(words);
  });

  test('in capitals, with single blanks', () => {
    expect(readCron(' 0  6 * jan mon\t')).toBe('0 6 * JAN MON');
  });
});

describe('a cron that people may read in two ways, or that never comes, is refused', () => {
  test.each([
    ['', /1 fields/],
    ['0 6 * *', /4 fields in place of five/],
    ['0 0 6 * * *', /6 fields in place of five/],
    ['@daily', /1 fields/],
    ['60 * * * *', /minute "60" must be from 0 to 59/],
    ['0 24 * * *', /hour "24" must be from 0 to 23/],
    ['0 6 0 * *', /day of the month "0" must be from 1 to 31/],
    ['0 6 * 13 *', /month "13" must be from 1 to 12/],
    ['0 6 * FOO *', /month "FOO" must be from 1 to 12/],
    ['0 6 * * 8', /day of the week "8" must be from 0 to 7/],
    ['0 6 * * 1#6', /not understood/],
    ['0 22-2 * * *', /ends before it begins/],
    ['*/0 * * * *', /step that must be from 1 to 59/],
    ['*/90 * * * *', /step that must be from 1 to 59/],
    ['5/15 * * * *', /needs \* or a range/],
    ['1,,2 * * * *', /not understood/],
    ['*-5 * * * *', /not understood/],
    ['-1 * * * *', /not understood/],
    ['1.5 * * * *', /not understood/],
    ['? 6 * * *', /not understood/],
    ['H 6 * * *', /not understood/],
    ['0 6 15W * *', /not understood/],
    ['0 6 LW * *', /not understood/],
    ['0 6 L,15 * *', /not understood/],
    ['0 6 1 * 1', /both days of the month and days of the week/],
    ['0 6 31 4 *', /its day never comes/],
    ['0 6 31 4,6 *', /its day never comes/],
    ['0 6 30 2 *', /its day never comes/],
    [`${'0,'.repeat(200)}0 * * * *`, /more than 200 characters/],
  ])('%j', (text, message) => {
    expect(() => readCron(text)).toThrow(Refusal);
    expect(() => readCron(text)).toThrow(message);
  });

  test.each(['Berlin', 'Europe/Berlinn', '', 'local', '+02:00'])('and so is a zone that there is not: %j', (name) => {
    expect(() => openZone(name)).toThrow(/There is no time zone/);
  });
});

test('a zone is known in any capitals, and keeps the name that people use', () => {
  expect(openZone('europe/berlin').name).toBe('Europe/Berlin');
  expect(openZone('Asia/Kolkata').name).toBe('Asia/Kolkata');
});

describe('when clocks are put forward', () => {
  test('a time that does not come is made up for as much later as clocks jump, once', () => {
    expect(shown(['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z'], 2)).toEqual([
      'Sun 2026-03-29 03:30 +02:00',
      'Mon 2026-03-30 02:30 +02:00',
    ]);
  });

  test.each([
    ['0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00:00Z', 'Sun 2018-11-04 01:00 -02:00'],
    ['15 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z', 'Fri 2026-04-24 01:15 +03:00'],
    ['15 0 * * *', 'America/Havana', '2026-03-07T12:00:00Z', 'Sun 2026-03-08 01:15 -04:00'],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00:00Z', 'Sun 2026-10-04 02:45 +11:00'],
  ])('also at midnight and by half an hour: %j in %s', (cron, zone, ...[after, first]) => {
    expect(shown([cron, zone, after], 1)).toEqual([first]);
  });

  test('a time that comes anyway and one that is made up for at the same moment are one', () => {
    expect(shown(['0 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:30:00Z'], 2)).toEqual([
      'Sun 2026-03-29 03:00 +02:00',
      'Mon 2026-03-30 02:00 +02:00',
    ]);
  });

  test('what is planned for every hour goes on as time does', () => {
    expect(shown(['*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z'], 3)).toEqual([
      'Sun 2026-03-29 01:30 +01:00',
      'Sun 2026-03-29 03:00 +02:00',
      'Sun 2026-03-29 03:30 +02:00',
    ]);
  });
});

describe('when clocks are put back', () => {
  test('a time that comes twice counts the first time', () => {
    expect(shown(['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z'], 2)).toEqual([
      'Sun 2026-10-25 02:30 +02:00',
      'Mon 2026-10-26 02:30 +01:00',
    ]);
  });

  test('and not again for who looks in between, or during its second time', () => {
    for (const after of [
      '2026-10-25T00:30:00Z',
      '2026-10-25T00:45:00Z',
      '2026-10-25T01:15:00Z',
      '2026-10-25T01:30:00Z',
    ]) {
      expect(shown(['30 2 * * *', 'Europe/Berlin', after], 1)).toEqual(['Mon 2026-10-26 02:30 +01:00']);
    }
  });

  test('what is planned for every hour comes in both hours', () => {
    expect(shown(['*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z'], 4)).toEqual([
      'Sun 2026-10-25 02:30 +02:00',
      'Sun 2026-10-25 02:00 +01:00',
      'Sun 2026-10-25 02:30 +01:00',
      'Sun 2026-10-25 03:00 +01:00',
    ]);
  });
});

test('one that comes once in years is found', () => {
  expect(shown(['0 6 29 2 *', 'Europe/Berlin', '2026-01-01T00:00:00Z'], 2)).toEqual([
    'Tue 2028-02-29 06:00 +01:00',
    'Sun 2032-02-29 06:00 +01:00',
  ]);
});

const ZONES = Intl.supportedValuesOf('timeZone');
const anyYear = fc.integer({ min: 2020, max: 2036 });
const anyZone = fc.constantFrom(...ZONES);
/** From 2020 on: no place has moved across the date line since, or its midnight into the next day. */
const anyInstant = fc
  .integer({ min: Date.UTC(2020, 0, 1) / 1000, max: Date.UTC(2037, 0, 1) / 1000 })
  .map((s) => s * 1000);
const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
const anyCron = fc
  .tuple(
    fc.oneof(number(0, 59), fc.constantFrom('*', '*/15', '0,30', '45-59')),
    fc.oneof(number(0, 23), fc.constantFrom('*', '*/2', '0-3', '1,2,3')),
    fc.constantFrom('* * *', '* * 1-5', '* * 0', 'L * *', '1,15 * *', '* 3,10 *', '* * 1#1'),
  )
  .map((fields) => fields.join(' '));

/** Instants around a change of clocks, where there is one in the year. */
function changeIn(zoneName: string, year: number): number {
  const zone = openZone(zoneName);
  const away = (atMs: number): number => zone.wallAt(atMs) - atMs;
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += DAY_MS) {
    if (away(day) !== away(day + DAY_MS)) return day;
  }
  return Date.UTC(year, 6, 1);
}

interface TimeOfDay {
  readonly name: string;
  readonly year: number;
  readonly minute: string;
  readonly hour: string;
}

function expectOnceForEachDay({ name, year, minute, hour }: TimeOfDay): void {
  const zone = openZone(name);
  const firstMs = Date.UTC(year, 0, 1);
  const days = (Date.UTC(year + 1, 0, 1) - firstMs) / DAY_MS;
  const afterMs = zone.instantAt(firstMs) - 1;
  const times = nextTimes(`${minute} ${hour} * * *`, zone, { afterMs, count: days });
  const timeOfDayMs = (Number(hour) * 60 + Number(minute)) * MINUTE_MS;
  const wanted = times.map((_, day) => {
    const wallMs = firstMs + day * DAY_MS + timeOfDayMs;
    return wallText(zone.instantsAt(wallMs).length > 0 ? wallMs : wallMs + jumpNear(zone, wallMs));
  });
  expect(times.map((timeMs) => wallText(zone.wallAt(timeMs)))).toEqual(wanted);
  expect(times).toHaveLength(days);
}

/** How far the clock is put forward within a day of a wall time. */
function jumpNear(zone: Zone, wallMs: number): number {
  const away = (atMs: number): number => zone.wallAt(atMs) - atMs;
  const middleMs = wallMs - away(wallMs);
  return away(middleMs + DAY_MS) - away(middleMs - DAY_MS);
}

describe('in every zone', { timeout: 120_000 }, () => {
  test('a time of day comes once for each day of a year, later by the jump on a day whose clock jumps over it', () => {
    const anyCase = fc.record({ name: anyZone, year: anyYear, minute: number(0, 59), hour: number(0, 23) });
    fc.assert(fc.property(anyCase, expectOnceForEachDay), {
      numRuns: 15,
      examples: [
        // The clock jumps from 23:00 on Saturday to midnight: the time of that day comes on Sunday.
        [{ name: 'America/Scoresbysund', year: 2025, minute: '0', hour: '23' }],
        [{ name: 'America/Nuuk', year: 2026, minute: '30', hour: '23' }],
        [{ name: 'Africa/Cairo', year: 2026, minute: '15', hour: '0' }],
        [{ name: 'Australia/Lord_Howe', year: 2026, minute: '15', hour: '2' }],
      ],
    });
  });

  test('the same times are planned from wherever one looks', () => {
    const anyCase = fc.record({
      name: anyZone,
      cron: anyCron,
      year: anyYear,
      minutes: fc.integer({ min: -48 * 60, max: 48 * 60 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(anyCase, ({ name, cron, year, minutes, part }) => {
        const zone = openZone(name);
        const afterMs = changeIn(name, year) + minutes * 60_000;
        const times = nextTimes(cron, zone, { afterMs, count: 6 });
        for (const [index, timeMs] of times.entries()) {
          const before = times[index - 1] ?? afterMs;
          expect(timeMs).toBeGreaterThan(before);
          const between = before + Math.floor((timeMs - 1 - before) * part);
          expect(nextTimes(cron, zone, { afterMs: between, count: 1 })).toEqual([timeMs]);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('what comes is what the clock shows, or stands for what it jumps over', () => {
    const anyCase = fc.record({ name: anyZone, afterMs: anyInstant, minute: number(0, 59), hour: number(0, 23) });
    fc.assert(
      fc.property(anyCase, ({ name, afterMs, minute, hour }) => {
        const zone = openZone(name);
        for (const timeMs of nextTimes(`${minute} ${hour} * * 1`, zone, { afterMs, count: 4 })) {
          const midnightMs = Math.floor(zone.wallAt(timeMs) / DAY_MS) * DAY_MS;
          const wallMs = midnightMs + (Number(hour) * 60 + Number(minute)) * 60_000;
          expect(new Date(wallMs).getUTCDay()).toBe(1);
          expect(timeMs).toBe(zone.instantAt(wallMs));
        }
      }),
      { numRuns: 100 },
    );
  });

  test('a wall time stands for the instants at which the clock shows it', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (name, instantMs) => {
        const zone = openZone(name);
        const instants = zone.instantsAt(zone.wallAt(instantMs));
        expect(instants).toContain(instantMs);
        expect(instants.length).toBeLessThanOrEqual(2);
        expect(zone.instantAt(zone.wallAt(instantMs))).toBe(instants[0]);
      }),
      { numRuns: 500 },
    );
  });
});
