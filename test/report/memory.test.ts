import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { reportCsv } from '../../src/report/csv.ts';
import { reportJson } from '../../src/report/json.ts';
import { openNotedStatuses } from '../../src/report/pain002/noted-statuses.ts';
import { originalOf } from '../../src/report/pain002/original.ts';
import { reportPain002 } from '../../src/report/pain002/report-pain002.ts';
import type { ReportSource } from '../../src/report/source.ts';
import { reportXlsx } from '../../src/report/xlsx/report-xlsx.ts';
import { payment, type Row, runOf, sourceOf, uuid } from './rows.ts';

const ROWS = 200_000;
const BATCH = 500;
const GROWTH_BYTES_MAX = 24 * 1024 * 1024;

setFlagsFromString('--expose-gc');

function heapBytes(): number {
  runInNewContext('gc()');
  return process.memoryUsage().heapUsed;
}

async function* manyRows(): AsyncGenerator<readonly Row[]> {
  for (let start = 0; start < ROWS; start += BATCH) {
    yield Array.from({ length: BATCH }, (_, index) => {
      const line = start + index + 2;
      return payment(line, 'completed', { paymentId: uuid(line) });
    });
  }
}

/** The rows are read twice, here as in the command. */
async function* statusReport(source: ReportSource): AsyncGenerator<string> {
  const statuses = openNotedStatuses();
  for await (const batch of statuses.noting(manyRows())) if (batch.length === 0) return;
  yield* reportPain002(source, { statuses, ties: true, original: await originalOf(source.run, undefined) });
}

test.each<{ name: string; report: (source: ReportSource) => AsyncIterable<string> }>([
  { name: 'CSV', report: reportCsv },
  { name: 'JSON', report: reportJson },
  { name: 'pain.002', report: statusReport },
])('the $name of 200,000 rows does not pile up in memory', { timeout: 120_000 }, async ({ name, report }) => {
  const run = runOf([payment(2, 'completed')]);
  let pieces = 0;
  let early = 0;
  let late = 0;
  for await (const piece of report(sourceOf([], { run, rows: manyRows() }))) {
    expect(piece.length).toBeLessThan(1_000_000);
    pieces += 1;
    if (pieces === 20) early = heapBytes();
    if (pieces === ROWS / BATCH) late = heapBytes();
  }
  expect(pieces).toBe(ROWS / BATCH + (name === 'CSV' ? 1 : 2));
  expect(late - early).toBeLessThan(GROWTH_BYTES_MAX);
});

test('the workbook of 200,000 rows does not pile up in memory', { timeout: 240_000 }, async () => {
  let early = 0;
  let late = 0;
  async function* measured(): AsyncGenerator<readonly Row[]> {
    let batches = 0;
    for await (const batch of manyRows()) {
      yield batch;
      batches += 1;
      if (batches === 20) early = heapBytes();
      if (batches === ROWS / BATCH - 1) late = heapBytes();
    }
  }
  const run = runOf([payment(2, 'completed')]);
  let bytes = 0;
  for await (const piece of reportXlsx(sourceOf([], { run, rows: measured() }))) bytes += piece.length;
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(late - early).toBeLessThan(GROWTH_BYTES_MAX);
});
