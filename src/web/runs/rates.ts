import type { Clock } from '../../clock.ts';
import type { Run } from '../../payout.ts';
import { perSecondOf, rowsDone, type Sample, withSample } from '../../runs/progress.ts';

const RUNS_MAX = 500;

/** How fast runs go, as far as this process looked at them lately. */
export interface Rates {
  /**
   * Notes how far the run is; gives its rows a second, null while that is not known. Only the time in which it is being paid
   * counts: what waited or was paused is as fast as it goes afterwards.
   */
  note(run: Pick<Run, 'id' | 'state' | 'counts'>): number | null;
}

export function openRates(clock: Pick<Clock, 'monotonic'>): Rates {
  const samples = new Map<string, readonly Sample[]>();
  return {
    note(run) {
      if (run.state !== 'paying') {
        samples.delete(run.id);
        return null;
      }
      const own = withSample(samples.get(run.id) ?? [], { atMs: clock.monotonic(), done: rowsDone(run) });
      samples.delete(run.id);
      samples.set(run.id, own);
      const [oldest] = samples.keys();
      if (samples.size > RUNS_MAX && oldest !== undefined) samples.delete(oldest);
      return perSecondOf(own);
    },
  };
}
