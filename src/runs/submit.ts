import type { Clock, Random } from '../clock.ts';
import { type CheckedFile, checkPayoutFile } from '../intake/check-file.ts';
import { readPayoutFile } from '../intake/read-file.ts';
import { hashReference } from '../intake/reference-hash.ts';
import { hashRow } from '../intake/row-hash.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { refusedFields, rowFields } from '../ledger/record.ts';
import type { RowRecord } from '../ledger/runs.ts';
import type { At } from '../pay/crash-point.ts';
import type { PayoutRow, RefusedRow, Run } from '../payout.ts';
import { EXIT, Refusal } from '../refusal.ts';
import { newRunId } from './run-id.ts';

const CLAIM_TRIES_MAX = 5;
const BATCHES_IN_FLIGHT_MAX = 4;

export interface SubmitDeps {
  readonly ledger: Pick<Ledger, 'runs'>;
  readonly config: { readonly rememberMs: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly at: At;
  /** Tells the workers that the run wants work. */
  readonly wake: (runId: string) => Promise<void>;
}

export interface Submission {
  readonly path: string;
  /** Who hands the file in. */
  readonly actor: string;
  /** Let the valid rows go although others are refused. */
  readonly skipInvalid: boolean;
  /** Called with the rows before any of them can be paid. */
  readonly onRows?: (rows: readonly PayoutRow[]) => void;
}

export type Submitted =
  | { readonly kind: 'refused'; readonly checked: CheckedFile }
  /** `isNew` is false when the content was handed in before: the run is the one that it made then. */
  | { readonly kind: 'submitted'; readonly run: Run; readonly isNew: boolean; readonly checked: CheckedFile };

/**
 * Makes a run of a payout file: checks it, claims its content, records its rows, releases it to be paid. The same content
 * again, also at the same time or after a crash, comes to the same run and carries it on (design 4 and 6).
 */
export async function submitRun(deps: SubmitDeps, submission: Submission): Promise<Submitted> {
  const checked = await checkPayoutFile(submission.path);
  if (isRefused(checked, submission)) return { kind: 'refused', checked };
  const { id, isNew } = await claimRun(deps, checked, submission.actor);
  const claimed = await readRun(deps, id);
  if (claimed.state === 'recording') await recordRun(deps, id, { submission, checked });
  else await deps.wake(id);
  return { kind: 'submitted', run: await readRun(deps, id), isNew, checked };
}

/** Whether nothing of the file is to be paid. */
function isRefused(checked: CheckedFile, { skipInvalid }: Submission): boolean {
  if (checked.fileRefused || checked.valid === 0) return true;
  return checked.valid < checked.rows && !skipInvalid;
}

async function claimRun(
  deps: SubmitDeps,
  checked: CheckedFile,
  actor: string,
): Promise<{ id: string; isNew: boolean }> {
  for (let tries = 0; tries < CLAIM_TRIES_MAX; tries++) {
    const { id, result } = await deps.ledger.runs.claim({
      id: newRunId(deps),
      fileName: checked.name,
      fileSha256: checked.sha256,
      contentHash: checked.contentHash,
      rows: checked.rows,
      fileTotals: checked.totals,
      createdBy: actor,
    });
    if (result !== 'taken') return { id, isNew: result === 'new' };
  }
  throw new Error('no free run id was found');
}

async function recordRun(
  deps: SubmitDeps,
  runId: string,
  file: { submission: Submission; checked: CheckedFile },
): Promise<void> {
  const { runs } = deps.ledger;
  const inFlight = new Set<Promise<unknown>>();
  let lastLine = 1;
  for await (const batch of readPayoutFile(file.submission.path, file.checked)) {
    file.submission.onRows?.(batch.filter((row): row is PayoutRow => 'reference' in row));
    lastLine = batch.at(-1)?.line ?? lastLine;
    if (inFlight.size >= BATCHES_IN_FLIGHT_MAX) await Promise.race(inFlight);
    const recording: Promise<unknown> = runs
      .record(runId, batch.map(recordOf), deps.config.rememberMs)
      .finally(() => inFlight.delete(recording));
    inFlight.add(recording);
    deps.at('C16');
  }
  await Promise.all(inFlight);
  await runs.note(runId, { lastLine: String(lastLine) });
  const { result } = await runs.move(runId, { to: 'paying', actor: file.submission.actor, reason: 'submitted' });
  if (result === 'moved') await deps.wake(runId);
}

function recordOf(row: PayoutRow | RefusedRow): RowRecord {
  if ('reference' in row) {
    return {
      line: row.line,
      state: 'ready',
      fields: rowFields(row, hashRow(row)),
      amount: row.amount,
      referenceHash: hashReference(row.reference),
    };
  }
  return { line: row.line, state: 'refused', fields: refusedFields(row), amount: row.amount, referenceHash: null };
}

/** The run, or a Refusal (exit 2) when there is none with that id. */
export async function readRun(deps: { ledger: Pick<Ledger, 'runs'> }, runId: string): Promise<Run> {
  const run = await deps.ledger.runs.read(runId);
  if (run !== undefined) return run;
  throw new Refusal(`There is no run ${runId}.`, {
    exitCode: EXIT.usage,
    remedy: 'See "payrun list" for the runs that there are.',
  });
}
