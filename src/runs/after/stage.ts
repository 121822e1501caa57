import { releasedTo, stageText } from '../../config/stages.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Run } from '../../payout.ts';
import { outcomeCounts } from '../../report/totals.ts';

/**
 * Ends the stage of a run in which nothing waits and nothing is on its way any more, and whose payments are final: the run
 * pauses for a look. One that goes on if all was paid, and of which all was paid so far, releases the next stage.
 */
export async function endStage({ runs }: Pick<Ledger, 'runs'>, run: Run): Promise<void> {
  const { id, state, stages, counts } = run;
  const last = releasedTo(run);
  if (state !== 'paying' || stages === null || last === Number.POSITIVE_INFINITY) return;
  if (counts.armed + counts.quoted + counts.unknown + counts.accepted > 0) return;
  if (await hasReady(runs, id, last)) return;
  const isPaid = counts.held + counts.rejected + counts.failed + counts.returned + counts.cancelled === 0;
  const outcomes = Object.entries(outcomeCounts((of) => counts[of]));
  const became = outcomes.filter(([outcome, count]) => outcome !== 'waiting' && count > 0);
  const counted = became.map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  const goesOn = stages.goesOnIfPaid && isPaid;
  const end = goesOn ? 'the next one begins' : 'look at it before it goes on';
  const reason = `${stageText(stages)}, is over (${counted === '' ? 'nothing was paid' : counted}): ${end}`;
  await runs.endStage(id, { at: stages.at, goesOn, reason });
}

async function hasReady(runs: Ledger['runs'], runId: string, last: number): Promise<boolean> {
  for await (const [first] of runs.linesIn(runId, { state: 'ready' })) return first !== undefined && first <= last;
  return false;
}
