import type { Redis } from 'ioredis';
import { type Head, openHead } from './head.ts';
import { ledgerKeys } from './keys.ts';
import { openPayouts, type Payouts } from './payouts.ts';
import { openRuns, type Runs } from './runs.ts';
import { openSlices, type Slices } from './slices.ts';

/** The truth about runs and payouts. It stores and refuses; it never decides. */
export interface Ledger {
  readonly head: Head;
  readonly runs: Runs;
  readonly payouts: Payouts;
  readonly slices: Slices;
}

/** The ledger below a prefix. `arming` is a connection that fails fast and never sends a command again. */
export function openLedger(connections: { redis: Redis; arming: Redis }, prefix: string): Ledger {
  const keys = ledgerKeys(prefix);
  return {
    head: openHead(connections.redis, keys),
    runs: openRuns(connections.redis, keys),
    payouts: openPayouts(connections, prefix),
    slices: openSlices(connections.redis, keys),
  };
}
