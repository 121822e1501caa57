import { z } from 'zod';

const currency = z.string().regex(/^([A-Z]{3})?$/, 'must be a code such as EUR');
/** Thousands may be apart, as pages show them. */
const amount = z
  .string()
  .trim()
  .regex(/^(?:[0-9][0-9,]{0,15}(?:\.[0-9]{1,3})?)?$/, 'must be an amount such as 1,000.00')
  .transform((text) => text.replaceAll(',', ''));

/** What lists are narrowed down to by money; '' for any. */
export const moneyQuery = {
  currency: currency.default('').describe('A code such as EUR'),
  amountFrom: amount.default('').describe('The smallest amount'),
  amountTo: amount.default('').describe('The largest amount'),
};
