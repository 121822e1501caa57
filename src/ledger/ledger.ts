import type { Redis } from 'ioredis';
import { type AuditLog, openAuditLog } from '../audit/audit-log.ts';
import { openAuditStore } from './audit.ts';
import { type Head, openHead } from './head.ts';
import { ledgerKeys } from './keys.ts';
import { openPayouts, type Payouts } from './payouts.ts';
import { openRecovery, type Recovery } from './recovery.ts';
import { openRuns, type Runs } from './runs.ts';
import { openSlices, type Slices } from './slices.ts';

/** The truth about runs and payouts. It stores and refuses; it never decides. */
export interface Ledger {
  readonly head: Head;
  readonly runs: Runs;
  readonly payouts: Payouts;
  readonly slices: Slices;
  readonly audit: AuditLog;
  readonly recovery: Recovery;
}

/**
 * The ledger below a prefix, for a data directory. `arming` is a connection that fails fast and never sends a command
 * again. Without `dataDir`, the directory's path, the audit log has no copy on disk.
 */
export function openLedger(
  connections: { redis: Redis; arming: Redis },
  place: { prefix: string; dataDirId: string; dataDir?: string },
): Ledger {
  const keys = ledgerKeys(place.prefix);
  const payouts = openPayouts(connections, place);
  return {
    head: openHead(connections.redis, keys, payouts.highestCounter),
    runs: openRuns(connections.redis, keys),
    payouts,
    slices: openSlices(connections.redis, keys),
    audit: openAuditLog(openAuditStore(connections.redis, keys), place),
    recovery: openRecovery(connections.redis, keys),
  };
}
