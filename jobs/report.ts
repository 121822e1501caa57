import { lookUpDeadQuotes } from '../src/runs/finish.ts';
import { writeReport } from '../src/runs/report.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import type { NewJob } from './open.ts';

/** A finished run's payments settle within seconds: one report of them is worth more than two. */
const SETTLING_MS = 10_000;

/** Writes the report of a run that is over, unless nothing changed since the last one. */
export async function report({ app, pay }: JobDeps, { runId }: JobPayload<'report'>): Promise<void> {
  const run = await app.ledger.runs.read(runId);
  if (run === undefined || run.finishedAt === null) return;
  await lookUpDeadQuotes({ ...pay, ledger: app.ledger }, run);
  const { summary } = await writeReport(app, runId);
  app.log.info('a report was written', { run: runId });
  if (!summary.ties) app.log.error('a report does not tie', { run: runId });
  const after = await app.ledger.runs.read(runId);
  if (after !== undefined && after.changes !== after.reportedChanges) {
    await app.jobs.add('report', [{ ...reportJob(runId), id: `report-${runId}-${after.changes}` }]);
  }
}

export function reportJob(runId: string): NewJob<'report'> {
  return { id: `report-${runId}`, payload: { runId }, delayMs: SETTLING_MS };
}
