import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ABSENT, FAULT_IDS, type FaultId } from './fault-ids.ts';

/** What became of one row of the matrix. */
export interface RowResult {
  readonly ids: readonly FaultId[];
  readonly fault: string;
  readonly tries: number;
  readonly twice: number;
  readonly lost: number;
  /** The longest of the tries; null where nothing was left to settle. */
  readonly settledMs: number | null;
  readonly boundMs: number;
  readonly outcome: string;
}

/** Where each result is written as a line; without it none is. */
export const RESULTS_VARIABLE = 'FAULTS_RESULTS';

export function writeResult(result: RowResult): void {
  const folder = process.env[RESULTS_VARIABLE];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(result)}\n`);
}

export function readResults(folder: string): RowResult[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .filter(Boolean)
    .map((line) => JSON.parse(line) as RowResult);
}

const COLUMNS = ['id', 'fault', 'tries', 'twice', 'lost', 'settled within', 'outcome'] as const;

/** One table of all ids, F1 to F68: those without a result with the reason. */
export function tableOf(results: readonly RowResult[]): string {
  const lines = FAULT_IDS.flatMap((id) => {
    const own = results.filter(({ ids }) => ids.includes(id));
    if (own.length === 0) return [[id, '', '0', '', '', '', ABSENT[id] ?? 'did not run here']];
    return own.map((result) => [id, ...cellsOf(result)]);
  });
  const table = [[...COLUMNS], ...lines];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((cells) => (cells[column] ?? '').length)));
  return table
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cellsOf({ fault, tries, twice, lost, settledMs, boundMs, outcome }: RowResult): string[] {
  const settled = settledMs === null ? '' : `${seconds(settledMs)} of ${seconds(boundMs)}`;
  return [fault, String(tries), String(twice), String(lost), settled, outcome];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
