import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from '../../files.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PurgedRow } from '../../ledger/runs/purging.ts';
import type { Payout, RefusedRow } from '../../payout.ts';
import { writeFinalSummary } from './final-summary.ts';
import type { ReportDeps } from './report.ts';

export interface PurgeOrder {
  readonly actor: string;
  /** How long ago a run must have ended. */
  readonly olderThanMs: number;
}

/** A run, and `purged` or why it was left alone. */
export interface PurgeAnswer {
  readonly runId: string;
  readonly result: string;
}

/**
 * Purges each run that is final and ended long enough ago: its rows, its quotes and the reports in the report folder of
 * this host go, in whose place a summary without rows is written; its numbers, its events, the SHA-256 of its file and of each report stay. A purge that was interrupted is
 * carried on. What is held, under way or watched for returns is never touched (docs/operation.md).
 */
export async function purgeRuns(deps: ReportDeps, order: PurgeOrder): Promise<PurgeAnswer[]> {
  const answers: PurgeAnswer[] = [];
  for (const runId of await deps.ledger.runs.list()) {
    const result = await purgeRun(deps, runId, order);
    if (result !== 'purged before') answers.push({ runId, result });
  }
  return answers;
}

/** The same for one run: `purged`, `purged before`, or why it was left alone. */
export async function purgeRun(deps: ReportDeps, runId: string, order: PurgeOrder): Promise<string> {
  const { ledger, config } = deps;
  const doubt = await findUnconfirmed(ledger, runId);
  if (doubt !== undefined) return doubt;
  const begun = await ledger.purging.begin(runId, order.olderThanMs, deps.clock.now());
  if (begun === 'purged') return 'purged before';
  if (begun !== 'purging') return begun;
  const { sha256, isSigned } = await writeFinalSummary(deps, runId);
  const rows = await ledger.purging.rows(runId, purgedRows(ledger, runId));
  await removeReports(config.reportDir, runId, { keepsSignatures: !isSigned });
  await ledger.audit.append({
    actor: order.actor,
    action: 'run.purged',
    target: runId,
    details: { rows: String(rows), ...(sha256 === null ? {} : { summary: sha256 }) },
  });
  await ledger.purging.end(runId);
  return 'purged';
}

/** A refused payment may turn out to be made as long as no look-up after its quote's end has said otherwise. */
async function findUnconfirmed(ledger: Ledger, runId: string): Promise<string | undefined> {
  const run = await ledger.runs.read(runId);
  if (run === undefined || run.purgedAt !== null || run.counts.rejected === 0) return undefined;
  for await (const lines of ledger.runs.linesIn(runId, { state: 'rejected' })) {
    for (const line of lines) {
      const { payout } = await ledger.payouts.read({ runId, line });
      if (typeof payout?.quoteId === 'string' && !payout.rejectionConfirmed)
        return `the rejection of line ${line} is not confirmed`;
    }
  }
  return undefined;
}

async function* purgedRows({ runs }: Ledger, runId: string): AsyncGenerator<PurgedRow[]> {
  for await (const batch of runs.rows(runId)) yield batch.map(purgedRow);
}

function purgedRow(row: Payout | RefusedRow): PurgedRow {
  return 'row' in row
    ? { line: row.line, referenceHash: hashReference(row.row.reference) }
    : { line: row.line, referenceHash: null };
}

/** Signatures stay as long as no summary that is signed stands for them. */
async function removeReports(
  folder: string,
  runId: string,
  { keepsSignatures }: { keepsSignatures: boolean },
): Promise<void> {
  const names = (await ifThere(readdir(folder))) ?? [];
  const own = names.filter((name) => name.startsWith(`${runId}.v`) || name.startsWith(`.${runId}.v`));
  for (const name of own) {
    if (!(keepsSignatures && name.endsWith('.sig'))) await rm(join(folder, name), { force: true });
  }
}
