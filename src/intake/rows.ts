import type { IntakeLimits } from './limits.ts';
import { problemOf } from './problems.ts';
import { type FileRecord, openRecordReader } from './records.ts';
import type { CheckedRow } from './row.ts';
import { openTable, type RowListener } from './table.ts';

type RowLimits = Pick<IntakeLimits, 'recordBytesMax' | 'rowsMax'>;

/** Turns the bytes of a payout file into judged rows. What is told is the same however the bytes are cut into pieces. */
export interface RowReader {
  push(bytes: Buffer): void;
  end(): void;
}

export function openRowReader(limits: RowLimits, listener: RowListener): RowReader {
  const records = openRecordReader(limits);
  const table = openTable(limits, listener);

  function readAll(all: readonly FileRecord[]): void {
    for (const record of all) table.read(record);
    const fault = records.fault();
    if (fault === undefined || table.isStopped()) return;
    table.stop(problemOf(fault.code, { line: records.line(), facts: fault.facts }));
  }

  return {
    push(bytes) {
      if (!table.isStopped()) readAll(records.push(bytes));
    },
    end() {
      if (table.isStopped()) return;
      const last = records.end();
      readAll(last);
      table.end(records.isCutShort() ? last.at(-1)?.line : undefined);
    },
  };
}

/** The rows of a file once more, a batch for each piece of it; what else there is to tell was told before. */
export async function* readCheckedRows(
  chunks: AsyncIterable<Buffer>,
  limits: RowLimits,
): AsyncGenerator<readonly CheckedRow[]> {
  let rows: CheckedRow[] = [];
  const reader = openRowReader(limits, { row: (checked) => rows.push(checked), damage() {}, warning() {} });
  for await (const chunk of chunks) {
    reader.push(chunk);
    yield rows;
    rows = [];
  }
  reader.end();
  yield rows;
}
