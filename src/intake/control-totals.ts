import { formatAmount, type Money } from '../money.ts';
import { type Problem, problemOf } from './problems/problems.ts';

/** What a file should hold, by somebody who knows: the command line or a manifest. Null or empty where nobody says. */
export interface ControlTotals {
  readonly rows: number | null;
  /** One for each currency of the file, or none at all. */
  readonly totals: readonly Money[];
  /** In hexadecimal, of the bytes of the file. */
  readonly sha256: string | null;
}

/** What the file was found to hold, all of its rows together. */
export interface FoundTotals {
  readonly rows: number;
  readonly totals: readonly Money[];
  readonly sha256: string;
  /** Rows whose amount could not be read. */
  readonly amountless: number;
}

/** What does not fit, each with both figures. */
export function judgeTotals(expected: ControlTotals, found: FoundTotals): Problem[] {
  const problems: Problem[] = [];
  const mismatch = (text: string): unknown => problems.push(problemOf('E_TOTALS', { facts: { found: text } }));
  if (expected.rows !== null && expected.rows !== found.rows) {
    mismatch(`the file has ${rowsText(found.rows)} where ${expected.rows} were expected`);
  }
  if (expected.totals.length > 0) for (const text of unequalTotals(expected.totals, found)) mismatch(text);
  if (expected.sha256 !== null && expected.sha256 !== found.sha256) {
    problems.push(problemOf('E_CHECKSUM', { facts: { found: found.sha256, expected: expected.sha256 } }));
  }
  return problems;
}

function unequalTotals(expected: readonly Money[], { totals, amountless }: FoundTotals): string[] {
  const left = new Map(totals.map((total) => [total.currency, total]));
  const unread = amountless === 0 ? '' : ` (not counting ${rowsText(amountless)} whose amount cannot be read)`;
  const unequal = expected.flatMap((total) => {
    const found = left.get(total.currency) ?? { minor: 0n, currency: total.currency };
    left.delete(total.currency);
    if (found.minor === total.minor) return [];
    return [`the file has ${moneyText(found)}${unread} where ${moneyText(total)} was expected`];
  });
  const others = [...left.values()].map(
    (found) => `the file has ${moneyText(found)}, and no total for it was expected`,
  );
  return [...unequal, ...others];
}

/**
 * Whether what fits vouches for a last line without a line end, which may have been cut off in its last cell. A SHA-256
 * does; totals do only where a cut of that cell would change them, or nothing at all: it is the amount, or is not read.
 * A number of rows does not: a cut 1000 may be 10.
 */
export function vouchForEnd({ totals, sha256 }: ControlTotals, isEndCounted: boolean): boolean {
  return sha256 !== null || (totals.length > 0 && isEndCounted);
}

function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`;
}

function moneyText(money: Money): string {
  return `${formatAmount(money)} ${money.currency}`;
}
