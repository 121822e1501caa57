import type { Redis } from 'ioredis';
import { type AuditLog, type AuditPlace, openAuditLog } from '../audit/audit-log.ts';
import type { PayoutPlace } from '../payout.ts';
import { openAuditStore } from './audit.ts';
import { type Foresight, openForesight } from './foresight.ts';
import { blockOf, type LedgerKeys, ledgerKeys, paidKey } from './keys.ts';
import { type Outages, openOutages } from './outages.ts';
import { type Outbox, openOutbox } from './outbox.ts';
import { beneficiaryHash } from './payouts/decide-move.ts';
import { holdersBeside, idsIn, readClaimants, readStanding } from './payouts/duplicates.ts';
import { openPayouts, type Payouts } from './payouts/payouts.ts';
import { type Approvals, openApprovals } from './people/approvals.ts';
import { type Names, openNames } from './people/names.ts';
import { openPeople, type People } from './people/people.ts';
import { type SeenVersions, seenVersions } from './people/seen-versions.ts';
import { openPurging, type Purging } from './runs/purging.ts';
import { openRuns, type Runs } from './runs/runs.ts';
import { openSchedules, type Schedules } from './schedules.ts';
import { openSeals, type Seals } from './seals.ts';
import { type LedgerState, openLedgerState } from './season/ledger-state.ts';
import { openRecovery, type Recovery } from './season/recovery.ts';
import { openSlices, type Slices } from './slices.ts';

/** For so long a name is known; the content of a run is known for ever. */
const REMEMBERED_MS = 30 * 24 * 60 * 60_000;

/** The names that programs gave to their handings in, and what each of them was for. */
interface Submissions {
  /** Notes for 30 days what a name is for, and gives that: the same as was given, or what came first. */
  claim(name: string, contentSha256: string): Promise<string>;
}

export function openSubmissions(redis: Redis, keys: LedgerKeys): Submissions {
  return {
    async claim(name, contentSha256) {
      await redis.set(keys.submission(name), contentSha256, 'PX', REMEMBERED_MS, 'NX');
      return (await redis.get(keys.submission(name))) ?? contentSha256;
    },
  };
}

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
  /** A payout's record as it stands; undefined where there is none. */
  readonly rawRecord: (place: PayoutPlace) => Promise<string | undefined>;
  readonly foresight: Foresight;
  readonly purging: Purging;
  readonly approvals: Approvals;
  readonly people: People;
  readonly submissions: Submissions;
  readonly beneficiaries: Beneficiaries;
  readonly names: Names;
  readonly seen: SeenVersions;
}

/**
 * The ledger below a prefix, for a data directory. `arming` is a connection that fails fast and never sends a command
 * again. Without `dataDir`, the directory's path, the audit log has no copy on disk; without `auditKeys` its entries carry no
 * codes. `lease`: see `DirLease`. `safety`: the process's safety settings; without them none are compared when it arms. `seals`:
 * by the ledger's keys; those of a sandbox unless given. `seen`: for as long as this lives unless given.
 */
export function openLedger(
  connections: { redis: Redis; arming: Redis },
  place: { prefix: string; lease?: string; safety?: string; seals?: Seals; seen?: SeenVersions } & AuditPlace,
): Ledger {
  const keys = ledgerKeys(place.prefix);
  const { seals = openSeals(), seen = seenVersions() } = place;
  const payouts = openPayouts(connections, { ...place, seals });
  const state = openLedgerState(connections.redis, keys, payouts);
  const sealing = { seals, seen, halt: async (reason: string) => await state.halt('payrun', reason) };
  const people = openPeople(connections.redis, keys, { ...place, ...sealing });
  return {
    seals,
    seen,
    state,
    runs: openRuns(connections.redis, keys, seals),
    payouts,
    slices: openSlices(connections.redis, keys),
    schedules: openSchedules(connections.redis, keys, sealing),
    inboxes: openInboxes(connections.redis, keys),
    audit: openAuditLog(openAuditStore(connections.redis, keys), place),
    recovery: openRecovery(connections.redis, keys, { seals, people }),
    outbox: openOutbox(connections.redis, keys),
    outages: openOutages(connections.redis, keys),
    rawRecord: async ({ runId, line }) =>
      (await connections.redis.hget(keys.rows(runId, blockOf(line)), String(line))) ?? undefined,
    references: openReferences(connections.redis, keys),
    foresight: openForesight(connections.redis, keys),
    purging: openPurging(connections.redis, keys),
    approvals: openApprovals(connections.redis, keys, seals),
    beneficiaries: openBeneficiaries(connections.redis, keys),
    names: openNames(connections.redis, keys, seals),
    people,
    submissions: openSubmissions(connections.redis, keys),
  };
}

/** Which payouts references stand for. */
export interface References {
  /**
   * The payouts' ids by the references' hashes, in their order: several where nobody can tell which was the last, or where people
   * allowed one beside others that have not come to nothing.
   */
  holders(hashes: readonly string[]): Promise<(readonly string[])[]>;
  /**
   * The payouts with which another one shares its reference, and those that had it before people allowed one of them: all that have not
   * come to nothing; where all of them did, the first that it shares it with.
   */
  beside(hash: string, payoutId: string): Promise<readonly string[]>;
  /** Those with which a payout shares its reference although nobody allowed that: one of them was found after all. */
  sharing(hash: string, payoutId: string): Promise<readonly string[]>;
}

function openReferences(redis: Redis, { prefix }: LedgerKeys): References {
  const place = { redis, prefix };
  return {
    holders: (hashes) => Promise.all(hashes.map((hash) => readStanding(place, hash))),
    beside: async (hash, own) =>
      (await holdersBeside(place, await readClaimants(place, hash), own)).map(({ id }) => id),
    sharing: async (hash, own) => idsIn((await readClaimants(place, hash))[0]).filter((id) => id !== own),
  };
}

/** The settings under which inboxes were watched last. */
interface Inboxes {
  /** SHA-256 of the settings, in hex; undefined for an inbox that nobody watched yet. */
  settings(inbox: string): Promise<string | undefined>;
  noteSettings(inbox: string, sha256: string): Promise<void>;
}

function openInboxes(redis: Redis, keys: LedgerKeys): Inboxes {
  return {
    settings: async (inbox) => (await redis.hget(keys.inboxes, inbox)) ?? undefined,
    async noteSettings(inbox, sha256) {
      await redis.hset(keys.inboxes, inbox, sha256);
    },
  };
}

/** To whom something was paid from this ledger. */
interface Beneficiaries {
  /** Those of the identity ids to whom no payment was ever accepted. */
  neverPaid(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

function openBeneficiaries(redis: Redis, { prefix }: LedgerKeys): Beneficiaries {
  return {
    async neverPaid(ids) {
      const paid = await Promise.all(
        ids.map((id) => {
          const hash = beneficiaryHash(id);
          return redis.hexists(paidKey(prefix, hash), hash);
        }),
      );
      return new Set(ids.filter((_id, index) => paid[index] === 0));
    },
  };
}
