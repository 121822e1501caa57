import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Payout, RefusedRow } from '../../../payout.ts';
import { jsonText } from '../../../report/json-text.ts';
import { reportRow } from '../../../report/row.ts';

type Batches = AsyncIterable<readonly (Payout | RefusedRow)[]> | Iterable<readonly (Payout | RefusedRow)[]>;

type Format = keyof typeof TYPES;
const TYPES = { json: 'application/json; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

/** Answers with rows as they are read, however many they are. */
export function sendRows(reply: FastifyReply, batches: Batches, format: Format): FastifyReply {
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
