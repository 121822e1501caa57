import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seeded } from '../support/seeded.ts';
import { DEPTH, type Depth } from './depth.ts';
import type { FaultId } from './fault-ids.ts';
import { type Judged, judge, settle } from './oracle.ts';
import { type RowResult, writeResult } from './results.ts';
import { freshSeed, openRig, type Rig, type RigOptions } from './rig.ts';

const TRY_MS_MAX = 2 * 60_000;
/** Opening, settling and judging. */
const AROUND_MS_MAX = 2 * 60_000;

export interface FaultRow extends RigOptions {
  /** Of faults.md. */
  readonly ids: readonly FaultId[];
  /** The fault in plain words; the test's name. */
  readonly fault: string;
  /** How often it is tried at each depth; left out: not at all. */
  readonly tries: { readonly [Name in Depth]?: number };
  /** Why it cannot run here; undefined when it can (needs.ts). */
  readonly missing?: string | undefined;
  /** What the report must say at the end; all rows `paid` unless told, `any` where several ends are right. */
  readonly outcomes?: Readonly<Record<string, number>> | 'any';
  /** The fault stays, so that doubts may too: only that nothing is paid twice, lost or untold is judged. */
  readonly staysInDoubt?: true;
  /** For the body of one try; 2 minutes unless told. */
  readonly tryMsMax?: number;
  /**
   * Submits, starts workers, does the fault, and returns when the faults have stopped and at least one worker is running:
   * from then on everything must settle by itself within the rig's bound.
   */
  readonly body: (rig: Rig) => Promise<void>;
  /** Further guarantees, when all is settled and before the processes are ended. */
  readonly after?: (rig: Rig) => Promise<void>;
}

/** Declares a row of the matrix as a test, which runs beside the others of its file. */
export function faultRow(row: FaultRow): void {
  const tries = row.tries[DEPTH] ?? 0;
  const { missing } = row;
  const left = missing ?? (tries === 0 ? `not part of the ${DEPTH} matrix` : undefined);
  if (left !== undefined) writeResult({ ...headOf(row), ...totalsOf([]), outcome: `skipped: ${left}` });
  const timeout = tries * (tryMsMax(row) + AROUND_MS_MAX);
  test
    .skipIf(left !== undefined)
    .concurrent(
      `${row.ids.join(', ')}: ${row.fault}${left === undefined ? '' : ` (${left})`}`,
      { timeout },
      async () => {
        const judged: Judged[] = [];
        for (let number = 1; number <= tries && judged.every(({ faults }) => faults.length === 0); number++) {
          judged.push(await tryOnce(row));
        }
        const faults = judged.flatMap((one) => one.faults);
        const outcome = faults.length === 0 ? wordsOf(judged) : `FAILED: ${faults[0]}`;
        writeResult({ ...headOf(row), ...totalsOf(judged), outcome });
        expect(faults).toEqual([]);
      },
    );
}

async function tryOnce(row: FaultRow): Promise<Judged> {
  const seed = Number.parseInt(process.env['FAULTS_SEED'] ?? String(DEPTH === 'short' ? 1 : freshSeed()), 10);
  const rig = await openRig(row, seeded(seed));
  try {
    await within(tryMsMax(row), row.body(rig));
    const settledMs = row.staysInDoubt === true ? 0 : await settle(rig);
    await row.after?.(rig);
    const judged = await judge(rig, { settledMs, outcomes: row.outcomes });
    if (judged.faults.length > 0) await tellAll(rig, seed);
    return judged;
  } catch (error) {
    await tellAll(rig, seed);
    const outcome = `FAILED: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown'}`;
    writeResult({ ...headOf(row), ...totalsOf([]), tries: 1, outcome });
    throw error;
  } finally {
    await rig.close();
  }
}

function tryMsMax(row: FaultRow): number {
  return row.tryMsMax ?? TRY_MS_MAX;
}

/** A row that hangs is told of by all that its processes said, as any other failure. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = delay(ms, undefined, { signal: done.signal }).then(() => {
    throw new Error(`the row did not come to its end within ${ms} ms`);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    done.abort();
    late.catch(() => {});
  }
}

/** What happened in the other processes, and how to make it happen again. */
async function tellAll(rig: Rig, seed: number): Promise<void> {
  const said = await Promise.race([rig.stopAll(), delay(30_000, [])]);
  const texts = said.map(({ name, ended }) => `--- ${name}: ${ended.code}\n${ended.stdout}${ended.stderr}`);
  console.error(
    [`FAULTS_SEED=${seed}`, `states ${JSON.stringify(rig.redis.isRunning ? await rig.states() : {})}`, ...texts].join(
      '\n',
    ),
  );
}

function headOf({ ids, fault }: FaultRow): { ids: readonly FaultId[]; fault: string } {
  return { ids, fault };
}

function totalsOf(judged: readonly Judged[]): Omit<RowResult, 'ids' | 'fault' | 'outcome'> {
  return {
    tries: judged.length,
    twice: judged.reduce((sum, { twice }) => sum + twice, 0),
    lost: judged.reduce((sum, { lost }) => sum + lost, 0),
    settledMs: judged.length === 0 ? null : Math.max(...judged.map(({ settledMs }) => settledMs)),
    boundMs: judged[0]?.boundMs ?? 0,
  };
}

/** The outcomes of all tries together, such as `80 paid, 1 held`. */
function wordsOf(judged: readonly Judged[]): string {
  const sums: Record<string, number> = {};
  for (const { outcomes } of judged) {
    for (const [outcome, count] of Object.entries(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + count;
  }
  return Object.entries(sums)
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
}
