import type { Runs } from '../ledger/runs/runs.ts';
import type { Run } from '../payout.ts';

/** Runs that are looked at; what is older is found in the list of runs. */
const RUNS_MAX = 500;
/** Of runs that nobody works on any more, so many are read again at each look: each of them comes round. */
const OLD_PER_LOOK = 10;

/** The newest runs of the ledger, the newest first. */
export type RecentRuns = () => Promise<readonly Run[]>;

/**
 * Reads the newest runs at a price that does not grow with their number: those that are worked on or have payouts for
 * people are read at each look, a few of the others too, and what was read of the rest still stands.
 */
export function openRecentRuns(runs: Pick<Runs, 'find' | 'live' | 'read'>): RecentRuns {
  const known = new Map<string, Run>();
  let round: string[] = [];
  return async () => {
    const [{ ids }, live] = await Promise.all([runs.find({ most: RUNS_MAX }), runs.live()]);
    const working = new Set(live);
    if (round.length === 0) round = [...ids];
    const again = new Set(round.splice(0, OLD_PER_LOOK));
    const read = ids.map(async (id) => {
      const before = known.get(id);
      const isOld = before !== undefined && before.counts.held === 0 && !working.has(id) && !again.has(id);
      return isOld ? before : await runs.read(id);
    });
    const found = (await Promise.all(read)).filter((run) => run !== undefined);
    known.clear();
    for (const run of found) known.set(run.id, run);
    return found;
  };
}
