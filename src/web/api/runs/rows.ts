import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Payout, RefusedRow } from '../../../payout.ts';
import { jsonText } from '../../../report/json-text.ts';
import { reportRow } from '../../../report/row.ts';
import { requireTrueRows, trueRows } from '../../../runs/safety/shown-seals.ts';
import { rowQuery } from '../../payouts/wanted.ts';
import { findRun } from '../../run/find-run.ts';
import type { Web, WebDeps } from '../../web.ts';
import { rowDocument } from '../documents.ts';
import { ofRun, page } from '../places.ts';

type Batches = AsyncIterable<readonly (Payout | RefusedRow)[]> | Iterable<readonly (Payout | RefusedRow)[]>;

type Format = keyof typeof TYPES;
const TYPES = { json: 'application/json; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

/** Answers with rows as they are read, however many they are. */
function sendRows(reply: FastifyReply, batches: Batches, format: Format): FastifyReply {
  return reply.type(TYPES[format]).send(Readable.from(rowsText(batches, format)));
}

/** Rows as reports have them, as one JSON array with a row in each line, or as a JSON document for each line. */
async function* rowsText(batches: Batches, format: Format): AsyncGenerator<string, void> {
  let before = format === 'json' ? '[\n' : '';
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    const rows = batch.map((row) => jsonText(reportRow(row)));
    yield `${before}${rows.join(format === 'json' ? ',\n' : '\n')}${format === 'json' ? '' : '\n'}`;
    if (format === 'json') before = ',\n';
  }
  if (format === 'json') yield before === '[\n' ? '[]\n' : '\n]\n';
}

const ROWS_PER_PAGE = 100;

/** The rows of a run as they are read: all of them, however many, a page of them, or those with a reference. */
export function addRowOperations(api: Web, deps: WebDeps): void {
  const querystring = z.strictObject({
    ...rowQuery,
    text: z.string().max(200).default('').describe('The whole reference of a row, exactly as in the file'),
    page: page.unwrap().optional(),
    format: z.enum(['json', 'ndjson']).default('json'),
  });
  const response = {
    200: {
      description:
        `The rows in file order; all of them, or page by page of ${ROWS_PER_PAGE}. Of a large run, those with the reference \`text\` ` +
        `are 100 at most; \`X-Search-Complete: false\` says that a search of a large run ended before it had seen all rows`,
      content: {
        'application/json': { schema: z.array(rowDocument) },
        'application/x-ndjson': { schema: z.string().describe('A row in each line') },
      },
    },
  };
  const schema = { summary: 'The rows of a run', params: ofRun, querystring, response };
  api.get('/runs/:run/payouts', { config: { act: 'read' }, schema }, async ({ params, query }, reply) => {
    const run = await findRun(deps, params.run);
    const { text: reference, page: number, format, ...wanted } = query;
    const { count, isWhole, page: read, all } = await deps.findRows(run, { ...wanted, reference });
    reply.header('x-total-count', count);
    if (reference !== '') reply.header('x-search-complete', String(isWhole));
    if (number === undefined) return sendRows(reply, trueRows(deps.app, run, all()), format);
    const rows = await read((number - 1) * ROWS_PER_PAGE, ROWS_PER_PAGE);
    return sendRows(reply, [await requireTrueRows(deps.app, run, rows)], format);
  });
}
