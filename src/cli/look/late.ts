import { endingOf } from '../../../jobs/cut-offs.ts';
import type { Run } from '../../payout.ts';

const LOOK_EVERY_MS = 10_000;
/** Where nothing can be foreseen yet: at its start a run has neither a worker nor a pace. */
const LOOK_AGAIN_MS = 1000;

/** Tells whoever watches a run that it will miss a cut-off, once for as long as that holds. */
export function openLateTelling(
  app: Parameters<typeof endingOf>[0],
  say: (line: string) => void,
): (run: Run) => Promise<void> {
  let lookAt = Number.NEGATIVE_INFINITY;
  let isTold = false;
  return async (run) => {
    const now = app.clock.monotonic();
    if (now < lookAt) return;
    lookAt = now + LOOK_AGAIN_MS;
    const ending = await endingOf(app, run);
    if (ending !== null) lookAt = now + LOOK_EVERY_MS;
    const missed = ending?.missed ?? null;
    if (missed !== null && !isTold) say(`Run ${run.id} ${missed}.`);
    isTold = missed !== null;
  };
}
