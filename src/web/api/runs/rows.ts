import { z } from 'zod';
import { OUTCOMES } from '../../../payout.ts';
import { findRows, statesWith } from '../../../runs/find-rows.ts';
import { requireTrueRows, trueRows } from '../../../runs/safety/shown-seals.ts';
import { findRun } from '../../runs/find-run.ts';
import type { Web, WebDeps } from '../../web.ts';
import { rowDocument } from '../documents.ts';
import { ofRun, page } from '../places.ts';
import { sendRows } from './row-stream.ts';

const ROWS_PER_PAGE = 100;

/** The rows of a run as they are read: all of them, however many, a page of them, or those with a reference. */
export function addRowOperations(api: Web, deps: WebDeps): void {
  const { ledger } = deps.app;
  const { runs } = ledger;
  const querystring = z.strictObject({
    outcome: z.enum(OUTCOMES).optional(),
    text: z.string().max(200).optional().describe('The whole reference of a row, exactly as in the file'),
    page: page.unwrap().optional(),
    format: z.enum(['json', 'ndjson']).default('json'),
  });
  const response = {
    200: {
      description:
        `The rows in file order; all of them, or page by page of ${ROWS_PER_PAGE}. Of those with the reference \`text\` ` +
        `there is one page; \`X-Search-Complete: false\` says that a search of a large run ended before it had seen all rows`,
      content: {
        'application/json': { schema: z.array(rowDocument) },
        'application/x-ndjson': { schema: z.string().describe('A row in each line') },
      },
    },
  };
  const schema = { summary: 'The rows of a run', params: ofRun, querystring, response };
  api.get('/runs/:run/payouts', { config: { act: 'read' }, schema }, async ({ params, query }, reply) => {
    const run = await findRun(deps, params.run);
    const { outcome, text = '', page: number, format } = query;
    if (text !== '') {
      const { rows, isWhole } = await findRows(ledger, run, { reference: text, outcome });
      await requireTrueRows(deps.app, run, rows);
      reply.header('x-total-count', rows.length).header('x-search-complete', String(isWhole));
      return sendRows(reply, number === undefined || number === 1 ? [rows] : [], format);
    }
    const states = statesWith(outcome);
    const count = states.reduce((sum, state) => sum + run.counts[state], 0);
    reply.header('x-total-count', count);
    if (number === undefined) return sendRows(reply, trueRows(deps.app, run, runs.rows(run.id, states)), format);
    const skip = (number - 1) * ROWS_PER_PAGE;
    const rows = await runs.page(run.id, { states, skip, most: ROWS_PER_PAGE });
    return sendRows(reply, [await requireTrueRows(deps.app, run, rows)], format);
  });
}
