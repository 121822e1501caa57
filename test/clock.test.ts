import { describe, expect, test } from 'vitest';
import { rfc3339, systemClock, systemRandom } from '../src/clock.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

describe('the system clock', () => {
  test('has the time of day, and a time that never goes back', () => {
    const before = Date.now();
    const now = systemClock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
    const times = Array.from({ length: 1000 }, () => systemClock.monotonic());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test.each([0, -5, Number.NEGATIVE_INFINITY])('does not sleep for %d ms', async (ms) => {
    await expect(systemClock.sleep(ms)).resolves.toBeUndefined();
  });

  test('wakes at once, and without an error, when the signal aborts', async () => {
    const abort = new AbortController();
    const sleeping = systemClock.sleep(LONGEST_TIMER_MS, abort.signal);
    abort.abort(new Error('stop'));
    await expect(sleeping).resolves.toBeUndefined();
    await expect(systemClock.sleep(LONGEST_TIMER_MS, abort.signal)).resolves.toBeUndefined();
  });

  test('sleeps on for longer than the longest timer of Node, which would end at once', async () => {
    const abort = new AbortController();
    const first = await Promise.race([
      systemClock.sleep(LONGEST_TIMER_MS + 1, abort.signal).then(() => 'a month'),
      systemClock.sleep(50).then(() => 'a moment'),
    ]);
    abort.abort();
    expect(first).toBe('a moment');
  });
});

describe('the system randomness', () => {
  test('spreads fractions over [0, 1)', () => {
    const fractions = Array.from({ length: 1000 }, () => systemRandom.fraction());
    expect(fractions.filter((fraction) => !(fraction >= 0 && fraction < 1))).toEqual([]);
    expect(new Set(fractions.map((fraction) => Math.floor(fraction * 10))).size).toBe(10);
  });

  test('gives as many bytes as asked for, others each time', () => {
    expect(systemRandom.bytes(0)).toHaveLength(0);
    expect(systemRandom.bytes(32)).toHaveLength(32);
    expect(systemRandom.bytes(32)).not.toEqual(systemRandom.bytes(32));
  });

  test('gives UUIDs of version 4', () => {
    const ids = Array.from({ length: 100 }, () => systemRandom.uuid());
    expect(
      ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toEqual([]);
    expect(new Set(ids).size).toBe(100);
  });
});

test.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [Date.UTC(2026, 0, 31, 23, 59, 59, 7), '2026-01-31T23:59:59.007Z'],
  [Date.UTC(2028, 1, 29), '2028-02-29T00:00:00.000Z'],
  [-1, '1969-12-31T23:59:59.999Z'],
  [Date.UTC(10_000, 0), '+010000-01-01T00:00:00.000Z'],
])('%i is %s', (epochMs, text) => {
  expect(rfc3339(epochMs)).toBe(text);
});

test('what is no time is refused', () => {
  expect(() => rfc3339(Number.NaN)).toThrow(RangeError);
});
