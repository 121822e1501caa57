import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { isRunId, newRunId } from '../../src/runs/hand-in/run-id.ts';

const at = (now: number) => ({ clock: { ...systemClock, now: () => now }, random: systemRandom });

test.each([
  [Date.UTC(2026, 0, 31, 23, 59, 59, 999), '20260131-'],
  [Date.UTC(2026, 1, 1), '20260201-'],
])('a run id begins with its day in UTC (%i)', (now, day) => {
  expect(newRunId(at(now))).toMatch(new RegExp(`^${day}[2-9a-z]{6}$`));
});

test('has no letter or digit that is taken for another, and what files, queues and keys may have', () => {
  const ids = Array.from({ length: 2000 }, () => newRunId(at(0)));
  const letters = new Set(ids.flatMap((id) => id.slice('19700101-'.length).split('')));
  expect([...letters].filter((letter) => /[01ilouOI]/.test(letter))).toEqual([]);
  expect(letters.size).toBe(30);
  expect(new Set(ids).size).toBeGreaterThan(1990);
});

test('is the same for the same day and randomness', () => {
  const random = { ...systemRandom, bytes: (count: number) => Buffer.alloc(count, 255) };
  const clock = { ...systemClock, now: () => 0 };
  expect(newRunId({ clock, random })).toBe(newRunId({ clock, random }));
});

test('is told from what only stands in its place', () => {
  expect(isRunId(newRunId(at(0)))).toBe(true);
  for (const text of ['', '19700101-', '19700101-2345678', '19700101-ABCDEF', "19700101-23456'"]) {
    expect([text, isRunId(text)]).toEqual([text, false]);
  }
});
