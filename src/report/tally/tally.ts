import { openContentHash } from '../../intake/row/row-hash.ts';
import type { Money } from '../../money.ts';
import { type Outcome, outcomeOf, PAYMENT_STATES, type Payout, type RefusedRow } from '../../payout.ts';
import { type Booking, openBooking } from '../booking.ts';
import { isRefused } from '../row.ts';
import { type Amounts, perOutcome, type RowState } from '../totals.ts';
import { openPaymentIds } from './payment-ids.ts';

/** Rows and money, counted anew from the rows of a run. */
export interface Tally {
  readonly rows: number;
  readonly states: ReadonlyMap<RowState, number>;
  /** The file's own amounts; refused rows where they could be read. */
  readonly amounts: Amounts;
  readonly booking: Booking;
  /** The first line that does not come after the one before it, or null. */
  readonly lineOutOfOrder: number | null;
  /** First lines, and the number, of rows that have a payment but not its id. */
  readonly withoutPaymentId: { readonly rows: number; readonly firstLine: number | null };
  /** Payment requests armed, and the least and the greatest arming counter of the payouts' last ones; null before any. */
  readonly armings: { readonly requests: number; readonly counters: readonly [number, number] | null };
  /** The hash of the payouts' rows in any order, and the first lines whose row is not the one that was recorded. */
  readonly content: { readonly digest: string };
  /** The lines of each payment id that stands on more than one row. */
  readonly repeatedPayments: readonly (readonly number[])[];
}

export interface OpenTally {
  add(batch: readonly (Payout | RefusedRow)[]): void;
  result(): Tally;
}

/** A tally that takes the rows of a run in file order; its memory does not grow with them but for 16 bytes a payment. */
export function openTally(): OpenTally {
  const states = new Map<RowState, number>();
  const amounts = new Map<string, Record<Outcome, bigint>>();
  const booking = openBooking();
  const paymentIds = openPaymentIds();
  const content = openContentHash();
  let rows = 0;
  let requests = 0;
  let counters: [number, number] | null = null;
  let lastLine = 0;
  let lineOutOfOrder: number | null = null;
  let withoutPaymentId: Tally['withoutPaymentId'] = { rows: 0, firstLine: null };

  function count(line: number, state: RowState, amount: Money | null): void {
    rows += 1;
    if (line <= lastLine) lineOutOfOrder ??= line;
    lastLine = line;
    states.set(state, (states.get(state) ?? 0) + 1);
    if (amount === null) return;
    const sums = amounts.get(amount.currency) ?? perOutcome(() => 0n);
    sums[outcomeOf(state)] += amount.minor;
    amounts.set(amount.currency, sums);
  }

  function countPayment({ paymentId, line }: Payout): void {
    if (paymentId !== null) paymentIds.add(paymentId, line);
    else withoutPaymentId = { rows: withoutPaymentId.rows + 1, firstLine: withoutPaymentId.firstLine ?? line };
  }

  function countArming({ attempts, armingCounter }: Payout): void {
    requests += attempts;
    if (armingCounter === 0) return;
    const [least, greatest] = counters ?? [armingCounter, armingCounter];
    counters = [Math.min(least, armingCounter), Math.max(greatest, armingCounter)];
  }

  function add(row: Payout | RefusedRow): void {
    if (isRefused(row)) return count(row.line, 'refused', row.amount);
    count(row.line, row.state, row.row.amount);
    booking.add(row);
    countArming(row);
    content.addRow(row.row);
    if (PAYMENT_STATES.includes(row.state)) countPayment(row);
  }

  return {
    add(batch) {
      for (const row of batch) add(row);
    },
    result: () => ({
      rows,
      states,
      amounts,
      booking: booking.result(),
      lineOutOfOrder,
      armings: { requests, counters },
      content: { digest: content.digest() },
      withoutPaymentId,
      repeatedPayments: paymentIds.repeated(),
    }),
  };
}
