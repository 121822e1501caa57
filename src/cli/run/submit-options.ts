import type { Command } from 'commander';
import { z } from 'zod';
import { describeProblems } from '../../intake/problems/problem-text.ts';
import type { Submitted } from '../../runs/hand-in/submit.ts';
import { addIntakeOptions, intakeSchema } from './intake-options.ts';

/** What each command takes that makes a run of a file. */
export const submitSchema = intakeSchema.extend({
  skipInvalid: z.boolean(),
  again: z.boolean(),
  maxCostDrift: z
    .string()
    .regex(/^[0-9]{1,5}bp$/, 'must be a number of basis points, such as 25bp')
    .transform((text) => BigInt(text.slice(0, -2)))
    .optional(),
});

export function addSubmitOptions(command: Command): Command {
  return addIntakeOptions(command)
    .option('--skip-invalid', 'pay the valid rows even if others are refused', false)
    .option('--again', 'pay the same rows again, if they were handed in before and none of them was paid', false)
    .option(
      '--max-cost-drift <bp>',
      'hold a payout that costs this much more than when it was handed in, such as 25bp',
    );
}

const DRIFT_IGNORED =
  '--max-cost-drift changes nothing: the run was recorded before, and its costs are limited as they were then, or not at all.';

/** What a person should know of a file that was taken. */
export function remarksOn(
  { checked, isNew }: Extract<Submitted, { kind: 'submitted' }>,
  { maxCostDrift }: { maxCostDrift?: bigint | undefined },
): string[] {
  const isOdd = checked.problemsTotal > 0 || checked.warnings.length > 0;
  return [
    ...(isOdd ? [describeProblems(checked)] : []),
    ...(!isNew && maxCostDrift !== undefined ? [DRIFT_IGNORED] : []),
  ];
}
