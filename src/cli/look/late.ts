import { endingOf } from '../../../jobs/cut-offs.ts';
import type { Run } from '../../payout.ts';

const LOOK_EVERY_MS = 10_000;

/** Tells whoever watches a run that it will miss a cut-off, once for as long as that holds. */
export function openLateTelling(
  app: Parameters<typeof endingOf>[0],
  say: (line: string) => void,
): (run: Run) => Promise<void> {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isTold = false;
  return async (run) => {
    const now = app.clock.monotonic();
    if (now - lookedAt < LOOK_EVERY_MS) return;
    lookedAt = now;
    const missed = (await endingOf(app, run))?.missed ?? null;
    if (missed !== null && !isTold) say(`Run ${run.id} ${missed}.`);
    isTold = missed !== null;
  };
}
