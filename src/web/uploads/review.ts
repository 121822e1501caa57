import { rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { CheckedFile, IntakeOptions } from '../../intake/check-file.ts';
import type { ControlTotals } from '../../intake/control-totals.ts';
import { writeMarkedUpCopy } from '../../intake/problems/marked-up.ts';
import { PROBLEM_KINDS, type ProblemCode } from '../../intake/problems/problem-kinds.ts';
import { parseTemplate, readTemplate } from '../../intake/template/file.ts';
import { controlTotalsOf } from '../../intake/written-totals.ts';
import { formatAmount, type Money } from '../../money.ts';
import type { Asker } from '../../open-pay.ts';
import type { StagePlan } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type ForeseeDeps, foresee } from '../../runs/hand-in/foresee.ts';
import { type ForeseenDocument, foreseenDocument, foreseenSchema } from '../../runs/hand-in/foreseen-document.ts';
import { requireCostPreview, startOf } from '../../runs/hand-in/submission-options.ts';
import { checkSubmission, isRefused, type SubmitDeps } from '../../runs/hand-in/submit.ts';
import { openZone } from '../../zone.ts';
import { Problem } from '../problem.ts';
import { templateText } from './templates.ts';
import {
  FILE_MODE,
  readUploadJson,
  removeUpload,
  saveUpload,
  type Upload,
  type UploadDeps,
  type UploadOptions,
  type UploadPlace,
  uploadPath,
  writeUploadJson,
} from './upload.ts';

const amounts = z.array(z.strictObject({ currency: z.string(), amount: z.string() }));
const problem = z.strictObject({
  code: z.string().refine((code): code is ProblemCode => code in PROBLEM_KINDS),
  line: z.int().nullable(),
  column: z.string().nullable(),
  value: z.string().nullable(),
  message: z.string(),
  remedy: z.string(),
});
const schema = z.strictObject({
  sha256: z.string(),
  rows: z.int(),
  valid: z.int(),
  /** Decimals per currency: of the whole file, and of its valid rows. */
  totals: amounts,
  validTotals: amounts,
  problems: z.array(problem),
  problemsTotal: z.int(),
  /** All problems by code and column, the most frequent first. */
  groups: z.array(z.object({ count: z.int(), first: problem })).default([]),
  warnings: z.array(problem),
  fileRefused: z.boolean(),
  /** Whether it can be handed in as it was uploaded. */
  isPayable: z.boolean(),
  hasMarkedUpCopy: z.boolean(),
});

/** What was found out about an uploaded file. */
export type Review = z.infer<typeof schema>;

export interface ReviewDeps extends UploadDeps, Pick<SubmitDeps, 'identities'>, Pick<ForeseeDeps, 'ledger'> {
  readonly config: UploadDeps['config'] & SubmitDeps['config'] & ForeseeDeps['config'];
  readonly asker: Asker | undefined;
}

/**
 * Checks a file that was staged as it would be checked when it is handed in, and keeps what was found beside it. What cannot
 * be checked as it was asked for leaves nothing: a Problem (422) for options that make no sense, a Refusal for the file.
 */
export async function reviewUpload(deps: ReviewDeps, staged: Upload, options: UploadOptions): Promise<Upload> {
  try {
    requireSense(deps, options);
    await keepTemplate(deps, staged, options);
    const upload = { ...staged, options };
    await keepReview(deps, upload);
    return await saveUpload(deps, { ...upload, state: 'checked' });
  } catch (error) {
    await removeUpload(deps, staged.id);
    throw error;
  }
}

/** What was found when the file came; undefined before that, and once it is a run. */
export async function readReview(deps: UploadPlace, { id }: Upload): Promise<Review | undefined> {
  return await readUploadJson(deps, id, { file: 'review.json', schema });
}

/** What the ledger knew against its rows then; undefined for a file that has none to pay. */
export async function readForeseen(deps: UploadPlace, { id }: Upload): Promise<ForeseenDocument | undefined> {
  return await readUploadJson(deps, id, { file: 'foreseen.json', schema: foreseenSchema });
}

/** Whether the valid rows of a file can be handed in although others are refused. */
export function hasRowsToPay({ fileRefused, valid }: Pick<Review, 'fileRefused' | 'valid'>): boolean {
  return !fileRefused && valid > 0;
}

/** Keeps what was found, and the marked-up copy where the file can have one. */
async function keepReview(deps: ReviewDeps, upload: Upload): Promise<void> {
  // Its valid rows may be handed in alone, so they are looked at whatever becomes of the others.
  const submission = {
    path: uploadPath(deps, upload.id, 'file'),
    skipInvalid: true,
    intake: await intakeOptionsOf(deps, upload),
  };
  await keepFindings(deps, upload, await checkSubmission(deps, submission));
}

/** Keeps what a check found, and what the ledger knows against the rows. */
export async function keepFindings(deps: ReviewDeps, upload: Upload, checked: CheckedFile): Promise<void> {
  await rm(uploadPath(deps, upload.id, 'foreseen.json'), { force: true });
  if (hasRowsToPay(checked)) {
    const { again } = upload.options;
    const path = uploadPath(deps, upload.id, 'file');
    const foreseen = await foresee(deps, { path, checked, again, startAt: startOfUpload(deps, upload.options) });
    await writeUploadJson(deps, upload.id, { file: 'foreseen.json', value: foreseenDocument(foreseen) });
  }
  const target = uploadPath(deps, upload.id, 'marked-up.csv');
  await rm(target, { force: true });
  const hasMarkedUpCopy =
    checked.problemsTotal > 0 && (await writeMarkedUpCopy(uploadPath(deps, upload.id, 'file'), checked, target));
  const review: Review = {
    sha256: checked.sha256,
    rows: checked.rows,
    valid: checked.valid,
    totals: checked.totals.map(amountOf),
    validTotals: checked.validTotals.map(amountOf),
    problems: [...checked.problems],
    problemsTotal: checked.problemsTotal,
    groups: checked.problemGroups.map(({ count, first }) => ({ count, first })),
    warnings: [...checked.warnings],
    fileRefused: checked.fileRefused,
    isPayable: !isRefused(checked, upload.options),
    hasMarkedUpCopy,
  };
  await writeUploadJson(deps, upload.id, { file: 'review.json', value: review });
}

/** How intake is to read the file. `sha256`: it must be the bytes that were reviewed. */
export async function intakeOptionsOf(
  deps: UploadPlace & Pick<ReviewDeps, 'config'>,
  { id, name, options }: Upload,
  sha256: string | null = null,
): Promise<IntakeOptions> {
  const expected = expectedOf(options, sha256);
  return {
    limits: deps.config.files,
    fileName: name,
    ...(options.template === null ? {} : { template: await readTemplate(uploadPath(deps, id, 'template.json')) }),
    ...(expected === undefined ? {} : { expected }),
  };
}

function expectedOf(options: UploadOptions, sha256: string | null): ControlTotals | undefined {
  const expected = controlTotalsOf({ ...options, sha256 });
  if (expected === undefined || !('fault' in expected)) return expected;
  const { fault } = expected;
  if ('twice' in fault) {
    const words = 'The expected totals name a currency twice.';
    throw new Problem(422, words, 'Write one total for each currency.', { expectTotals: words });
  }
  const { currency, amount } = fault.noAmount;
  throw new Problem(
    422,
    `The expected total ${currency} ${amount} is no amount of a known currency.`,
    'Write one total in each line, such as USD 1234.56.',
    { expectTotals: `It must have amounts of known currencies; ${currency} ${amount} is none.` },
  );
}

/** Throws a Problem (422) for what can never be handed in. */
export function requireSense(deps: ReviewDeps, options: UploadOptions): void {
  expectedOf(options, null);
  startOfUpload(deps, options);
  requireCostPreview(driftOf(options), deps.asker);
}

/** When its run is to start; undefined: at once. Throws a Problem (422) for a time that cannot be. */
export function startOfUpload({ clock }: Pick<UploadDeps, 'clock'>, { at, zone }: UploadOptions) {
  if (at === null) return undefined;
  if (zone !== null) inField('zone', () => openZone(zone));
  return inField('at', () => startOf({ at, zone: zone ?? undefined }, clock));
}

function inField<T>(field: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const remedy = 'Give a day and time to come, and its time zone, such as Europe/Berlin; or let it start at once.';
    throw new Problem(422, error.message, remedy, { [field]: error.message });
  }
}

/** The stages that were asked for; undefined for none. */
export function stagesOf({ stage, goOnIfPaid }: Pick<UploadOptions, 'stage' | 'goOnIfPaid'>): StagePlan | undefined {
  return stage === null ? undefined : { sizes: stage, goesOnIfPaid: goOnIfPaid };
}

/** The allowed drift of costs in basis points. */
export function driftOf({ maxCostDriftBp }: UploadOptions): bigint | undefined {
  return maxCostDriftBp === null ? undefined : BigInt(maxCostDriftBp);
}

/** The template is kept as it was: what is reviewed is what is handed in. */
export async function keepTemplate(deps: UploadDeps, { id }: Upload, { template }: UploadOptions): Promise<void> {
  if (template === null) return;
  const text = await templateText(deps.settings.templates, template);
  if (Array.isArray(parseTemplate(text))) {
    throw new Problem(422, 'Invalid template.', 'Choose another one, or have whoever runs payrun correct it.', {
      template: 'This template is invalid.',
    });
  }
  await writeFile(uploadPath(deps, id, 'template.json'), text, { mode: FILE_MODE, flag: 'wx' });
}

function amountOf(money: Money): { currency: string; amount: string } {
  return { currency: money.currency, amount: formatAmount(money) };
}
