import type { Run } from '../src/payout.ts';
import { finishRun } from '../src/runs/after/finish.ts';
import type { JobDeps } from './deps.ts';
import { askAgain, hasAsked, reportJob } from './report.ts';

/** Ends a run that has nothing open any more, and has it reported. Gives true when it is over. */
export async function endRun({ app }: JobDeps, runId: string): Promise<boolean> {
  if (!(await finishRun(app.ledger, runId))) return false;
  const run = await app.ledger.runs.read(runId);
  if (run !== undefined && !isReported(run)) {
    await app.jobs.add('report', [reportJob(run, app.clock.now())]);
    return true;
  }
  if (run !== undefined && !hasAsked(run)) await app.jobs.add('report', [askAgain(run, app.clock.now())]);
  await app.ledger.runs.leave(runId);
  return true;
}

/** A run that is paid on after its end, because people allowed a payout, is reported again. A cancelled one ends later than it is cancelled. */
function isReported(run: Run): boolean {
  const last = run.state === 'cancelled' ? run.changes : run.finishedChanges;
  return run.reportVersion > 0 && run.reportedChanges >= last;
}
