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
  readonly ledger: Pick<Ledger, 'runs' | 'slices' | 'audit'>;
  readonly ensureSeason: () => Promise<readonly string[]>;
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
}

export type Submitted =
  | { readonly kind: 'refused'; readonly checked: CheckedFile }
  /** `isNew` is false when the content was handed in before: the run is the one that it made then. */
  | { readonly kind: 'submitted'; readonly run: Run; readonly isNew: boolean; readonly checked: CheckedFile };

/**
 * Makes a run of a payout file: checks it, claims its content, records its rows, releases it to be paid. The same content
 * again, also at the same time or after a crash, comes to the same run and carries it on (design 4 and 6). Who handed it
 * in is on the audit log before anything of it can be paid.
 */
export async function submitRun(deps: SubmitDeps, submission: Submission): Promise<Submitted> {
  const checked = await checkPayoutFile(submission.path);
  if (isRefused(checked, submission)) return { kind: 'refused', checked };
  const { id, isNew } = await claimRun(deps, checked, submission.actor);
  await deps.ledger.audit.append({
    actor: submission.actor,
    action: isNew ? 'run.submitted' : 'run.attached',
    target: id,
    details: { fileSha256: checked.sha256, rows: String(checked.rows) },
  });
  if (await isUnrecorded(deps, id, checked)) {
    await requireSeason(deps);
    await recordRun(deps, id, { submission, checked });
  }
  await releaseRun(deps, id, submission.actor);
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
    // What a Redis that went back in time lost is restored first; else its files would look new.
    if (result === 'season') await requireSeason(deps);
    else if (result !== 'taken') return { id, isNew: result === 'new' };
  }
  throw new Error('no free run id was found');
}

/** Throws a Refusal (exit 69) while data directories have yet to compare their intent logs with this Redis. */
export async function requireSeason(deps: Pick<SubmitDeps, 'ensureSeason'>): Promise<void> {
  const missing = await deps.ensureSeason();
  if (missing.length === 0) return;
  throw new Refusal(
    `Nothing may be sent yet. Data directories have to say what they sent, or to take note of this one: ${missing.join(', ')}.`,
    {
      exitCode: EXIT.unavailable,
      remedy:
        'Start payrun once with each of these data directories, or let two people give up one that does not come back: "payrun write-off".',
    },
  );
}

/**
 * Whether rows of the run are still to be recorded. A recording that was interrupted is carried on with the very file that
 * began it: in another file of the same content the rows may stand on other lines.
 */
async function isUnrecorded(deps: SubmitDeps, runId: string, checked: CheckedFile): Promise<boolean> {
  const run = await readRun(deps, runId);
  if (run.state !== 'recording' && run.state !== 'cancelled') return false;
  const { lastLine } = await deps.ledger.slices.position(runId);
  const recorded = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
  if (lastLine > 0 && recorded === run.rows) return false;
  if (run.fileSha256 === checked.sha256) return true;
  throw new Refusal(`The recording of the same rows from ${run.fileName} was interrupted (run ${runId}).`, {
    exitCode: EXIT.usage,
    remedy: `Submit that very file again (SHA-256 ${run.fileSha256}): it is carried on.`,
  });
}

async function recordRun(
  deps: SubmitDeps,
  runId: string,
  file: { submission: Submission; checked: CheckedFile },
): Promise<void> {
  const { runs } = deps.ledger;
  const inFlight: Promise<void>[] = [];
  let lastLine = 1;
  try {
    for await (const batch of readPayoutFile(file.submission.path, file.checked)) {
      lastLine = batch.at(-1)?.line ?? lastLine;
      if (inFlight.length >= BATCHES_IN_FLIGHT_MAX) await inFlight.shift();
      inFlight.push(recordBatch(deps, runId, batch));
      deps.at('C16');
    }
    await Promise.all(inFlight);
  } finally {
    // A batch that fails beside the first one has nobody else to listen.
    await Promise.allSettled(inFlight);
  }
  await runs.note(runId, { lastLine: String(lastLine) });
}

/** Lets a run that is recorded be paid; one that was released before is only woken. */
async function releaseRun(deps: SubmitDeps, runId: string, actor: string): Promise<void> {
  const move = { from: 'recording', to: 'paying', actor, reason: 'submitted' } as const;
  const { result } = await deps.ledger.runs.move(runId, move);
  if (result === 'season' || result === 'incomplete') throw refuseInterrupted();
  await deps.wake(runId);
}

async function recordBatch(deps: SubmitDeps, runId: string, batch: readonly (PayoutRow | RefusedRow)[]): Promise<void> {
  const result = await deps.ledger.runs.record(runId, batch.map(recordOf), deps.config.rememberMs);
  // `closed`: another process recorded the same file to its end.
  if (result === 'season') throw refuseInterrupted();
}

function refuseInterrupted(): Refusal {
  return new Refusal('Redis was restarted while the file was being recorded.', {
    exitCode: EXIT.unavailable,
    remedy: 'Submit the same file again: it is carried on.',
  });
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
