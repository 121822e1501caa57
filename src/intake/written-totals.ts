import { z } from 'zod';
import { type Money, moneyOfDecimal } from '../money.ts';
import type { ControlTotals } from './control-totals.ts';

/** A total of a file as somebody wrote it, not yet known to be money. */
export interface WrittenTotal {
  readonly currency: string;
  readonly amount: string;
}

/** One in a word, as a command line and an address have it. */
export const totalText = z
  .string()
  .regex(/^[A-Z]{3}=[0-9]{1,20}(\.[0-9]{1,9})?$/, 'must be a currency and an amount, such as USD=1234.56');

/** Such a word in its two parts. */
export function writtenTotal(text: string): WrittenTotal {
  return { currency: text.slice(0, 3), amount: text.slice(4) };
}

/** What somebody expects of a file; null and empty where they do not say. */
interface Expected {
  readonly expectRows: number | null;
  readonly expectTotals: readonly WrittenTotal[];
  readonly sha256?: string | null;
}

/** Why totals make no sense: one is no amount of a known currency, or two have the same currency. */
export type TotalsFault = { readonly noAmount: WrittenTotal } | { readonly twice: string };

/** What is expected as intake compares it; undefined where nothing is. */
export function controlTotalsOf(expected: Expected): ControlTotals | undefined | { readonly fault: TotalsFault } {
  const { expectRows, expectTotals, sha256 = null } = expected;
  if (expectRows === null && expectTotals.length === 0 && sha256 === null) return undefined;
  const totals: Money[] = [];
  for (const written of expectTotals) {
    const total = moneyOfDecimal(written.amount, written.currency);
    if (total === undefined) return { fault: { noAmount: written } };
    totals.push(total);
  }
  const twice = totals.find(({ currency }, index) => totals.findIndex((one) => one.currency === currency) < index);
  if (twice !== undefined) return { fault: { twice: twice.currency } };
  return { rows: expectRows, totals, sha256 };
}
