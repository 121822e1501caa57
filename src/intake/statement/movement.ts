import type { Money } from '../../money.ts';

/** One movement of money on an account, as a statement tells it. */
export interface Movement {
  /** In CSV the line on which it begins; in a camt message its number among all movements. */
  readonly line: number;
  /** Money that came in: a return. */
  readonly isCredit: boolean;
  /** Null where the message tells only the sum of several. */
  readonly amount: Money | null;
  /** As the statement writes it; '' for none. */
  readonly date: string;
  /** The payer's own key for the payment; '' for none. */
  readonly reference: string;
  /** Every name that others gave the payment. */
  readonly ids: readonly string[];
}

/** The cells of a movement between a reader and who takes it: direction, amount, currency, date, reference, then ids. */
export const CREDIT = 'CRDT';
export const DEBIT = 'DBIT';
