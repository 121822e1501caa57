import type { Clock } from '../../clock.ts';
import type { Run } from '../../payout.ts';
import { perSecondOf, rowsTaken, type Sample, withSample } from '../../runs/progress.ts';

const RUNS_MAX = 500;
/** A worker that is there takes what is due within seconds; a slow pace may leave more between two payouts. */
const STILL_MS_MAX = 30_000;

/** How fast runs go, as far as this process looked at them lately. */
export interface Rates {
  /**
   * Notes how far the run is; gives its rows a second, null while that is not known. Only the time in which it is being paid
   * counts: what waited or was paused is as fast as it goes afterwards.
   */
  note(run: Pick<Run, 'id' | 'state' | 'counts'>): number | null;
  /** Whether it is being paid, has rows that nobody has taken, and nothing of it has moved for half a minute. */
  isStuck(run: Pick<Run, 'id' | 'state' | 'counts' | 'changes'>): boolean;
}

export function openRates(clock: Pick<Clock, 'monotonic'>): Rates {
  const samples = new Map<string, readonly Sample[]>();
  const still = new Map<string, { readonly changes: number; readonly sinceMs: number }>();
  return {
    note(run) {
      if (run.state !== 'paying') {
        samples.delete(run.id);
        return null;
      }
      const own = withSample(samples.get(run.id) ?? [], { atMs: clock.monotonic(), done: rowsTaken(run) });
      samples.delete(run.id);
      samples.set(run.id, own);
      dropOldest(samples);
      return perSecondOf(own);
    },
    isStuck({ id, state, counts, changes }) {
      const before = still.get(id);
      still.delete(id);
      if (state !== 'paying' || counts.ready === 0) return false;
      const now = clock.monotonic();
      const own = before?.changes === changes ? before : { changes, sinceMs: now };
      still.set(id, own);
      dropOldest(still);
      return now - own.sinceMs >= STILL_MS_MAX;
    },
  };
}

function dropOldest(runs: Map<string, unknown>): void {
  const [oldest] = runs.keys();
  if (runs.size > RUNS_MAX && oldest !== undefined) runs.delete(oldest);
}
