import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { codeOf, Refusal } from '../refusal.ts';
import { openZone } from '../zone.ts';

export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** When payments of one currency may be sent: from `opens` to before `cutOff` (`HH:MM`, by its own clock) on its banking days. */
export interface Calendar {
  /** Name in the IANA time zone database. */
  readonly zone: string;
  readonly opens: string;
  readonly cutOff: string;
  readonly weekend: readonly Weekday[];
  /** Dates as `YYYY-MM-DD`. */
  readonly holidays: ReadonlySet<string>;
}

/** By currency. One without a calendar is always open. */
export type Calendars = Readonly<Partial<Record<string, Calendar>>>;

const HOLIDAYS_MAX = 10_000;

const timeOfDay = z.string().regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day as HH:MM');
const holiday = z.iso.date('must be a date as YYYY-MM-DD');

const zone = z.string().superRefine((name, context) => {
  try {
    openZone(name);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    context.addIssue(`${error.message} ${error.remedy}`);
  }
});

/**
 * The part `calendars` of the file that PAYRUN_CONFIG names: by currency, its zone, when payments may begin, the cut-off, the
 * weekend, and holidays here or in a text file of its own (`holidaysFile`, a date a line, the rest of a line after # is a
 * remark), whose path is taken from `folder` and which is read at once.
 */
export function calendarsSetting(folder: string) {
  const calendar = z
    .strictObject({
      zone,
      opens: timeOfDay,
      cutOff: timeOfDay,
      weekend: z.array(z.enum(WEEKDAYS)).max(6, 'must leave a day to bank on').default(['sat', 'sun']),
      holidays: z.array(holiday).max(HOLIDAYS_MAX).default([]),
      holidaysFile: z.string().min(1).optional(),
    })
    .refine(({ opens, cutOff }) => opens < cutOff, { error: 'must come after opens', path: ['cutOff'] })
    .transform(({ holidays, holidaysFile, ...rest }, context): Calendar => {
      const listed = holidaysFile === undefined ? [] : readHolidays(resolve(folder, holidaysFile));
      if (typeof listed !== 'string') return { ...rest, holidays: new Set([...holidays, ...listed]) };
      context.addIssue({ code: 'custom', path: ['holidaysFile'], message: listed });
      return z.NEVER;
    });
  return z.record(z.string().regex(/^[A-Z]{3}$/, 'must be a currency as three capital letters'), calendar);
}

/** The dates of a file, or what is wrong with it. */
function readHolidays(path: string): string[] | string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return `must name a file with a date a line; it cannot be read (${codeOf(error) ?? 'error'})`;
  }
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, '').trim());
  const wrong = lines.findIndex((line) => line !== '' && !holiday.safeParse(line).success);
  if (wrong >= 0) return `line ${wrong + 1} of that file is no date as YYYY-MM-DD`;
  const dates = lines.filter((line) => line !== '');
  return dates.length > HOLIDAYS_MAX ? `that file has more than ${HOLIDAYS_MAX} dates` : dates;
}
