import { z } from 'zod';

const LINE_MAX = 999_999_999;
const PAGE_MAX = 1_000_000;

const run = z.string().max(64).describe("The run's id");

export const ofRun = z.strictObject({ run });
export const ofPayout = z.strictObject({
  run,
  line: integerText(LINE_MAX).describe("The line of the payout file on which the payout's row begins"),
});

export const page = integerText(PAGE_MAX).default(1);

/** A whole number from 1 on, as an address has it. */
function integerText(most: number) {
  return z.coerce.number('must be a number').int().min(1).max(most);
}
