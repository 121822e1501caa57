import type { Redis } from 'ioredis';
import { type AuditLog, type AuditPlace, openAuditLog } from '../audit/audit-log.ts';
import { openAuditStore } from './audit.ts';
import { type Foresight, openForesight } from './foresight.ts';
import { type Inboxes, openInboxes } from './inboxes.ts';
import { ledgerKeys } from './keys.ts';
import { type Outages, openOutages } from './outages.ts';
import { type Outbox, openOutbox } from './outbox.ts';
import { openPayouts, type Payouts } from './payouts.ts';
import { type Approvals, openApprovals } from './people/approvals.ts';
import { type Beneficiaries, openBeneficiaries } from './people/beneficiaries.ts';
import { type Names, openNames } from './people/names.ts';
import { openPeople, type People } from './people/people.ts';
import { openReferences, type References } from './references.ts';
import { openPurging, type Purging } from './runs/purging.ts';
import { openRuns, type Runs } from './runs/runs.ts';
import { openSubmissions, type Submissions } from './runs/submissions.ts';
import { openSchedules, type Schedules } from './schedules.ts';
import { openSeals, type Seals } from './seals.ts';
import { type LedgerState, openLedgerState } from './season/ledger-state.ts';
import { openRecovery, type Recovery } from './season/recovery.ts';
import { openSlices, type Slices } from './slices.ts';

/** The truth about runs and payouts. It stores and refuses; it never decides. */
export interface Ledger {
  readonly state: LedgerState;
  readonly seals: Seals;
  readonly runs: Runs;
  readonly payouts: Payouts;
  readonly slices: Slices;
  readonly schedules: Schedules;
  readonly inboxes: Inboxes;
  readonly audit: AuditLog;
  readonly recovery: Recovery;
  readonly outbox: Outbox;
  readonly outages: Outages;
  readonly references: References;
  readonly foresight: Foresight;
  readonly purging: Purging;
  readonly approvals: Approvals;
  readonly people: People;
  readonly submissions: Submissions;
  readonly beneficiaries: Beneficiaries;
  readonly names: Names;
}

/**
 * The ledger below a prefix, for a data directory. `arming` is a connection that fails fast and never sends a command
 * again. Without `dataDir`, the directory's path, the audit log has no copy on disk; without `auditKeys` its entries carry no
 * codes. `lease`: see `DirLease`. `seals`: by the ledger's keys; those of a sandbox unless given.
 */
export function openLedger(
  connections: { redis: Redis; arming: Redis },
  place: { prefix: string; lease?: string; seals?: Seals } & AuditPlace,
): Ledger {
  const keys = ledgerKeys(place.prefix);
  const { seals = openSeals() } = place;
  const payouts = openPayouts(connections, { ...place, seals });
  const state = openLedgerState(connections.redis, keys, payouts);
  const sealing = { seals, halt: async (reason: string) => await state.halt('payrun', reason) };
  return {
    seals,
    state,
    runs: openRuns(connections.redis, keys, seals),
    payouts,
    slices: openSlices(connections.redis, keys),
    schedules: openSchedules(connections.redis, keys, sealing),
    inboxes: openInboxes(connections.redis, keys),
    audit: openAuditLog(openAuditStore(connections.redis, keys), place),
    recovery: openRecovery(connections.redis, keys),
    outbox: openOutbox(connections.redis, keys),
    outages: openOutages(connections.redis, keys),
    references: openReferences(connections.redis, keys),
    foresight: openForesight(connections.redis, keys),
    purging: openPurging(connections.redis, keys),
    approvals: openApprovals(connections.redis, keys, seals),
    beneficiaries: openBeneficiaries(connections.redis, keys),
    names: openNames(connections.redis, keys),
    people: openPeople(connections.redis, keys, { ...place, ...sealing }),
    submissions: openSubmissions(connections.redis, keys),
  };
}
