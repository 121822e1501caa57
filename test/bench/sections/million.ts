import { createReadStream, mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse';
import { formatAmount, moneyOfDecimal } from '../../../src/money.ts';
import type { Run } from '../../../src/payout.ts';
import { type BookEntry, differences } from '../../support/paid-once.ts';
import { figure } from '../figures.ts';
import { amountOf, referenceOf } from '../payout-file.ts';
import { purge, settled } from '../purge.ts';
import { usedBytes } from '../queue-bytes.ts';
import type { ReportTaken } from '../report-task.ts';
import { type Environment, openRig, openStuck, type Rig } from '../rig.ts';
import type { Section } from '../section.ts';
import { startSimulatedService } from '../simulated-service.ts';

const NAME = 'million';
const LOOK_MS = 500;
const MB = 1e6;
const RSS_MB_MAX = 180;
const WORKBOOK_MB_MAX = 200;
const TAIL_BYTES = 64 * 1024;
const FAULTS_SHOWN = 5;

/** One file in one go through the simulated service, up to the report in which every payment is settled. */
export const million: Section = {
  name: 'million',
  title: 'A million rows in one go',
  async measure({ pick, say }) {
    const rows = pick(2000, 1_000_000);
    const { rig, env, runId, book, times, peakBytes, bytesBefore } = await payAll(rows, say);
    try {
      const { reportVersion } = await readRun(rig, runId);
      const report = join(rig.folder, 'data/reports', `${runId}.v${reportVersion}`);
      const entries = await readEntries(book);
      const faults = await faultsOf(`${report}.csv`, rows, entries);
      for (const fault of faults.slice(0, FAULTS_SHOWN)) say(fault);
      const totalsUntied = await untied(`${report}.json`, rows);
      const written = join(rig.folder, 'written');
      mkdirSync(written);
      const again = await rig.child('report-task', ['files', runId, written], rig.env(env)).told<ReportTaken>();
      const words = ['workbook', runId, join(written, 'report.xlsx')];
      const workbook = await rig.child('report-task', words, rig.env(env)).told<ReportTaken>();
      await settled(rig, runId);
      const settledBytes = (await usedBytes(rig.redis.redis)) - bytesBefore;
      await purge(rig, env);
      const purgedBytes = (await usedBytes(rig.redis.redis)) - bytesBefore;
      const twice = [...entries.values()].filter(({ count }) => count > 1).length;
      const none = { by: 'value', atMost: 0 } as const;
      return {
        figures: [
          figure({ name: 'until all rows are recorded', unit: 's' }, [times.recorded]),
          figure({ name: 'until all are paid', unit: 's' }, [times.paid]),
          figure({ name: 'until all are settled and reported', unit: 's' }, [times.reported]),
          figure({ name: 'from file to final report', unit: 'rows/s' }, [rows / times.reported]),
          figure({ name: 'peak RSS of the worker', unit: 'MB', target: { by: 'value', atMost: RSS_MB_MAX } }, [
            peakBytes / MB,
          ]),
          figure({ name: 'peak RSS of a report alone', unit: 'MB', target: { by: 'value', atMost: RSS_MB_MAX } }, [
            again.peakBytes / MB,
          ]),
          figure(
            { name: 'peak RSS of a workbook alone', unit: 'MB', target: { by: 'value', atMost: WORKBOOK_MB_MAX } },
            [workbook.peakBytes / MB],
          ),
          figure({ name: 'paid twice', unit: 'rows', target: none }, [twice]),
          figure({ name: 'differences between file, book and report', unit: 'rows', target: none }, [faults.length]),
          figure({ name: 'totals of the report that do not tie', unit: 'of 4', target: none }, [totalsUntied]),
          figure({ name: 'Redis, settled', unit: 'bytes per payout' }, [settledBytes / rows]),
          figure({ name: 'Redis, after purge', unit: 'bytes per payout' }, [purgedBytes / rows]),
        ],
        notes: [
          `${rows.toLocaleString('en')} rows, one worker, the simulated service (\`payrun sandbox\`) with its book on disk, which completes payments at once; they are followed as fast as it goes (PAYRUN_TRACK_RATE=20000, PAYRUN_WATCH_RETURNS=0ms), all on the same cores; once.`,
          'Each line of the final CSV report is held against its row of the file and against its payment in the book: reference, amount, payment, what left and what arrived.',
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

interface Paid {
  readonly rig: Rig;
  readonly env: Environment;
  readonly runId: string;
  /** The book's file. */
  readonly book: string;
  /** Seconds since the file was handed in. */
  readonly times: { readonly recorded: number; readonly paid: number; readonly reported: number };
  readonly peakBytes: number;
  /** Of Redis, before the file was handed in. */
  readonly bytesBefore: number;
}

async function payAll(rows: number, say: (line: string) => void): Promise<Paid> {
  const rig = await openRig();
  try {
    const { settings, folder } = await startSimulatedService(rig, { completesAfterMs: 0 });
    const env = { ...settings, PAYRUN_TRACK_RATE: '20000', PAYRUN_WATCH_RETURNS: '0ms' };
    const file = await rig.file(NAME, rows);
    const worker = await rig.worker(env);
    const bytesBefore = await usedBytes(rig.redis.redis);
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    const runId = await rig.submit(file, env);
    const recorded = seconds();
    say(`recorded after ${recorded.toFixed(1)} s`);
    await when(rig, runId, ({ counts }) => counts.ready + counts.armed + counts.unknown === 0);
    const paid = seconds();
    say(`paid after ${paid.toFixed(1)} s`);
    await when(
      rig,
      runId,
      ({ counts, changes, reportedChanges }) => counts.completed === rows && reportedChanges === changes,
    );
    const reported = seconds();
    say(`settled and reported after ${reported.toFixed(1)} s`);
    const times = { recorded, paid, reported };
    const peakBytes = worker.peakBytes() ?? 0;
    return { rig, env, runId, book: join(folder, 'test/payments.jsonl'), times, peakBytes, bytesBefore };
  } catch (error) {
    await rig.close();
    throw error;
  }
}

async function readRun(rig: Rig, runId: string): Promise<Run> {
  const run = await rig.runs.read(runId);
  if (run === undefined) throw new Error(`there is no run ${runId}`);
  return run;
}

async function when(rig: Rig, runId: string, isSo: (run: Run) => boolean): Promise<void> {
  const idle = openStuck(`run ${runId}`);
  for (;;) {
    const run = await readRun(rig, runId);
    if (isSo(run)) return;
    idle(JSON.stringify([run.state, run.pauseReason, run.counts, run.reportedChanges]));
    await delay(LOOK_MS);
  }
}

interface Entry {
  readonly paymentId: string;
  readonly sourceAmount: string;
  readonly destinationAmount: string;
  readonly count: number;
}

async function readEntries(book: string): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  for await (const line of createInterface({ input: createReadStream(book) })) {
    const { internalId = '', paymentId, source, destination } = JSON.parse(line) as BookEntry;
    entries.set(internalId, {
      paymentId,
      sourceAmount: formatAmount({ minor: BigInt(source.minor), currency: source.currency }),
      destinationAmount: formatAmount({ minor: BigInt(destination.minor), currency: destination.currency }),
      count: (entries.get(internalId)?.count ?? 0) + 1,
    });
  }
  return entries;
}

/** All in which the report is not the file, row by row, paid as the book has it. */
async function faultsOf(report: string, rows: number, book: ReadonlyMap<string, Entry>): Promise<string[]> {
  const faults = book.size === rows ? [] : [`${book.size} references in the book for ${rows} rows`];
  let row = 0;
  const lines: AsyncIterable<Record<string, string>> = createReadStream(report).pipe(parse({ columns: true }));
  for await (const line of lines) {
    const reference = referenceOf(NAME, row);
    const entry = book.get(reference);
    const wanted = {
      line: String(row + 2),
      reference,
      amount: amountOf(row),
      outcome: 'paid',
      paymentId: entry?.paymentId ?? 'none',
      sourceAmount: entry?.sourceAmount ?? 'none',
      destinationAmount: entry?.destinationAmount ?? 'none',
    };
    faults.push(...differences(wanted, line).map((fault) => `${reference}: ${fault}`));
    row++;
  }
  if (row !== rows) faults.push(`${row} lines for ${rows} rows`);
  return faults;
}

/** The sum of the file's amounts, in US dollars. */
function sumOf(rows: number): string {
  let minor = 0n;
  for (let row = 0; row < rows; row++) minor += moneyOfDecimal(amountOf(row), 'USD')?.minor ?? 0n;
  return formatAmount({ minor, currency: 'USD' });
}

/** How many do not hold of the report's two conservations, of rows and of money, by its own word, and of its totals of file and paid, by ours. */
async function untied(report: string, rows: number): Promise<number> {
  const file = await open(report, 'r');
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    await file.read(bytes, 0, bytes.length, size - bytes.length);
    const tail = bytes.toString();
    const [, inRows, inMoney] = /"conservation":\{"rows":(\w+),"money":(\w+)\}/.exec(tail) ?? [];
    const totals = JSON.parse(/"totals":(\[[^\]]*\])/.exec(tail)?.[1] ?? '[]') as { file: string; paid: string }[];
    const sum = sumOf(rows);
    const holding = [inRows === 'true', inMoney === 'true', totals[0]?.file === sum, totals[0]?.paid === sum];
    return holding.filter((holds) => !holds).length;
  } finally {
    await file.close();
  }
}
