import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type TableCell, tableCsv } from '../report/table-csv.ts';

const TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  sig: 'text/plain; charset=utf-8',
} as const;

/** A file as it is sent: of any size, a piece at a time. */
export interface Download {
  /** Without its ending. */
  readonly name: string;
  readonly ending: keyof typeof TYPES;
  readonly content: AsyncIterable<string | Buffer>;
  /** Where that is known before. */
  readonly bytes?: number;
}

/** Answers with a file for the disk, whose name can steer neither header nor path (docs/security.md). */
export function sendDownload(reply: FastifyReply, { name, ending, content, bytes }: Download): FastifyReply {
  const safeName = name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 100);
  if (bytes !== undefined) reply.header('content-length', bytes);
  return reply
    .type(TYPES[ending])
    .header('content-disposition', `attachment; filename="${safeName}.${ending}"`)
    .send(content instanceof Readable ? content : Readable.from(content));
}

/** Answers with a table of a page, its columns' names first, as CSV. */
export function sendTable(reply: FastifyReply, name: string, rows: readonly (readonly TableCell[])[]): FastifyReply {
  return sendDownload(reply, { name, ending: 'csv', content: Readable.from([tableCsv(rows)]) });
}
