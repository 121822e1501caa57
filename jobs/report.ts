import type { Run } from '../src/payout.ts';
import { lookUpDeadQuotes } from '../src/runs/after/finish.ts';
import { writeReport } from '../src/runs/after/report.ts';
import { hasEnded } from '../src/runs/decide/control.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import type { NewJob } from './open.ts';

/** A finished run's payments settle within seconds: one report of them is worth more than two. */
const SETTLING_MS = 10_000;
const NEXT_VERSION_MS_MAX = 3_600_000;
const ASK_AGAIN_MS = 600_000;

/** Writes the report of a run that is over, unless nothing changed since the last one. */
export async function report({ app, pay }: JobDeps, { runId }: JobPayload<'report'>): Promise<void> {
  const run = await app.ledger.runs.read(runId);
  if (run === undefined || !hasEnded(run) || (isUpToDate(run) && hasAsked(run))) return;
  await lookUpDeadQuotes({ ...pay, ledger: app.ledger }, run);
  const looked = await app.ledger.runs.read(runId);
  if (looked !== undefined && !hasAsked(looked)) await app.jobs.add('report', [askAgain(looked, app.clock.now())]);
  if (looked === undefined || isUpToDate(looked)) return;
  const { summary } = await writeReport(app, runId);
  app.log.info('a report was written', { run: runId });
  if (!summary.ties) app.log.error('a report does not tie', { run: runId });
  const after = await app.ledger.runs.read(runId);
  if (after !== undefined && !isUpToDate(after)) await app.jobs.add('report', [reportJob(after, app.clock.now())]);
}

/** Whether each quote that payouts of the run left behind was asked for when it could be paid no more. */
export function hasAsked({ deadQuotesFound }: Run): boolean {
  return deadQuotesFound !== null;
}

/** The next look-up of those that could not be asked for, or may still be paid, at the time `nowMs`, in milliseconds since 1970. */
export function askAgain({ id }: Run, nowMs: number): NewJob<'report'> {
  const turn = Math.floor(nowMs / ASK_AGAIN_MS);
  return { id: `report-${id}-asks-${turn}`, payload: { runId: id }, delayMs: ASK_AGAIN_MS };
}

/** Whether the newest report has all that happened. */
function isUpToDate(run: Run): boolean {
  return run.reportVersion > 0 && run.reportedChanges === run.changes;
}

/**
 * The next report of a run that is over at the time `nowMs`, in milliseconds since 1970. While its payments settle, each
 * report waits about as long as the run has been over, so that a large one, whose payments take hours, is not written anew
 * for every few of them; once all have settled, the last one comes soon.
 */
export function reportJob(run: Run, nowMs: number): NewJob<'report'> {
  const next = { id: `report-${run.id}-v${run.reportVersion + 1}`, payload: { runId: run.id } };
  if (run.counts.accepted === 0) return { ...next, id: `${next.id}-settled`, delayMs: SETTLING_MS };
  if (run.reportVersion === 0) return { ...next, delayMs: SETTLING_MS };
  const overMs = nowMs - (run.finishedAt ?? nowMs);
  return { ...next, delayMs: Math.min(NEXT_VERSION_MS_MAX, Math.max(SETTLING_MS, overMs)) };
}
