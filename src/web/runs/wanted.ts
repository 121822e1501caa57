import { z } from 'zod';
import { OUTCOMES, RUN_STATES } from '../../payout.ts';
import { NEWEST_FIRST, RUN_SORTS, type RunsWanted } from '../../runs/search/run-search.ts';
import { hrefWith } from '../lists/href.ts';
import { moneyQuery } from '../lists/money-query.ts';

const day = z.union([z.literal(''), z.iso.date('must be a day such as 2026-01-31')]).default('');

/** Which runs are wanted, and in which order; '' for any. */
export const runsQuery = {
  state: z.union([z.literal(''), z.enum([...RUN_STATES, 'starts-later'])]).default(''),
  outcome: z
    .union([z.literal(''), z.enum([...OUTCOMES, 'not-paid'])])
    .default('')
    .describe('What some of its rows came to; `not-paid` is any outcome without the money with its beneficiary'),
  text: z.string().max(200).trim().default(''),
  ...moneyQuery,
  from: day.describe('The first day on which they were handed in, in the zone of the settings'),
  to: day.describe('The last one'),
  sort: z.enum(RUN_SORTS).default(NEWEST_FIRST).describe('A column; with a minus before it from the largest down'),
};

/** The list of runs, narrowed down; `ending` is `.csv` for the file. */
export function hrefOfRuns({ sort, ...wanted }: RunsWanted & { readonly page?: number }, ending = ''): string {
  return hrefWith(`/runs${ending}`, { ...wanted, sort: sort === NEWEST_FIRST ? '' : sort });
}
