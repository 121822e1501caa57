import { describe, expect, test } from 'vitest';
import type { Calendars } from '../../src/config/calendars.ts';
import { foreseeEnd, foreseeLate } from '../../src/schedules/forecast.ts';
import { runOf as reportedRun } from '../report/rows.ts';

const CALENDARS: Calendars = {
  EUR: {
    zone: 'Europe/Berlin',
    opens: '08:00',
    cutOff: '16:00',
    weekend: ['sat', 'sun'],
    holidays: new Set(['2026-12-25']),
  },
  USD: { zone: 'America/New_York', opens: '09:00', cutOff: '17:00', weekend: ['sat', 'sun'], holidays: new Set() },
};

function runOf(ready: number, other: { id?: string; currencies?: string[]; state?: 'paying' | 'paused' } = {}) {
  const { counts, ...run } = reportedRun([]);
  return { ...run, state: 'paying' as const, currencies: ['EUR', 'GBP'], counts: { ...counts, ready }, ...other };
}

function foresee(runs: Parameters<typeof foreseeLate>[0], now: string, perSecond = 10) {
  return foreseeLate(runs, { calendars: CALENDARS, perSecond, nowMs: Date.parse(now) });
}

describe('a run is foreseen to be late', () => {
  test('by how much and with how many rows, at the rate of now', () => {
    const [late] = foresee([runOf(12_000)], '2026-03-27T15:50:00+01:00');
    expect(late?.words).toBe('will miss the 16:00 cut-off of EUR by 10 min: 6,000 rows');
    expect(late).toMatchObject({ rows: 6000, cutOffAt: Date.parse('2026-03-27T16:00:00+01:00') });
  });

  test('with all that is left of it, once the cut-off has passed', () => {
    const [late] = foresee([runOf(1)], '2026-03-27T16:01:00+01:00');
    expect(late?.words).toBe('will miss the 16:00 cut-off of EUR by 2 min: 1 row');
  });

  test('by the earliest cut-off of its currencies', () => {
    const run = runOf(36_000, { currencies: ['USD', 'EUR'] });
    expect(foresee([run], '2026-03-27T15:30:00+01:00')[0]?.words).toContain('16:00 cut-off of EUR');
    const late = foresee([{ ...run, currencies: ['USD'] }], '2026-03-27T15:30:00-04:00', 1);
    expect(late[0]?.words).toContain('17:00 cut-off of USD');
  });

  test('because of others that are paid in turn with it, as far as these have rows', () => {
    const run = runOf(4000);
    expect(foresee([run], '2026-03-27T15:50:00+01:00')).toEqual([]);
    const late = foresee([run, runOf(400_000, { id: 'large' })], '2026-03-27T15:50:00+01:00');
    expect(late.map(({ run: { id }, rows }) => [id, rows])).toEqual([
      [run.id, 1000],
      ['large', expect.any(Number)],
    ]);
    expect(foresee([run, runOf(1000, { id: 'small' })], '2026-03-27T15:50:00+01:00')).toEqual([]);
  });
});

describe('a run is not foreseen to be late', () => {
  test.each([
    ['that ends before the cut-off', runOf(5999), '2026-03-27T15:50:00+01:00'],
    ['that has nothing left to send', runOf(0), '2026-03-27T16:10:00+01:00'],
    ['that is paused', runOf(12_000, { state: 'paused' }), '2026-03-27T15:50:00+01:00'],
    ['in a currency without a calendar', runOf(12_000, { currencies: ['GBP'] }), '2026-03-27T15:50:00+01:00'],
    ['on a holiday, which has no cut-off', runOf(12_000), '2026-12-25T15:50:00+01:00'],
  ])('%s', (_name, run, now) => {
    expect(foresee([run], now)).toEqual([]);
  });
});

test('the end of a run is foreseen with those that are paid in turn with it, whether it has a cut-off or none', () => {
  const [small, large] = [runOf(100, { id: 'small', currencies: [] }), runOf(1000, { id: 'large' })];
  const at = { perSecond: 10, nowMs: 1_000_000 };
  const runs = [small, large, runOf(5000, { id: 'paused', state: 'paused' })];
  expect(runs.slice(0, 2).map((run) => foreseeEnd(run, runs, at) - at.nowMs)).toEqual([20_000, 110_000]);
});
