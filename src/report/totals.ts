import type { Money } from '../money.ts';
import { type Outcome, outcomeOf, PAYOUT_STATES, type PayoutState } from '../payout.ts';

/** States of the rows of a file: those of payouts, and `refused`. */
export const ROW_STATES = [...PAYOUT_STATES, 'refused'] as const;
export type RowState = PayoutState | 'refused';

/** Amounts per currency and outcome, in minor units. */
export type Amounts = ReadonlyMap<string, Readonly<Record<Outcome, bigint>>>;

/** What the file has in one currency, and where it went; minor units. */
export interface FileTotal {
  readonly currency: string;
  readonly file: bigint;
  readonly outcomes: Readonly<Record<Outcome, bigint>>;
}

/** A record with a value for each outcome. */
export function perOutcome<T>(valueOf: (outcome: Outcome) => T): Record<Outcome, T> {
  return {
    waiting: valueOf('waiting'),
    unknown: valueOf('unknown'),
    pending: valueOf('pending'),
    paid: valueOf('paid'),
    failed: valueOf('failed'),
    returned: valueOf('returned'),
    rejected: valueOf('rejected'),
    held: valueOf('held'),
    cancelled: valueOf('cancelled'),
    refused: valueOf('refused'),
  };
}

/** Rows per outcome from rows per state. */
export function outcomeCounts(countOf: (state: RowState) => number): Record<Outcome, number> {
  const counts = perOutcome(() => 0);
  for (const state of ROW_STATES) counts[outcomeOf(state)] += countOf(state);
  return counts;
}

/** One total for each currency that the file or the amounts have, in alphabetic order. */
export function fileTotals(file: readonly Money[], amounts: Amounts): FileTotal[] {
  const fileMinor = new Map<string, bigint>();
  for (const { currency, minor } of file) fileMinor.set(currency, (fileMinor.get(currency) ?? 0n) + minor);
  const currencies = new Set([...fileMinor.keys(), ...amounts.keys()]);
  return [...currencies].toSorted().map((currency) => ({
    currency,
    file: fileMinor.get(currency) ?? 0n,
    outcomes: amounts.get(currency) ?? perOutcome(() => 0n),
  }));
}

/** The sum over all outcomes, in minor units. */
export function sumOutcomes(outcomes: Readonly<Record<Outcome, bigint>>): bigint {
  return Object.values(outcomes).reduce((sum, minor) => sum + minor, 0n);
}
