import { type PeriodRange, periodOf } from '../../report/period/period-range.ts';
import { Problem } from '../problem.ts';

type Query = Parameters<typeof periodOf>[0];

/** The period that an address names; undefined for none. Throws a Problem (400) for one that cannot be. */
export function askedPeriod(query: Query): PeriodRange | undefined {
  const range = periodOf(query);
  if (typeof range !== 'string') return range;
  throw new Problem(400, range, 'Name one day, week or month, or a first and a last day.');
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
