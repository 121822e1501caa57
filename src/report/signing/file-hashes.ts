import type { Run } from '../../payout.ts';
import { rowsOfPart } from '../reconciliation.ts';
import type { Tally } from '../tally/tally.ts';

/** What the audit log says of a run's file, in hexadecimal. */
export interface OnRecord {
  /** Of its rows in any order (`openContentHash`), as they were handed in; null where that is not on record. */
  readonly rowsHandedIn: string | null;
  /** Of the rows that were accepted, each time that the file was handed in: another list of identities refuses other ones. */
  readonly rowsAccepted: readonly string[];
  /** SHA-256 of each file that somebody approved for this run. */
  readonly approved: readonly string[];
}

/** Whether the rows in the ledger are those that were accepted when the file was handed in. */
export const ROW_VERDICTS = ['same', 'other', 'not compared'] as const;
type RowVerdict = (typeof ROW_VERDICTS)[number];

/** The hashes that a report shows: of the file, what was approved, and the rows as they were armed. */
export interface FileHashes {
  readonly file: string;
  readonly approved: readonly string[];
  /** Of the rows as they were handed in; null where the audit log does not say. */
  readonly rowsHandedIn: string | null;
  /** Of the rows that were accepted; null where the audit log does not say. */
  readonly rowsAccepted: string | null;
  /** Of the rows in the ledger that are not refused, whose seals each arming compares; null where rows are missing. */
  readonly rowsInLedger: string | null;
  readonly rows: RowVerdict;
}

export function fileHashes(run: Run, { rows, states, content }: Tally, onRecord: OnRecord): FileHashes {
  const { rowsHandedIn, approved } = onRecord;
  const isWhole = rowsOfPart(run) === undefined && rows === run.rows;
  const isAllAccepted = (states.get('refused') ?? 0) === 0;
  const accepted = [...onRecord.rowsAccepted, ...(isAllAccepted && rowsHandedIn !== null ? [rowsHandedIn] : [])];
  const rowsInLedger = isWhole ? content.digest : null;
  const same = accepted.find((one) => one === rowsInLedger);
  return {
    file: run.fileSha256,
    // Each where it was approved last.
    approved: [...new Set(approved.toReversed())].toReversed(),
    rowsHandedIn,
    rowsAccepted: same ?? accepted.at(-1) ?? null,
    rowsInLedger,
    rows: rowsInLedger === null || accepted.length === 0 ? 'not compared' : same === undefined ? 'other' : 'same',
  };
}

/** File hash = approved hash = hash over the rows that were armed: what of that does not hold, a sentence each. */
export function hashFaults({ file, approved, rows }: FileHashes): string[] {
  // After a restore another file of the same rows may stand for one that was approved before it.
  const others = approved.slice(approved.lastIndexOf(file) + 1);
  return [
    ...others.map((one) => `hashes: the file is ${file}, and approved was ${one}`),
    ...(rows === 'other' ? ['hashes: the rows in the ledger are not those that were handed in'] : []),
  ];
}
