import { stageRows } from '../../config/stages.ts';
import type { RunStages, StagePlan } from '../../payout.ts';

/** Learns on which lines the stages of a run end, while its rows are read in file order. */
export function openStageEnds(
  plan: StagePlan | null,
  rows: number,
): { readonly ends: RunStages['ends']; take(batch: readonly { readonly line: number }[]): void } {
  const wanted = plan === null ? [] : stageRows(plan.sizes, rows);
  const ends: { rows: number; line: number }[] = [];
  let taken = 0;
  return {
    ends,
    take(batch) {
      for (const { line } of batch) {
        taken += 1;
        if (taken === wanted[ends.length]) ends.push({ rows: taken, line });
      }
    },
  };
}
