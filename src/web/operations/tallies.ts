import type { Clock } from '../../clock.ts';
import type { Runs } from '../../ledger/runs/runs.ts';
import { LedgerFault } from '../../ledger/script.ts';
import type { LedgerFigures } from '../../metrics.ts';
import { PAYOUT_STATES, RUN_STATES, type Run } from '../../payout.ts';

/** Runs that are not worked on any more and are looked at again at one look: each of them comes round. */
const OLD_PER_LOOK = 500;
const RUNS_AT_A_TIME = 50;

/** All runs of a ledger added up. */
export interface Tally extends Pick<LedgerFigures, 'payouts' | 'runs'> {
  /** Payouts of runs that are being paid which nobody has taken yet. */
  readonly due: number;
  /** Grows with each move of a payout or a run that is being worked on. */
  readonly changes: number;
  /** How long runs took that ended since the last look, in milliseconds. */
  readonly endedAfterMs: readonly number[];
}

/** A run as far as the sums need it. */
type Counted = Pick<Run, 'state' | 'counts' | 'changes' | 'createdAt' | 'finishedAt'>;

/**
 * Adds all runs up at a price that does not grow with their number: those that are worked on are read at each look, of the
 * others a part, and what was read of the rest still stands. So for a while after the start the sums are too small.
 */
export function openTallies(
  runs: Pick<Runs, 'live' | 'list' | 'read'>,
  clock: Pick<Clock, 'now'>,
): { look(): Promise<Tally> } {
  const counted = new Map<string, Counted>();
  const startedAt = clock.now();
  let live: readonly string[] = [];
  let round: string[] = [];

  /** Remembers what was read of a run; gives how long it took, once it has ended. */
  function note(id: string, run: Run | undefined): number[] {
    const before = counted.get(id);
    if (run === undefined) counted.delete(id);
    else {
      const { state, counts, changes, createdAt, finishedAt } = run;
      counted.set(id, { state, counts, changes, createdAt, finishedAt });
    }
    const isNews = run !== undefined && (before?.finishedAt ?? null) === null;
    return isNews && run.finishedAt !== null && run.finishedAt >= startedAt ? [run.finishedAt - run.createdAt] : [];
  }

  /** A run whose record is damaged keeps nobody from knowing of the others. */
  async function readOne(id: string): Promise<Run | undefined> {
    try {
      return await runs.read(id);
    } catch (error) {
      if (error instanceof LedgerFault) return undefined;
      throw error;
    }
  }

  async function read(ids: readonly string[]): Promise<number[]> {
    const endedAfterMs: number[] = [];
    for (let from = 0; from < ids.length; from += RUNS_AT_A_TIME) {
      const part = ids.slice(from, from + RUNS_AT_A_TIME);
      const found = await Promise.all(part.map(async (id) => ({ id, run: await readOne(id) })));
      endedAfterMs.push(...found.flatMap(({ id, run }) => note(id, run)));
    }
    return endedAfterMs;
  }

  return {
    async look() {
      const before = live;
      live = await runs.live();
      if (round.length === 0) round = (await runs.list()).toReversed();
      const old = round.splice(-OLD_PER_LOOK);
      // Who left since the last look is read once more: it may have changed on its way out.
      const endedAfterMs = await read([...new Set([...live, ...before, ...old])]);
      return { ...sumOf(counted.values()), endedAfterMs };
    },
  };
}

function sumOf(all: Iterable<Counted>): Omit<Tally, 'endedAfterMs'> {
  const payouts = zeroes([...PAYOUT_STATES, 'refused' as const]);
  const runs = zeroes(RUN_STATES);
  let due = 0;
  let changes = 0;
  for (const run of all) {
    runs[run.state]++;
    changes += run.changes;
    if (run.state === 'paying') due += run.counts.ready;
    for (const state of [...PAYOUT_STATES, 'refused' as const]) payouts[state] += run.counts[state];
  }
  return { payouts, runs, due, changes };
}

function zeroes<Name extends string>(names: readonly Name[]): Record<Name, number> {
  // Object.fromEntries forgets the names' type; each of them is set here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every name is in the list
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
