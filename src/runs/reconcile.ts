import type { Statement } from '../intake/statement/read-statement.ts';
import type { Payout, RefusedRow } from '../payout.ts';
import { type Match, matchStatement } from '../report/statement/match.ts';
import type { MatchCounts } from '../report/statement/match-report.ts';
import { type ReportDeps, reportableRun } from './report.ts';

/** Matches a statement with the payments of runs. Throws a Refusal (exit 2) for a run that is not there, is being recorded or was purged. */
export async function reconcileRuns(
  deps: Pick<ReportDeps, 'ledger'>,
  runIds: readonly string[],
  { movements }: Statement,
): Promise<AsyncGenerator<readonly Match[], void>> {
  for (const runId of runIds) await reportableRun(deps, runId);

  async function* rows(): AsyncGenerator<readonly (Payout | RefusedRow)[], void> {
    for (const runId of runIds) yield* deps.ledger.runs.rows(runId);
  }
  return matchStatement(rows, movements);
}

/** Writes down on the audit log of each run with what statement it was reconciled, and how far. */
export async function noteReconciled(
  { ledger }: Pick<ReportDeps, 'ledger'>,
  runIds: readonly string[],
  { statement, counts, actor }: { statement: Statement; counts: MatchCounts; actor: string },
): Promise<void> {
  const { reconciled, payments, missing, different, extra } = counts;
  const found = { missing: String(missing), different: String(different), extra: String(extra) };
  const details = { statement: statement.sha256, payments: `${reconciled} of ${payments}`, ...found };
  for (const target of new Set(runIds)) await ledger.audit.append({ actor, action: 'run.reconciled', target, details });
}
