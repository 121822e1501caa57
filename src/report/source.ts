import type { Payout, RefusedRow, Run } from '../payout.ts';
import type { OnRecord } from './file-hashes.ts';

/** What a report says of its run apart from the rows. */
export interface ReportFacts {
  /** As it was read just before the rows. */
  readonly run: Run;
  /** The service's address, or `sandbox`. */
  readonly service: string;
  readonly sandbox: boolean;
  readonly environment: string;
  /** Capability and whether it holds for this service. */
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly overrides: readonly string[];
  /** Hash of the audit log's last entry; null when the log is empty. */
  readonly auditHead: string | null;
  /** Absent: what the audit log says of the file is not compared. */
  readonly onRecord?: OnRecord;
  /** payrun's own. */
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Paths of the run's report files, for the JSON; absent means none. */
  readonly reports?: readonly string[];
}

/** What the ledger gives for one report. A source is read once. */
export interface ReportSource extends ReportFacts {
  /** Batches in file order: every row of the run, its line above that of the row before it. */
  readonly rows: AsyncIterable<readonly (Payout | RefusedRow)[]>;
  /**
   * Reads the run's `changes` anew once the rows are read. When the run has moved meanwhile, its counters per state are
   * not held against the rows, only their sums. Absent: run and rows are one snapshot and must agree in everything.
   */
  readonly changesNow?: () => Promise<number>;
  /** What is not as payrun wrote it by its seals, once the rows are read, a sentence each. */
  readonly sealFaults?: () => readonly string[];
}
