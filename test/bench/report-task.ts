import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { stringify as stringifyNow } from 'csv-stringify/sync';
import { EXIT } from '../../src/cli/exit-code.ts';
import { withLedger } from '../../src/cli/open.ts';
import { keepMemoryFlat } from '../../src/cli/run/memory.ts';
import { reportCsv } from '../../src/report/csv.ts';
import { writeReportFiles } from '../../src/report/files.ts';
import type { ReportSource } from '../../src/report/source.ts';
import { reportXlsx } from '../../src/report/xlsx/report-xlsx.ts';
import { reportSource } from '../../src/runs/after/report.ts';
import { peakBytesOf } from './payrun-process.ts';

/*
 * One writing of a CSV report in a process of its own: `node report-task.js KIND RUN-OR-FILE TARGET` sends how long it took,
 * without the start of the process, and its highest memory. `report` and `workbook` read the ledger; `stringify` and `stringify-now` write
 * the cells of a report that is there, which are in memory before the clock starts.
 */

export type ReportKind = 'report' | 'workbook' | 'files' | 'stringify' | 'stringify-now';

export interface ReportTaken {
  readonly rows: number;
  readonly ms: number;
  readonly peakBytes: number;
}

type Taken = Omit<ReportTaken, 'peakBytes'>;

const BATCH_ROWS = 500;
const FORMAT = { record_delimiter: '\r\n' };

async function writeReport(
  { runId, target }: { readonly runId: string; readonly target: string },
  contentOf: (source: ReportSource) => AsyncIterable<string | Buffer>,
): Promise<Taken> {
  let taken: Taken = { rows: 0, ms: 0 };
  await withLedger(async (app) => {
    const started = performance.now();
    const source = await reportSource(app, runId);
    const file = await open(target, 'w');
    for await (const piece of contentOf(source)) await file.appendFile(piece);
    await file.sync();
    await file.close();
    taken = { rows: source.run.rows, ms: performance.now() - started };
    return EXIT.ok;
  });
  return taken;
}

/** Both files as a worker writes them when a run ends. */
async function writeFiles(runId: string, folder: string): Promise<Taken> {
  let taken: Taken = { rows: 0, ms: 0 };
  await withLedger(async (app) => {
    const started = performance.now();
    const source = await reportSource(app, runId);
    await writeReportFiles(async () => source, { folder, runId, version: 1 });
    taken = { rows: source.run.rows, ms: performance.now() - started };
    return EXIT.ok;
  });
  return taken;
}

async function cellsOf(path: string): Promise<string[][]> {
  const rows: string[][] = [];
  for await (const row of createReadStream(path).pipe(parse()) as AsyncIterable<string[]>) rows.push(row);
  return rows;
}

/** csv-stringify's stream between others. */
async function stringifyOnly(path: string, target: string): Promise<Taken> {
  const rows = await cellsOf(path);
  const started = performance.now();
  await pipeline(Readable.from(rows), stringify(FORMAT), createWriteStream(target, { flush: true }));
  return { rows: rows.length - 1, ms: performance.now() - started };
}

/** csv-stringify's function, a batch at a time. */
async function stringifyBatches(path: string, target: string): Promise<Taken> {
  const rows = await cellsOf(path);
  const started = performance.now();
  const file = await open(target, 'w');
  for (let from = 0; from < rows.length; from += BATCH_ROWS) {
    await file.appendFile(stringifyNow(rows.slice(from, from + BATCH_ROWS), FORMAT));
  }
  await file.sync();
  await file.close();
  return { rows: rows.length - 1, ms: performance.now() - started };
}

const TASKS: Readonly<Record<ReportKind, (from: string, target: string) => Promise<Taken>>> = {
  report: async (runId, target) => await writeReport({ runId, target }, reportCsv),
  workbook: async (runId, target) => await writeReport({ runId, target }, reportXlsx),
  files: writeFiles,
  stringify: stringifyOnly,
  'stringify-now': stringifyBatches,
};

const [kind, from = '', target = ''] = process.argv.slice(2);
// As src/cli/main.ts does; the limits keep what V8 gives them.
if (kind === 'report' || kind === 'workbook' || kind === 'files') keepMemoryFlat();
const taken = await TASKS[kind as ReportKind](from, target);
if (kind !== 'files') await rm(target);
process.send?.({ ...taken, peakBytes: peakBytesOf(process.pid) ?? 0 } satisfies ReportTaken, () => process.exit(0));
