import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { calendarsSetting } from '../../src/config/calendars.ts';

const EUR = { zone: 'Europe/Berlin', opens: '08:00', cutOff: '16:00' };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-calendars-'));
  writeFileSync(
    join(folder, 'good.txt'),
    '\uFEFF# kept by the treasury\r\n2026-12-25 # Christmas\r\n\r\n  2026-12-26\n',
  );
  writeFileSync(join(folder, 'bad.txt'), '2026-12-25\n26.12.2026\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

const problemsOf = (value: unknown): string[] =>
  calendarsSetting(folder)
    .safeParse(value)
    .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

test('a calendar is read, with Saturday and Sunday as its weekend unless it says otherwise', () => {
  const calendars = calendarsSetting(folder).parse({
    EUR,
    AED: { ...EUR, weekend: ['fri'], holidays: ['2026-12-02'] },
  });
  expect(calendars).toEqual({
    EUR: { ...EUR, weekend: ['sat', 'sun'], holidays: new Set() },
    AED: { ...EUR, weekend: ['fri'], holidays: new Set(['2026-12-02']) },
  });
});

test('holidays may stand in a file beside it, with remarks and empty lines, as any editor saves it', () => {
  const { EUR: read } = calendarsSetting(folder).parse({
    EUR: { ...EUR, holidays: ['2026-01-01'], holidaysFile: 'good.txt' },
  });
  expect(read?.holidays).toEqual(new Set(['2026-01-01', '2026-12-25', '2026-12-26']));
});

describe('what is wrong is named', () => {
  test.each<[unknown, RegExp]>([
    [{ eur: EUR }, /three capital letters|Invalid key/],
    [{ EUR: { ...EUR, zone: 'Berlin' } }, /^EUR\.zone: There is no time zone "Berlin"/],
    [{ EUR: { ...EUR, opens: '8:00' } }, /^EUR\.opens: must be a time of day/],
    [{ EUR: { ...EUR, cutOff: '24:00' } }, /^EUR\.cutOff: must be a time of day/],
    [{ EUR: { ...EUR, cutOff: '08:00' } }, /^EUR\.cutOff: must come after opens/],
    [{ EUR: { ...EUR, weekend: ['sabbath'] } }, /^EUR\.weekend\.0/],
    [
      { EUR: { ...EUR, weekend: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] } },
      /^EUR\.weekend: must leave a day/,
    ],
    [{ EUR: { ...EUR, holidays: ['2026-02-30'] } }, /^EUR\.holidays\.0: must be a date/],
    [{ EUR: { ...EUR, holiday: [] } }, /^EUR: .*holiday/],
    [{ EUR: { ...EUR, holidaysFile: 'none.txt' } }, /^EUR\.holidaysFile: .*cannot be read \(ENOENT\)/],
    [{ EUR: { ...EUR, holidaysFile: 'bad.txt' } }, /^EUR\.holidaysFile: line 2 of that file is no date/],
    [[], /expected/],
  ])('%j', (value, problem) => {
    expect(problemsOf(value).join('\n')).toMatch(problem);
  });
});
