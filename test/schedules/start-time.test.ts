import { describe, expect, test } from 'vitest';
import { Refusal } from '../../src/refusal.ts';
import { startTimeOf } from '../../src/schedules/start-time.ts';

const NOW = '2026-03-27T12:00:00Z';
const BERLIN = 'Europe/Berlin';

const startOf = (text: string, zone?: string, now = NOW): string =>
  new Date(startTimeOf(text, { zone, nowMs: Date.parse(now) })).toISOString();

describe('a start is', () => {
  test.each([
    ['2026-03-30T06:30:00+02:00', undefined, '2026-03-30T04:30:00.000Z'],
    ['2026-03-30T06:30:00Z', undefined, '2026-03-30T06:30:00.000Z'],
    ['2026-03-30t06:30:00.25z', undefined, '2026-03-30T06:30:00.250Z'],
    ['2026-03-30 06:30:00-05:30', undefined, '2026-03-30T12:00:00.000Z'],
    ['2026-03-30T06:30', BERLIN, '2026-03-30T04:30:00.000Z'],
    ['2026-03-28T06:30', BERLIN, '2026-03-28T05:30:00.000Z'],
    ['13:30', BERLIN, '2026-03-27T12:30:00.000Z'],
    ['13:00', BERLIN, '2026-03-28T12:00:00.000Z'],
    ['06:30', BERLIN, '2026-03-28T05:30:00.000Z'],
    ['06:30', 'Pacific/Auckland', '2026-03-27T17:30:00.000Z'],
  ])('%s in %s: %s', (text, zone, start) => {
    expect(startOf(text, zone)).toBe(start);
  });

  test('tomorrow by the clock on the wall, also when clocks change in between', () => {
    expect(startOf('12:00', BERLIN, '2026-03-28T12:00:00Z')).toBe('2026-03-29T10:00:00.000Z');
  });

  test('later today where the time of day comes twice and its second coming is still ahead: it has to be said which', () => {
    expect(() => startOf('02:30', BERLIN, '2026-10-25T00:45:00Z')).toThrow(/comes twice on 2026-10-25/);
    expect(startOf('02:30', BERLIN, '2026-10-25T01:45:00Z')).toBe('2026-10-26T01:30:00.000Z');
  });
});

describe('a start is refused that', () => {
  test.each<[why: string, text: string, zone: string | undefined, message: RegExp]>([
    ['has passed', '2026-03-27T12:00:00Z', undefined, /has passed/],
    ['has passed by the local clock', '2026-03-27T12:59', BERLIN, /has passed/],
    ['is more than a year away', '2027-04-01T06:30:00Z', undefined, /more than a year away/],
    ['has no offset and no zone', '2026-03-30T06:30:00', undefined, /is no time/],
    ['is a time of day without a zone', '06:30', undefined, /is no time/],
    ['has an offset and a zone', '2026-03-30T06:30:00+02:00', BERLIN, /is no time of day or local/],
    ['is no day of any month', '2026-02-31T06:30:00Z', undefined, /is no time/],
    ['is no local day of any month', '2026-02-31T06:30', BERLIN, /is no time of day or local/],
    ['is no time of day', '24:30', BERLIN, /is no time of day/],
    ['has an offset that there is not', '2026-03-30T06:30:00+25:00', undefined, /is no time/],
    ['is said in words', 'tomorrow', BERLIN, /is no time of day/],
    ['is empty', '', undefined, /is no time/],
    ['is in a zone that there is not', '06:30', 'Berlin', /There is no time zone/],
    ['does not come, as clocks are put forward', '2026-03-29T02:30', BERLIN, /does not come on 2026-03-29/],
    [
      'comes twice, as clocks are put back',
      '2026-10-25T02:30',
      BERLIN,
      /comes twice on 2026-10-25 .*02:30 \+02:00 .*02:30 \+01:00/,
    ],
  ])('%s', (...[, text, zone, message]) => {
    expect(() => startOf(text, zone)).toThrow(Refusal);
    expect(() => startOf(text, zone)).toThrow(message);
  });
});
