import { z } from 'zod';
import { reportRow } from '../../../report/row.ts';
import type { Web, WebDeps } from '../../web.ts';
import { rowDocument } from '../documents.ts';

const reply = z.object({
  runs: z.array(z.object({ runId: z.string(), state: z.string(), fileName: z.string() })),
  /** At most 50, the newest first. */
  rows: z.array(z.object({ runId: z.string(), row: rowDocument })),
  hasMore: z.boolean(),
  /** False while rows are still being read. */
  isWhole: z.boolean(),
});

/** The search box of the pages, for programs. */
export function addSearchOperation(api: Web, deps: WebDeps): void {
  const schema = {
    summary: 'Search all runs: references, amounts, payments, beneficiaries, runs and their files',
    querystring: z.strictObject({
      text: z
        .string()
        .min(1)
        .max(100)
        .describe('Any part of a reference in any case, the name or id of a beneficiary, an amount, a payment id'),
    }),
    response: { 200: reply },
  };
  api.get('/search', { config: { act: 'read' }, schema }, async ({ query }) => {
    const { runs, rows, hasMore, isWhole } = await deps.search(query.text);
    return {
      runs: runs.map(({ id, state, fileName }) => ({ runId: id, state, fileName })),
      rows: rows.map(({ runId, row }) => ({ runId, row: reportRow(row) })),
      hasMore,
      isWhole,
    };
  });
}
