import { CsvError, parse } from 'csv-parse/sync';
import { type LineEnd, openLineScan } from './csv/line-scan.ts';
import { type Fault, openTextReader } from './csv/text.ts';
import { CSV } from './file-type.ts';
import type { IntakeLimits } from './limits.ts';
import type { FileRecord, RecordBatch, RecordStream } from './record.ts';
import type { Delimiter } from './template/template.ts';

/** Turns the bytes of a CSV file into records (RFC 4180 with any delimiter, UTF-8). */
export interface RecordReader {
  /** The records that these bytes complete. After a fault there are none. */
  push(bytes: Buffer): FileRecord[];
  /** The record that the end of the file completes. */
  end(): FileRecord[];
  /** What stopped the reading, once something did. */
  fault(): Fault | undefined;
  /** The line of the record that would come next, or at which a fault stopped the reading. */
  line(): number;
  /** Whether the last record had no line end. */
  isCutShort(): boolean;
}

export interface CsvShape extends Pick<IntakeLimits, 'recordBytesMax'> {
  readonly delimiter: Delimiter;
}

/** A CSV file as records. */
export async function* readCsv(chunks: AsyncIterable<Buffer>, shape: CsvShape): RecordStream {
  const reader = openRecordReader(shape);
  for await (const chunk of chunks) yield batchOf(reader, reader.push(chunk));
  const last = reader.end();
  const cutShortLine = reader.isCutShort() ? last.at(-1)?.line : undefined;
  yield { ...batchOf(reader, last), ...(cutShortLine === undefined ? {} : { cutShortLine }) };
}

function batchOf(reader: RecordReader, records: readonly FileRecord[]): RecordBatch {
  const fault = reader.fault();
  return fault === undefined ? { records } : { records, stop: { ...fault, line: reader.line() } };
}

const QUOTE = 0x22;
const NOTHING = Buffer.alloc(0);

const QUOTE_FAULTS: ReadonlyMap<string, string> = new Map([
  ['INVALID_OPENING_QUOTE', 'a double quote stands inside a cell that does not begin with one'],
  ['CSV_INVALID_CLOSING_QUOTE', 'text follows the double quote that closes a cell'],
  ['CSV_QUOTE_NOT_CLOSED', 'a cell begins with a double quote that is never closed'],
]);

/**
 * Records and fault are the same however the bytes are cut into pieces: each whole record before a fault is read, and
 * the first fault of the file is the one that counts. Memory: one piece and one record.
 */
export function openRecordReader(shape: CsvShape): RecordReader {
  const text = openTextReader(CSV);
  const scan = openLineScan(shape.recordBytesMax);
  let pending: Buffer = NOTHING;
  let line = 1;
  let fault: Fault | undefined;
  let isCutShort = false;

  function take(bytes: Buffer): FileRecord[] {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    const { recordsEnd, fault: scanFault } = scan.scan(pending);
    fault = scanFault ?? text.fault();
    const records = recordsOf(pending.subarray(0, recordsEnd));
    pending = Buffer.from(pending.subarray(recordsEnd));
    scan.drop();
    return records;
  }

  function recordsOf(block: Buffer): FileRecord[] {
    const lineEnd = scan.lineEnd() ?? '\n';
    if (!block.includes(QUOTE))
      return plainRows(block, lineEnd, shape.delimiter).map((cells) => ({ line: line++, cells }));
    const { rows, fault: quoteFault } = quotedRows(block, { lineEnd, ...shape });
    fault = quoteFault ?? fault;
    return rows.map((cells) => {
      const record = { line, cells };
      line += 1 + lineFeedsIn(cells);
      return record;
    });
  }

  return {
    push(bytes) {
      return fault === undefined ? take(text.push(bytes)) : [];
    },
    end() {
      if (fault !== undefined) return [];
      const records = take(text.end());
      fault ??= scan.end();
      if (fault !== undefined || pending.length === 0) return records;
      isCutShort = true;
      return records.concat(recordsOf(pending));
    },
    fault: () => fault,
    line: () => line,
    isCutShort: () => isCutShort && fault === undefined,
  };
}

/** Without a double quote nothing is left to parse: this is what csv-parse gives, about ten times faster. */
function plainRows(block: Buffer, lineEnd: LineEnd, delimiter: Delimiter): string[][] {
  const lines = block.toString('utf8').split(lineEnd);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((cells) => cells.split(delimiter));
}

/**
 * Whole records by csv-parse, up to the first whose quotes do not fit. A blank line comes as one empty cell: whether
 * it is allowed, and whether a row has the right number of cells, is judged by who knows the header.
 */
function quotedRows(
  block: Buffer,
  { lineEnd, delimiter, recordBytesMax }: CsvShape & { lineEnd: LineEnd },
): { rows: string[][]; fault: Fault | undefined } {
  const options = {
    // The mark was taken off; at the head of a later block it would be a character of its cell.
    bom: false,
    cast: false,
    columns: false,
    delimiter,
    encoding: 'utf8',
    escape: '"',
    info: false,
    max_record_size: recordBytesMax,
    quote: '"',
    record_delimiter: lineEnd,
    relax_column_count: true,
    relax_quotes: false,
    skip_empty_lines: false,
    skip_records_with_error: false,
    trim: false,
  } as const;
  try {
    return { rows: parse(block, options), fault: undefined };
  } catch (error) {
    const found = error instanceof CsvError ? QUOTE_FAULTS.get(error.code) : undefined;
    if (!(error instanceof CsvError) || found === undefined) throw error;
    const recordsBefore = typeof error['records'] === 'number' ? error['records'] : 0;
    const rows = recordsBefore === 0 ? [] : parse(block, { ...options, to: recordsBefore });
    return { rows, fault: { code: 'E_QUOTE', facts: { found } } };
  }
}

function lineFeedsIn(cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) count++;
  }
  return count;
}
