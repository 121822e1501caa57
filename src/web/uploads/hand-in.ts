import type { App } from '../../app.ts';
import type { WebSettings } from '../../config/web.ts';
import { Refusal } from '../../refusal.ts';
import { costPreviewOf } from '../../runs/hand-in/submission-options.ts';
import { submitRun } from '../../runs/hand-in/submit.ts';
import { Problem } from '../problem.ts';
import { driftOf, hasRowsToPay, intakeOptionsOf, keepFindings, readReview, stagesOf, startOfUpload } from './review.ts';
import { removeOldUploads } from './staging.ts';
import { listUploads, readUpload, removeContent, saveUpload, type Upload, uploadPath } from './upload.ts';

const HOUR_MS = 60 * 60 * 1000;

/** What uploads need, from the first byte to the run. */
export interface HandInDeps extends App {
  readonly settings: Pick<WebSettings, 'uploadsMax' | 'templates'>;
}

/**
 * Makes a run of an upload that was reviewed. That it was handed in is kept first: if this process ends meanwhile, the next
 * one carries it on (`resumeUploads`), under the same key, so that it is one run however often it is tried. Gives the upload
 * with its run, or `checked` with what is wrong now. Throws a Problem (409) for one that cannot be handed in, and what keeps
 * it from being recorded for now: a Refusal (unavailable), a fault. `skipInvalid`: its valid rows go although others are refused.
 */
export async function handInUpload(deps: HandInDeps, { id }: Pick<Upload, 'id'>, skipInvalid = false): Promise<Upload> {
  // Read anew: another click may have brought it further.
  const upload = await readUpload(deps, id);
  if (upload?.state === 'recorded') return upload;
  const review = upload && (await readReview(deps, upload));
  const skips = skipInvalid && review !== undefined && hasRowsToPay(review);
  if (upload === undefined || review === undefined || !(review.isPayable || skips)) {
    throw new Problem(409, 'This file cannot be handed in as it is.', 'Correct it, and upload it again.');
  }
  const options = skips ? { ...upload.options, skipInvalid: true } : upload.options;
  return await submitUpload(deps, await markHandedIn(deps, { ...upload, options }), review.sha256);
}

async function markHandedIn(deps: HandInDeps, upload: Upload): Promise<Upload> {
  if (upload.state === 'handed-in') return upload;
  const startAt = startOfUpload(deps, upload.options) ?? null;
  return await saveUpload(deps, { ...upload, state: 'handed-in', startAt, trouble: null });
}

async function submitUpload(deps: HandInDeps, upload: Upload, sha256: string): Promise<Upload> {
  try {
    return await recordUpload(deps, upload, sha256);
  } catch (error) {
    // Two clicks record side by side, and who comes second may find the file gone.
    const now = await readUpload(deps, upload.id);
    if (now?.state === 'recorded') return now;
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    await saveUpload(deps, { ...upload, state: 'checked', trouble: `${error.message} ${error.remedy}` });
    throw error;
  }
}

async function recordUpload(deps: HandInDeps, upload: Upload, sha256: string): Promise<Upload> {
  const { id, person, options, startAt } = upload;
  const submitted = await submitRun(
    { ...deps, previewCost: costPreviewOf(deps.asker, deps) },
    {
      path: uploadPath(deps, id, 'file'),
      actor: person,
      skipInvalid: options.skipInvalid,
      again: options.again,
      intake: await intakeOptionsOf(deps, upload, sha256),
      startAt: startAt ?? undefined,
      maxCostDriftBp: driftOf(options),
      stages: stagesOf(options),
      key: id,
    },
  );
  if (submitted.kind === 'refused') {
    await keepFindings(deps, upload, submitted.checked);
    const trouble = 'The file was refused when it was handed in. The problems are listed below.';
    return await saveUpload(deps, { ...upload, state: 'checked', trouble });
  }
  const { run, isNew } = submitted;
  const recorded = await saveUpload(deps, { ...upload, state: 'recorded', runId: run.id, isNew });
  deps.log.info('an upload was recorded as a run', { run: run.id, actor: person });
  // The ledger has its rows and its SHA-256 now, and reports and retry files are made from there.
  await removeContent(deps, id);
  return recorded;
}

/** Hands in what a process that ended left behind. What cannot be now is tried again the next time. */
export async function resumeUploads(deps: HandInDeps): Promise<void> {
  for (const upload of await listUploads(deps)) {
    if (upload.state !== 'handed-in') continue;
    try {
      const { runId } = await handInUpload(deps, upload);
      deps.log.info('an upload that was left behind was handed in', runId === null ? {} : { run: runId });
    } catch (error) {
      deps.log.warn('an upload could not be handed in', { error });
    }
  }
}

/** Carries on what was left behind, and removes what is old: now, and each hour until the end. */
export async function keepUploads(deps: HandInDeps, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      await resumeUploads(deps);
      await removeOldUploads(deps);
    } catch (error) {
      deps.log.error('uploaded files could not be looked after', { error });
    }
    await deps.clock.sleep(HOUR_MS, stop);
  }
}
