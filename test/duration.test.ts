import { expect, test } from 'vitest';
import { duration } from '../src/duration.ts';

test.each([
  ['0ms', 0],
  ['250ms', 250],
  ['45s', 45_000],
  ['5m', 300_000],
  ['24h', 86_400_000],
  ['400d', 34_560_000_000],
  ['007s', 7000],
])('%s is %i milliseconds', (text, ms) => {
  expect(duration.parse(text)).toBe(ms);
});

test.each([
  '',
  ' ',
  '5',
  '5 s',
  ' 5s',
  '5s ',
  '5S',
  '5sec',
  '5w',
  '-5s',
  '+5s',
  '1.5s',
  '1e3s',
  '1h30m',
  's',
  '५s',
  '1000000000d',
  '5s\n',
])('%j is no duration, and the message says what one looks like', (text) => {
  const parsed = duration.safeParse(text);
  expect(parsed.success).toBe(false);
  expect(parsed.error?.issues[0]?.message).toContain('for example 45s');
});

test('whatever it takes is an exact number of milliseconds', () => {
  const taken = ['ms', 's', 'm', 'h', 'd'].map((unit) => duration.safeParse(`999999999${unit}`).data ?? 0);
  expect(taken.filter((ms) => !Number.isSafeInteger(ms))).toEqual([]);
});
