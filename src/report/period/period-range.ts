import { z } from 'zod';

const DAY_MS = 24 * 60 * 60 * 1000;
const WEEK_DAYS = 7;
const WEEK = /^([0-9]{4})-W(0[1-9]|[1-4][0-9]|5[0-3])$/;

const day = z.iso.date('must be a day such as 2026-01-31');

/** How a period is named: by its first and last day, or as one day, week (ISO 8601) or month, all in UTC. */
export const periodFields = {
  from: day.optional(),
  to: day.optional(),
  day: day.optional(),
  week: z
    .string()
    .regex(WEEK, 'must be a week such as 2026-W05')
    .refine((text) => mondayOf(text) !== undefined, 'must be a week that its year has')
    .optional(),
  month: z
    .string()
    .regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')
    .optional(),
};

type PeriodWanted = z.infer<z.ZodObject<typeof periodFields>>;

/** Milliseconds since 1970, the end not included; `name` is as people say it. */
export interface PeriodRange {
  readonly from: number;
  readonly end: number;
  readonly name: string;
}

/** The period that is wanted; undefined where none is named, and a sentence where more than one is, or half of one. */
export function periodOf({ from, to, day: one, week, month }: PeriodWanted): PeriodRange | string | undefined {
  const named = [one, week, month].filter((text) => text !== undefined);
  const isRange = from !== undefined || to !== undefined;
  if (named.length + Number(isRange) > 1) return 'More than one period is named.';
  if (isRange) return daysOf(from, to);
  if (one !== undefined) return daysOf(one, one);
  const monday = week === undefined ? undefined : mondayOf(week);
  if (monday !== undefined) return { from: monday, end: monday + WEEK_DAYS * DAY_MS, name: week ?? '' };
  return month === undefined ? undefined : monthOf(month);
}

function daysOf(from: string | undefined, to: string | undefined): PeriodRange | string {
  if (from === undefined || to === undefined) return 'A period has a first and a last day.';
  if (to < from) return 'The period ends before it begins.';
  return { from: startOf(from), end: startOf(to) + DAY_MS, name: from === to ? from : `${from} to ${to}` };
}

function monthOf(month: string): PeriodRange {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return { from: startOf(`${month}-01`), end: Date.UTC(year, number), name: month };
}

/** Where an ISO week begins; undefined for a text that is none, and for a week that its year does not have. */
function mondayOf(text: string): number | undefined {
  const [, year = '', week = ''] = WEEK.exec(text) ?? [];
  if (year === '') return undefined;
  // The fourth of January is in the first week.
  const fourth = startOf(`${year}-01-04`);
  const monday = fourth + ((Number(week) - 1) * WEEK_DAYS - weekdayOf(fourth)) * DAY_MS;
  const thursday = new Date(monday + 3 * DAY_MS);
  return thursday.getUTCFullYear() === Number(year) ? monday : undefined;
}

/** From Monday, 0. */
function weekdayOf(at: number): number {
  return (new Date(at).getUTCDay() + WEEK_DAYS - 1) % WEEK_DAYS;
}

function startOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`);
}
