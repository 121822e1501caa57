import { z } from 'zod';
import { describeProblems } from '../../intake/problems/problem-text.ts';
import type { Submitted } from '../../runs/hand-in/submit.ts';
import { intakeOptions } from './intake-options.ts';

/** The options of each command that makes a run of a file. */
export const submitOptions = {
  ...intakeOptions,
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
