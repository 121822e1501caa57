import { extname } from 'node:path';
import type { IntakeLimits } from './limits.ts';
import { readApart } from './reader/read-apart.ts';
import type { RecordStream } from './record.ts';
import { readCsv } from './records.ts';
import type { Template } from './template/template.ts';

/** How the bytes of a payout file are read: both passes over it do it alike. */
export interface Reading {
  readonly format: Format;
  readonly template: Template;
  readonly limits: IntakeLimits;
}

type Reader = (chunks: AsyncIterable<Buffer>, reading: Reading) => RecordStream;

const READERS = {
  csv: (chunks, { template, limits }) => readCsv(chunks, { ...limits, delimiter: template.delimiter }),
  xlsx: (chunks, reading) => readApart(chunks, { format: 'xlsx', reading }),
  'pain.001': (chunks, reading) => readApart(chunks, { format: 'pain.001', reading }),
} as const satisfies Record<string, Reader>;
export type Format = keyof typeof READERS;

const BY_EXTENSION: ReadonlyMap<string, Format> = new Map([
  ['.xlsx', 'xlsx'],
  ['.xml', 'pain.001'],
]);

/** The format that a file's name promises; content that is another is refused. */
export function formatOf(fileName: string): Format {
  return BY_EXTENSION.get(extname(fileName).toLowerCase()) ?? 'csv';
}

/** The file as records, whatever its format. */
export function readRecords(chunks: AsyncIterable<Buffer>, reading: Reading): RecordStream {
  return READERS[reading.format](chunks, reading);
}
