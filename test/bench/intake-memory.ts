import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

/*
 * npm run bench:memory -- [ROUNDS]
 * Validates files of 10 thousand, 100 thousand and 1 million rows in turn, each in a process of its own, and prints the
 * medians of the highest resident memory of that process and of the rows it read in a second.
 */

const SIZES = [10_000, 100_000, 1_000_000] as const;
const ROUNDS_MIN = 3;
const WRITTEN_ROWS = 1000;
const LOOK_EVERY_MS = 20;
const KIB_PER_MIB = 1024;
const MAIN = resolve('dist/src/cli/main.js');

interface Measured {
  readonly peakMib: number;
  readonly seconds: number;
}

const uuidOf = (row: number): string => `93ee9da3-1bef-4af5-a284-${row.toString(16).padStart(12, '0')}`;

function* payoutText(rows: number): Generator<string> {
  yield 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency,purposeCode\n';
  for (let from = 0; from < rows; from += WRITTEN_ROWS) {
    const lines = Array.from({ length: Math.min(WRITTEN_ROWS, rows - from) }, (_, at) => {
      const row = from + at;
      return `INV-2026-${row},${uuidOf(row)},${(row % 9000) + 1}.25,USD,MXN,OTHR\n`;
    });
    yield lines.join('');
  }
}

/** Highest resident memory of a process so far, as Linux counts it; 0 once there is none to ask. */
async function peakMibOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / KIB_PER_MIB;
}

async function validate(path: string): Promise<Measured> {
  const start = performance.now();
  const child = spawn(process.execPath, [MAIN, 'validate', path], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise<number | null>((done, fail) => child.once('exit', done).once('error', fail));
  let peakMib = 0;
  const looking = new AbortController();
  const look = async (): Promise<void> => {
    while (!looking.signal.aborted) {
      peakMib = Math.max(peakMib, await peakMibOf(child.pid));
      await delay(LOOK_EVERY_MS);
    }
  };
  const [code] = await Promise.all([ended.finally(() => looking.abort()), look()]);
  if (code !== 0) throw new Error(`payrun validate ended with ${code}; was it built (npm run build)?`);
  return { peakMib, seconds: (performance.now() - start) / 1000 };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function measureRounds(folder: string, rounds: number): Promise<ReadonlyMap<number, Measured[]>> {
  const measured = new Map<number, Measured[]>(SIZES.map((rows) => [rows, []]));
  for (const rows of SIZES) await pipeline(payoutText(rows), createWriteStream(join(folder, `${rows}.csv`)));
  for (let round = 0; round < rounds; round++) {
    for (const [rows, results] of measured) results.push(await validate(join(folder, `${rows}.csv`)));
  }
  return measured;
}

function describe(measured: ReadonlyMap<number, readonly Measured[]>): string {
  const lines = [...measured].map(([rows, results]) => {
    const peaks = results.map(({ peakMib }) => peakMib);
    const cells = [rows, median(peaks), Math.max(...peaks), rows / median(results.map(({ seconds }) => seconds))];
    return `| ${cells.map((cell) => Math.round(cell).toLocaleString('en')).join(' | ')} |`;
  });
  return ['| rows | peak RSS, MiB | highest | rows/s |', '|---|---|---|---|', ...lines].join('\n');
}

const rounds = Math.max(ROUNDS_MIN, Number(process.argv[2] ?? ROUNDS_MIN));
const folder = await mkdtemp(join(tmpdir(), 'payrun-bench-'));
try {
  const table = describe(await measureRounds(folder, rounds));
  process.stdout.write(`${table}\n${rounds} rounds, Node ${process.version}, ${availableParallelism()} cores\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
