import { z } from 'zod';
import { OUTCOMES } from '../../payout.ts';
import { ANYTHING, ROW_SORTS, type RowSearch } from '../../runs/search/row-search.ts';
import { hrefWith } from '../lists/href.ts';
import { moneyQuery } from '../lists/money-query.ts';

/** Which rows of a run are wanted, and in which order; '' for any. */
export const rowQuery = {
  outcome: z.union([z.literal(''), z.enum(OUTCOMES)]).default(''),
  text: z.string().trim().max(200).default(''),
  ...moneyQuery,
  sort: z.enum(ROW_SORTS).default('line').describe('A column; with a minus before it from the largest down'),
};

/** What a page of rows was asked for. */
export type RowsWanted = Omit<RowSearch, 'reference'>;

/** The list of a run's rows, narrowed down; `ending` is `.csv` for the file. */
export function hrefOfRows(
  runId: string,
  wanted: Partial<RowsWanted> & { readonly page?: number },
  ending = '',
): string {
  const { sort = ANYTHING.sort, page = 1, ...others } = wanted;
  return hrefWith(`/runs/${runId}/payouts${ending}`, {
    ...others,
    sort: sort === ANYTHING.sort ? '' : sort,
    page: page === 1 ? '' : page,
  });
}
