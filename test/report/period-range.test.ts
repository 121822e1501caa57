import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rfc3339 } from '../../src/clock.ts';
import { periodFields, periodOf } from '../../src/report/period/period-range.ts';

const schema = z.strictObject(periodFields);

function days(wanted: Record<string, string>): string[] | string | undefined {
  const range = periodOf(schema.parse(wanted));
  if (range === undefined || typeof range === 'string') return range;
  return [rfc3339(range.from).slice(0, 10), rfc3339(range.end).slice(0, 10), range.name];
}

test.each<[Record<string, string>, string[]]>([
  [{ day: '2026-02-28' }, ['2026-02-28', '2026-03-01', '2026-02-28']],
  [{ week: '2026-W01' }, ['2025-12-29', '2026-01-05', '2026-W01']],
  [{ week: '2020-W53' }, ['2020-12-28', '2021-01-04', '2020-W53']],
  [{ week: '2027-W01' }, ['2027-01-04', '2027-01-11', '2027-W01']],
  [{ month: '2024-02' }, ['2024-02-01', '2024-03-01', '2024-02']],
  [{ month: '2025-12' }, ['2025-12-01', '2026-01-01', '2025-12']],
  [{ from: '2026-01-01', to: '2026-01-31' }, ['2026-01-01', '2026-02-01', '2026-01-01 to 2026-01-31']],
  [{ from: '2026-01-31', to: '2026-01-31' }, ['2026-01-31', '2026-02-01', '2026-01-31']],
])('%j is whole days in UTC', (wanted, range) => {
  expect(days(wanted)).toEqual(range);
});

test('nothing named is no period', () => {
  expect(days({})).toBeUndefined();
});

test.each<[Record<string, string>, string]>([
  [{ from: '2026-01-31', to: '2026-01-01' }, 'The period ends before it begins.'],
  [{ from: '2026-01-31' }, 'A period has a first and a last day.'],
  [{ day: '2026-01-31', month: '2026-01' }, 'More than one period is named.'],
  [{ week: '2026-W05', from: '2026-01-01', to: '2026-01-31' }, 'More than one period is named.'],
])('%j is refused', (wanted, message) => {
  expect(days(wanted)).toBe(message);
});

describe('no period is', () => {
  test.each([
    ['day', '2026-02-29'],
    ['week', '2026-W54'],
    ['week', '2025-W53'],
    ['week', '2026-W00'],
    ['week', '2026-05'],
    ['month', '2026-13'],
    ['month', '2026-1'],
    ['from', 'January'],
  ])('%s %s', (name, text) => {
    expect(schema.safeParse({ [name]: text }).success).toBe(false);
  });
});
