import type { Clock, Random } from '../../clock.ts';
import type { ApprovalRules } from '../../config/approval.ts';
import { RECORDING_QUIET_MS } from '../../duration.ts';
import { type CheckedFile, checkPayoutFile, type IntakeOptions } from '../../intake/check-file.ts';
import type { IntakeLimits } from '../../intake/limits.ts';
import { readPayoutFile } from '../../intake/read-file.ts';
import { openContentHash } from '../../intake/row/row-hash.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { planFields, stageFields } from '../../ledger/runs/run-record.ts';
import type { Notifier } from '../../notify/notifier.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import { PAYOUT_STATES, type Run } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { approvalsNeeded } from '../decide/approval.ts';
import { cancelReady } from '../decide/cancel-ready.ts';
import { readRun } from '../read-run.ts';
import { withAgreedRules } from './agreed-rules.ts';
import { type RecordDeps, recordRows } from './record-rows.ts';
import { refuseBusy, refuseCancelled, refuseInterrupted, refuseRestarted } from './refusals.ts';
import { newRunId } from './run-id.ts';
import { standsOnSameLines } from './same-rows.ts';
import { type AskedFor, byOf, entryOf, handedInOnRecord, type OnRecord, sealOfRun } from './seal-run.ts';
import { openStageEnds } from './stage-ends.ts';
import { type StartRules, startOf } from './start.ts';

const CLAIM_TRIES_MAX = 5;
const BATCHES_IN_FLIGHT_MAX = 4;

export interface SubmitDeps extends RecordDeps {
  readonly ledger: Pick<
    Ledger,
    'runs' | 'slices' | 'audit' | 'payouts' | 'recovery' | 'references' | 'seals' | 'state'
  >;
  readonly ensureSeason: () => Promise<readonly string[]>;
  readonly config: RecordDeps['config'] & {
    readonly approval?: ApprovalRules | null;
    readonly files?: IntakeLimits;
  } & StartRules;
  /** Told of a file that is refused, whichever door it came by. */
  readonly notifier?: Pick<Notifier, 'announceRefused'> | undefined;
  /** Told how many rows are recorded, of how many. */
  readonly onRecording?: ((done: number, of: number) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly at: AtCrashPoint;
  /** Tells the workers that the run wants work. */
  readonly wake: (runId: string) => Promise<void>;
}

export interface Submission extends AskedFor {
  readonly path: string;
  /** Let the valid rows go although others are refused. */
  readonly skipInvalid: boolean;
  /** How the file looks and what it should hold, where that was said. */
  readonly intake?: IntakeOptions | undefined;
  /** Pay the rows of a run anew that is over and of which nothing was paid. */
  readonly again?: boolean | undefined;
}

export type Submitted =
  | { readonly kind: 'refused'; readonly checked: CheckedFile }
  /** `isNew` is false when the content was handed in before, by another submission: the run is the one that it made then. */
  | { readonly kind: 'submitted'; readonly run: Run; readonly isNew: boolean; readonly checked: CheckedFile };

/**
 * Makes a run of a payout file: checks it, claims its content, records its rows, releases it to be paid. The same content
 * again, also at the same time or after a crash, comes to the same run and carries it on (architecture.md). Who handed it
 * in is on the audit log before anything of it can be paid.
 */
export async function submitRun(given: SubmitDeps, submission: Submission): Promise<Submitted> {
  const checked = await checkSubmission(given, submission);
  if (isRefused(checked, submission)) {
    await given.notifier?.announceRefused(checked, given.clock.now());
    return { kind: 'refused', checked };
  }
  const deps = await withAgreedRules(given);
  const { id, isNew, isFresh } = await claimOrTakeOver(deps, checked, submission);
  const asked = asClaimed(submission, await readRun(deps, id));
  await deps.ledger.audit.append(entryOf({ id, isNew }, checked, asked));
  const handedInBy = async (): Promise<OnRecord> => {
    // Somebody else may have said more of it since.
    const now = asClaimed(submission, await readRun(deps, id));
    return isFresh ? byOf(now) : await byOnRecord(deps, id, now);
  };
  if (await isUnrecorded(deps, id, { path: submission.path, checked })) {
    await requireSeason(deps);
    const recorded = await recordRun(deps, id, { submission, checked, by: await handedInBy() });
    // Rows that were there already keep what was found of them then.
    const acceptedHash = isFresh ? recorded : await acceptedOnRecord(deps, id);
    // The service's list of identities may have become another one since the file was checked.
    if (acceptedHash !== checked.acceptedHash) {
      await deps.ledger.audit.append(entryOf({ id, isNew: false }, { ...checked, acceptedHash }, submission));
    }
  }
  await releaseRun(deps, id, { actor: submission.actor, handedInBy });
  return { kind: 'submitted', run: await readRun(deps, id), isNew, checked };
}

/** What was said of a hand-in that was cut short holds for whoever carries it on: its claim keeps it. */
function asClaimed(submission: Submission, { stagePlan, askedStart, maxCostDriftBp }: Run): Submission {
  return {
    ...submission,
    stages: stagePlan ?? submission.stages,
    startAt: askedStart ?? submission.startAt,
    maxCostDriftBp: maxCostDriftBp ?? undefined,
  };
}

/** The hash of the rows of a run that were accepted, as they stand in the ledger. */
async function acceptedOnRecord({ ledger }: SubmitDeps, id: string): Promise<string> {
  const accepted = openContentHash();
  for await (const batch of ledger.runs.rows(id)) {
    for (const one of batch) if ('row' in one) accepted.addRow(one.row);
  }
  return accepted.digest();
}

/** By whom, and with what, a run was handed in that somebody had begun before: the audit log tells it, and its claim. */
async function byOnRecord({ ledger }: SubmitDeps, id: string, asked: Submission): Promise<OnRecord> {
  const claimed = byOf(asked);
  const by = (await handedInOnRecord(ledger, id)) ?? claimed;
  return {
    ...by,
    stagePlan: by.stagePlan ?? claimed.stagePlan,
    maxCostDriftBp: by.maxCostDriftBp ?? claimed.maxCostDriftBp,
    askedStart: by.askedStart ?? claimed.askedStart,
  };
}

/**
 * What intake finds out about the file, and what the service's list of identities says of its rows. Records nothing. Throws
 * a Refusal (file refused) when the file cannot be read.
 */
export async function checkSubmission(
  { identities, config }: Pick<SubmitDeps, 'identities' | 'config'>,
  submission: Pick<Submission, 'path' | 'intake' | 'skipInvalid'>,
): Promise<CheckedFile> {
  const checked = await checkPayoutFile(submission.path, {
    ...(config.files === undefined ? {} : { limits: config.files }),
    ...submission.intake,
  });
  if (identities === undefined || isRefused(checked, submission)) return checked;
  const { problems, problemsTotal, problemGroups, refused, warnings, acceptedHash } = await identities.check(
    submission.path,
    checked,
  );
  return {
    ...checked,
    valid: checked.valid - refused,
    acceptedHash: acceptedHash ?? checked.acceptedHash,
    problems: [...checked.problems, ...problems].slice(0, checked.reading.limits.problemsMax),
    problemsTotal: checked.problemsTotal + problemsTotal,
    problemGroups: [...checked.problemGroups, ...problemGroups],
    warnings: [...checked.warnings, ...warnings].slice(0, checked.reading.limits.problemsMax),
    // A copy marks what intake finds; one without what the service says would look sound.
    isMarkable: checked.isMarkable && refused === 0,
  };
}

/** Whether nothing of the file is to be paid. */
export function isRefused(
  checked: Pick<CheckedFile, 'fileRefused' | 'valid' | 'rows'>,
  { skipInvalid }: Pick<Submission, 'skipInvalid'>,
): boolean {
  if (checked.fileRefused || checked.valid === 0) return true;
  return checked.valid < checked.rows && !skipInvalid;
}

/**
 * Claims the content. Where another file of the same rows was never recorded to its end, and nobody records it now, that run
 * is cancelled and its rows are taken over: the very bytes that began it may be gone.
 */
async function claimOrTakeOver(deps: SubmitDeps, checked: CheckedFile, submission: Submission): Promise<Claimed> {
  const claimed = await claimRun(deps, checked, submission);
  if (claimed.isNew) return claimed;
  const run = await readRun(deps, claimed.id);
  const isUnfinished = run.state === 'recording' || run.state === 'cancelled';
  // A run that was taken over has ended; its rows go on in a new one.
  const isToCarryOn = run.fileSha256 === checked.sha256 && !run.isTakenOver;
  // What was sent may be held too, where a lost host has it.
  if (!isUnfinished || run.isInDoubt || isToCarryOn || (await isRecorded(deps, run))) return claimed;
  await requireFreeRows(deps, run);
  const { actor } = submission;
  const reason = `its rows were handed in again, in ${checked.name}`;
  const move = { from: run.state, to: 'cancelled', actor, reason, isTakenOver: true } as const;
  const { result } = await deps.ledger.runs.move(run.id, move);
  if (result === 'there' && !run.isTakenOver) throw refuseCancelled(run);
  if (result !== 'moved' && result !== 'there') throw refuseBusy(run, RECORDING_QUIET_MS);
  await cancelReady(deps.ledger, run.id, actor);
  return await claimRun(deps, checked, { ...submission, again: true });
}

/** Throws a Refusal where another file may not take over the rows of a run that is not recorded to its end. */
async function requireFreeRows(deps: SubmitDeps, run: Run): Promise<void> {
  if (run.state === 'cancelled' && !run.isTakenOver) throw refuseCancelled(run);
  if (SENT_STATES.some((state) => run.counts[state] > 0)) throw refuseInterrupted(run);
  await requireSeason(deps);
  if (await deps.ledger.recovery.isStoppedAhead(run.id)) throw refuseInterrupted(run);
  // A time that is far ahead is of a clock that stepped back since.
  if (run.recordedAt !== null && Math.abs(deps.clock.now() - run.recordedAt) < RECORDING_QUIET_MS)
    throw refuseBusy(run, RECORDING_QUIET_MS);
}

/** States of what may have been sent, as far as a run can have it that was never recorded to its end. */
const SENT_STATES = PAYOUT_STATES.filter((state) => state !== 'ready' && state !== 'cancelled');

interface Claimed {
  readonly id: string;
  readonly isNew: boolean;
  /** Nobody had begun it before. */
  readonly isFresh: boolean;
}

async function claimRun(
  deps: SubmitDeps,
  checked: CheckedFile,
  { actor, dropper, key, again, stages, startAt, maxCostDriftBp }: Submission,
): Promise<Claimed> {
  for (let tries = 0; tries < CLAIM_TRIES_MAX; tries++) {
    const own = newRunId(deps);
    const { id, result } = await deps.ledger.runs.claim({
      id: own,
      fileName: checked.name,
      fileSha256: checked.sha256,
      contentHash: checked.contentHash,
      rows: checked.rows,
      fileTotals: checked.totals,
      createdBy: actor,
      dropper,
      submissionKey: key,
      stages,
      startAt,
      maxCostDriftBp,
      again,
    });
    // What a Redis that went back in time lost is restored first; else its files would look new.
    if (result === 'season') await requireSeason(deps);
    else if (result === 'busy') throw refuseBusy(await readRun(deps, id), RECORDING_QUIET_MS);
    // Where the reply to the claim was lost, and the claim was sent again, its own run is known already.
    else if (result === 'new' || (result === 'known' && id === own)) return { id, isNew: true, isFresh: true };
    else if (result === 'known') {
      const isNew = key !== undefined && (await readRun(deps, id)).submissionKey === key;
      return { id, isNew, isFresh: false };
    }
  }
  throw new Error('no free run id was found');
}

/** Throws a Refusal (unavailable) while data directories have yet to compare their intent logs with this Redis. */
export async function requireSeason(deps: Pick<SubmitDeps, 'ensureSeason'>): Promise<void> {
  const missing = await deps.ensureSeason();
  if (missing.length === 0) return;
  throw new Refusal(
    `Nothing may be sent yet. Data directories have to say what they sent, or to take note of this one: ${missing.join(', ')}.`,
    withSteps`Start payrun once with each of these data directories, or let two people give up one that does not come back: ${{ to: 'write-off' }}. Then ${{ to: 'do-the-same' }}.`,
    { kind: 'unavailable' },
  );
}

/**
 * Whether rows of the run are still to be recorded. A recording that was interrupted is carried on with the very file that
 * began it: in another file of the same content the rows may stand on other lines. One that Redis forgot may have lost its
 * file too: then another one stands for it that has its rows on the same lines.
 */
async function isUnrecorded(
  deps: SubmitDeps,
  runId: string,
  file: { path: string; checked: CheckedFile },
): Promise<boolean> {
  const { checked } = file;
  const run = await readRun(deps, runId);
  if (run.purgedAt !== null || (run.state !== 'recording' && run.state !== 'cancelled')) return false;
  if (await isRecorded(deps, run)) return false;
  if (run.fileSha256 === checked.sha256) return true;
  if (run.isInDoubt && (await standsOnSameLines(deps.ledger, run, file))) {
    if (await deps.ledger.runs.takeFile(run.id, checked)) return true;
  }
  throw refuseInterrupted(run);
}

async function isRecorded(deps: SubmitDeps, run: Run): Promise<boolean> {
  const { lastLine } = await deps.ledger.slices.position(run.id);
  const recorded = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
  return lastLine > 0 && recorded === run.rows;
}

/** Gives the hash of the rows that were accepted. */
async function recordRun(
  deps: SubmitDeps,
  runId: string,
  file: { submission: Submission; checked: CheckedFile; by: OnRecord },
): Promise<string> {
  const { runs } = deps.ledger;
  const inFlight: Promise<void>[] = [];
  const accepted = openContentHash();
  const currencies = new Set<string>();
  const stages = openStageEnds(file.by.stagePlan, file.checked.rows);
  let lastLine = 1;
  let rows = 0;
  try {
    for await (const batch of readPayoutFile(file.submission.path, file.checked)) {
      lastLine = batch.at(-1)?.line ?? lastLine;
      for (const row of batch.filter((one) => 'reference' in one)) {
        currencies.add(row.sourceCurrency).add(row.destinationCurrency);
      }
      if (inFlight.length >= BATCHES_IN_FLIGHT_MAX) await inFlight.shift();
      const recording = recordRows(deps, runId, { batch, accepted, maxCostDriftBp: file.by.maxCostDriftBp });
      // It is awaited later, and may fail while the next batch is read.
      recording.catch(() => {});
      inFlight.push(recording);
      stages.take(batch);
      rows += batch.length;
      deps.onRecording?.(rows, file.checked.rows);
      deps.at('C16');
    }
    await Promise.all(inFlight);
  } finally {
    // A batch that fails beside the first one has nobody else to listen.
    await Promise.allSettled(inFlight);
  }
  const isNoted = await runs.noteRecorded(runId, file.checked.sha256, {
    lastLine: String(lastLine),
    currencies: [...currencies].toSorted().join(' '),
    columns: file.checked.columns.join(' '),
    ...planFields(file.by.stagePlan),
    ...stageFields(stages.ends),
    ...(await sealOfRun(deps, runId, { ...file, lastLine })),
  });
  if (!isNoted) throw refuseRestarted();
  return accepted.digest();
}

/** Lets a run that is recorded be paid, now or at its time; one that was released before is only woken. */
async function releaseRun(
  deps: SubmitDeps,
  runId: string,
  { actor, handedInBy }: { actor: string; handedInBy: () => Promise<OnRecord> },
): Promise<void> {
  const run = await readRun(deps, runId);
  const askedStart = run.state === 'recording' ? (await handedInBy()).askedStart : null;
  const start = run.state === 'recording' ? await startOf(deps, run, askedStart ?? undefined) : undefined;
  const to = approvalsNeeded(deps.config.approval ?? null, run.fileTotals) > 0 ? 'awaiting-approval' : 'paying';
  const move = { from: 'recording', to, actor, reason: 'submitted', start } as const;
  const { result } = await deps.ledger.runs.move(runId, move);
  if (result === 'season' || result === 'incomplete') throw refuseRestarted();
  await deps.wake(runId);
}
