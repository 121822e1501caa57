import type { Clock } from '../clock.ts';
import type { Statement } from '../intake/statement/read-statement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { reconciledField } from '../ledger/runs/run-record.ts';
import type { Payout, RefusedRow } from '../payout.ts';
import { type Match, matchStatement } from '../report/statement/match.ts';
import { type MatchCounts, openMatchCounts } from '../report/statement/match-report.ts';
import { reportableRun } from './after/report.ts';

/** A statement on its way through the payments of runs. */
export interface Reconciliation {
  readonly lines: AsyncIterable<readonly Match[]>;
  /** All of it once the lines have been read; of one run where one is named. */
  readonly counts: (runId?: string) => MatchCounts;
}

/** Matches a statement with the payments of runs. Throws a Refusal for a run that is not there, is being recorded or was purged. */
export async function reconcileRuns(
  { ledger }: { readonly ledger: Ledger },
  runIds: readonly string[],
  { movements }: Pick<Statement, 'movements'>,
): Promise<Reconciliation> {
  for (const runId of runIds) await reportableRun({ ledger }, runId);

  async function* rows(): AsyncGenerator<readonly (Payout | RefusedRow)[], void> {
    for (const runId of runIds) yield* ledger.runs.rows(runId);
  }
  const counted = openMatchCounts();
  return {
    lines: counted.counting(matchStatement(rows, movements)),
    counts: (runId) => (runId === undefined ? counted.result() : counted.ofRun(runId)),
  };
}

/** Writes down with each run, and on the audit log, with what statement it was reconciled, and how far. */
export async function noteReconciled(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Pick<Clock, 'now'> },
  runIds: readonly string[],
  {
    statement,
    counts,
    actor,
  }: Pick<Reconciliation, 'counts'> & { readonly statement: Statement; readonly actor: string },
): Promise<void> {
  const { sha256 } = statement;
  for (const target of new Set(runIds)) {
    const { reconciled, payments, missing, different, extra } = counts(target);
    const found = { missing: String(missing), different: String(different), extra: String(extra) };
    const details = { statement: sha256, payments: `${reconciled} of ${payments}`, ...found };
    await ledger.audit.append({ actor, action: 'run.reconciled', target, details });
    const noted = { at: clock.now(), sha256, payments, reconciled, missing, different, extra };
    await ledger.runs.note(target, reconciledField(noted));
  }
}
