import { z } from 'zod';
import { stageSizes } from '../../config/stages.ts';
import type { Run, StagePlan } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import type { Submission, Submitted } from '../../runs/hand-in/submit.ts';
import { intakeOptions } from './intake-options.ts';
import { describeProblems } from './problem-text.ts';

/** What says in which stages a file is paid. */
export const stageSettings = {
  stage: ['<sizes>', 'pay it in stages and pause after each, such as 10,100,rest or 1%,rest', stageSizes.optional()],
  goOnIfPaid: 'with --stage: go on by itself after a stage in which every payout was paid',
} as const;

/** The options of each command that makes a run of a file. */
export const submitOptions = {
  ...intakeOptions,
  ...stageSettings,
  skipInvalid: 'pay the valid rows even if others are refused',
  again: 'pay the same rows again, if they were handed in before and none of them was paid',
  maxCostDrift: [
    '<bp>',
    'hold a payout that costs this much more than when it was handed in, such as 25bp',
    z
      .string()
      .regex(/^[0-9]{1,5}bp$/, 'must be a number of basis points, such as 25bp')
      .transform((text) => BigInt(text.slice(0, -2)))
      .optional(),
  ],
} as const;

/** The stages that were asked for. Throws a Refusal (exit 2) where only half of it was said. */
export function stagePlanOf({ stage, goOnIfPaid }: StageOptions): StagePlan | undefined {
  if (stage !== undefined) return { sizes: stage, goesOnIfPaid: goOnIfPaid };
  if (!goOnIfPaid) return undefined;
  throw new Refusal('--go-on-if-paid is for --stage.', 'Name the stages, such as --stage 10,rest.');
}

interface StageOptions {
  readonly stage?: string | undefined;
  readonly goOnIfPaid: boolean;
}

const STAGES_IGNORED =
  '--stage changes nothing: the file was handed in before, and is paid in the stages that were named then, or as a whole.';
const ONE_STAGE = '--stage changes nothing: the file has no more rows than its first stage.';

const DRIFT_IGNORED =
  '--max-cost-drift changes nothing: the run was recorded before, and its costs are limited as they were then, or not at all.';
const START_IGNORED =
  '--at changes nothing: the file was handed in before, and starts at the time that was named then, or at once.';

/** What a person should know of a file that was taken. */
export function remarksOn({ run, checked, isNew }: Extract<Submitted, { kind: 'submitted' }>, asked: Asked): string[] {
  const isOdd = checked.problemsTotal > 0 || checked.warnings.length > 0;
  return [
    ...(isOdd ? [describeProblems(checked)] : []),
    ...(isNew && asked.stages !== undefined && run.stages === null ? [ONE_STAGE] : []),
    ...(isNew ? [] : ignored(run, asked)),
  ];
}

type Asked = Pick<Submission, 'maxCostDriftBp' | 'stages' | 'startAt'>;

function counts(asked: unknown, holds: unknown): boolean {
  return asked === undefined || asked === holds;
}

/** What was asked for a file that was handed in before, and does not count. */
function ignored(run: Run, { maxCostDriftBp, stages, startAt }: Asked): string[] {
  return [
    ...(counts(stages?.sizes, run.stagePlan?.sizes) ? [] : [STAGES_IGNORED]),
    ...(counts(maxCostDriftBp, run.maxCostDriftBp) ? [] : [DRIFT_IGNORED]),
    ...(counts(startAt, run.askedStart) ? [] : [START_IGNORED]),
  ];
}
