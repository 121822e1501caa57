import type { PeriodReport } from '../../report/period/period.ts';
import { type PeriodRange, periodOf } from '../../report/period/period-range.ts';
import { readPeriod } from '../../runs/period.ts';
import { Problem } from '../problem.ts';
import type { WebDeps } from '../web.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_MAX = 400;

type Query = Parameters<typeof periodOf>[0];

/** The period that an address names; undefined for none. Throws a Problem (400) for one that cannot be. */
export function askedPeriod(query: Query): PeriodRange | undefined {
  const range = periodOf(query);
  if (typeof range === 'string')
    throw new Problem(400, range, 'Name one day, week or month, or a first and a last day.');
  if (range !== undefined && range.end - range.from > DAYS_MAX * DAY_MS) {
    throw new Problem(
      400,
      `A period has at most ${DAYS_MAX} days here.`,
      'Name a shorter one. The command "report" takes any.',
    );
  }
  return range;
}

/** The same. Throws a Problem (400) for none, too. */
export function requirePeriod(query: Query): PeriodRange {
  const range = askedPeriod(query);
  if (range !== undefined) return range;
  throw new Problem(400, 'No period is named.', 'Name one day, week or month, or a first and a last day.');
}

/** Of its report, without its ending. */
export function periodFileName({ name }: PeriodRange): string {
  return `period-${name.replaceAll(' ', '-')}`;
}

/** Reads the rows of a period, for one person at a time. Throws a Problem (503) while they are read for somebody else. */
export function openPeriods({ app }: WebDeps): (range: PeriodRange) => Promise<PeriodReport> {
  let isBusy = false;
  return async (range) => {
    if (isBusy) throw new Problem(503, 'A period is being added up for somebody else.', 'Try again in a moment.');
    isBusy = true;
    try {
      return await readPeriod(app, range);
    } finally {
      isBusy = false;
    }
  };
}
