import type { Random } from '../clock.ts';
import type { Run } from '../payout.ts';
import { hasEnded } from '../runs/decide/control.ts';
import { type ReportDeps, writeReport } from '../runs/report.ts';
import { type Claim, putAnswer } from './claim.ts';
import { bytesOf } from './copy.ts';
import { ANSWER_ENDINGS } from './names.ts';
import type { InboxSource } from './source.ts';

/** Payments of a run that is over settle within seconds: one report of them is worth more than two. */
const SETTLING_MS = 10_000;
/** Dead quotes are looked up once more before the report; a service that does not answer keeps it no longer than this. */
const LAST_LOOK_MS = 60_000;

/** Whether a run has come to its end, and its report would not be another one in a moment. */
export function isReportDue(run: Run, nowMs: number): boolean {
  if (!hasEnded(run)) return false;
  const overMs = nowMs - (run.finishedAt ?? 0);
  const isLookedUp = run.deadQuotes === 0 || run.deadQuotesFound !== null || overMs >= LAST_LOOK_MS;
  return isLookedUp && (run.counts.accepted === 0 || overMs >= SETTLING_MS);
}

/** Puts copies of the run's newest report beside the file's acknowledgement. */
export async function deliverReport(
  deps: ReportDeps & { readonly random: Random },
  source: InboxSource,
  { claim, runId }: { claim: Claim; runId: string },
): Promise<void> {
  const { paths } = await writeReport(deps, runId);
  for (const path of paths) {
    const ending = path.endsWith('.csv') ? ANSWER_ENDINGS.reportCsv : ANSWER_ENDINGS.reportJson;
    await putAnswer({ random: deps.random, source }, claim, { ending, chunks: bytesOf(path) });
  }
}
