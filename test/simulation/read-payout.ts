import type { PayoutReading } from '../../src/ledger/payouts/acts.ts';
import { readRecord } from '../../src/ledger/payouts/record.ts';
import type { Seals } from '../../src/ledger/seals.ts';
import { type Payout, type PayoutPlace, payoutId } from '../../src/payout.ts';
import type { Entry, Store } from './store.ts';

export function readPayout(
  { entries, waitUntil, halt, disproved }: Store,
  place: PayoutPlace,
  { now, seals }: { now: number; seals: Seals },
): PayoutReading {
  const entry = entries.get(payoutId(place));
  const payout = entry === undefined ? undefined : payoutOf(entry, seals);
  return { payout, waitMs: Math.max(0, waitUntil - now), halt, disproved: [...disproved], now };
}

/** The payout as its record shows it; undefined while the record lacks its row. */
export function payoutOf(entry: Entry, seals: Seals): Payout | undefined {
  const read = readRecord(entry.record, entry, seals);
  return read !== undefined && 'row' in read ? read : undefined;
}
