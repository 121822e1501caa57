import type { Outcome } from '../payout.ts';
import type { Booking } from './booking.ts';
import { type Conservation, reconcile } from './reconciliation.ts';
import { type FileHashes, fileHashes, hashFaults, type OnRecord } from './signing/file-hashes.ts';
import type { ReportFacts, ReportSource } from './source.ts';
import { openTally, type Tally } from './tally/tally.ts';
import { type FileTotal, fileTotals, outcomeCounts } from './totals.ts';

const NOTHING_ON_RECORD: OnRecord = { rowsHandedIn: null, rowsAccepted: [], approved: [] };

/** A report without its rows; every count and amount comes from the rows. */
export interface ReportSummary {
  readonly facts: ReportFacts;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  readonly totals: readonly FileTotal[];
  readonly booking: Booking;
  readonly conservation: Conservation;
  readonly hashes: FileHashes;
  readonly armings: Tally['armings'];
  /** False: the report must not be trusted, and whoever made it exits 1. */
  readonly ties: boolean;
}

/** Reads all rows of the source once, counts outcomes and money anew, and checks that everything ties (architecture.md, rule 10). */
export async function summarise(source: ReportSource): Promise<ReportSummary> {
  const tally = openTally();
  for await (const batch of source.rows) tally.add(batch);
  return concludeSummary(source, tally.result());
}

/** The summary of a source whose rows have been counted. */
export async function concludeSummary(source: ReportSource, tally: Tally): Promise<ReportSummary> {
  const { rows: _rows, changesNow, sealFaults = () => [], ...facts } = source;
  const { run } = facts;
  const moved = changesNow !== undefined && (await changesNow()) !== run.changes;
  const hashes = fileHashes(run, tally, facts.onRecord ?? NOTHING_ON_RECORD);
  const otherRows = hashFaults(hashes);
  const counted = reconcile(run, tally, { moved, sealFaults: sealFaults() });
  const conservation = {
    ...counted,
    rows: counted.rows && otherRows.length === 0,
    faults: [...otherRows, ...counted.faults],
  };
  return {
    facts,
    outcomes: outcomeCounts((state) => tally.states.get(state) ?? 0),
    totals: fileTotals(run.fileTotals, tally.amounts),
    booking: tally.booking,
    conservation,
    hashes,
    armings: tally.armings,
    ties: conservation.rows && conservation.money && conservation.payments,
  };
}
