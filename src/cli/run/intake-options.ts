import { z } from 'zod';
import type { IntakeOptions } from '../../intake/check-file.ts';
import type { ControlTotals } from '../../intake/control-totals.ts';
import { controlTotalsOf, totalText, writtenTotal } from '../../intake/written-totals.ts';
import { Refusal } from '../../refusal.ts';
import type { GivenOptions } from '../command.ts';
import { namedTemplate } from './named-template.ts';

/** The options of each command that is given a payout file. */
export const intakeOptions = {
  template: [
    '<file>',
    'a description of the file, if it is not a plain payout file: a file, or a name of "payrun template list"',
    z.string().min(1, 'must name a file').optional(),
  ],
  expectRows: [
    '<number>',
    'refuse the file unless it has this many rows',
    z
      .string()
      .regex(/^(?:0|[1-9][0-9]{0,8})$/, 'must be a number of rows, such as 250')
      .transform(Number)
      .optional(),
  ],
  expectTotal: [
    '<currency=amount>',
    'refuse the file unless this is its total; one for each currency',
    z.array(totalText.transform(writtenTotal)).default([]),
  ],
} as const;
type IntakeGiven = GivenOptions<typeof intakeOptions>;

/** The options as intake takes them. Throws a Refusal (exit 2) for totals that make no sense, (exit 2) for a bad template. */
export async function intakeOptionsOf(options: IntakeGiven): Promise<IntakeOptions> {
  const expected = expectedOf(options);
  return {
    ...(options.template === undefined ? {} : { template: await namedTemplate(options.template) }),
    ...(expected === undefined ? {} : { expected }),
  };
}

function expectedOf({ expectRows, expectTotal }: IntakeGiven): ControlTotals | undefined {
  const expected = controlTotalsOf({ expectRows: expectRows ?? null, expectTotals: expectTotal });
  if (expected === undefined || !('fault' in expected)) return expected;
  const { fault } = expected;
  if ('twice' in fault) throw refuseTotal('--expect-total names a currency twice.');
  const { currency, amount } = fault.noAmount;
  throw refuseTotal(`--expect-total ${currency}=${amount} is not an amount of a known currency.`);
}

function refuseTotal(message: string): Refusal {
  return new Refusal(
    message,
    'Write one total for each currency, such as --expect-total USD=1234.56 --expect-total EUR=99.00.',
  );
}
