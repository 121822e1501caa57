import type { Run } from '../../payout.ts';
import { rowsOfPart } from '../reconciliation.ts';
import type { Tally } from '../tally/tally.ts';

/** What the audit log says of a run's file, in hexadecimal. */
export interface OnRecord {
  /** Of its rows in any order (`openContentHash`), as they were handed in; null where that is not on record. */
  readonly rowsHandedIn: string | null;
  /** SHA-256 of each file that somebody approved for this run. */
  readonly approved: readonly string[];
}

/** The hashes that a report shows: of the file, what was approved, and the rows as they were armed. */
export interface FileHashes {
  readonly file: string;
  readonly approved: readonly string[];
  /** Of the rows as they were handed in; null where the audit log does not say. */
  readonly rowsHandedIn: string | null;
  /** Of the rows in the ledger, whose seals each arming compares; null where refused rows are among them, or rows are missing. */
  readonly rowsInLedger: string | null;
}

export function fileHashes(
  run: Run,
  { rows, states, content }: Tally,
  { rowsHandedIn, approved }: OnRecord,
): FileHashes {
  const isWhole = rowsOfPart(run) === undefined && rows === run.rows && (states.get('refused') ?? 0) === 0;
  return {
    file: run.fileSha256,
    approved: [...new Set(approved)],
    rowsHandedIn,
    rowsInLedger: isWhole ? content.digest : null,
  };
}

/** File hash = approved hash = hash over the rows that were armed: what of that does not hold, a sentence each. */
export function hashFaults({ file, approved, rowsHandedIn, rowsInLedger }: FileHashes): string[] {
  const others = approved.filter((one) => one !== file);
  const isOther = rowsHandedIn !== null && rowsInLedger !== null && rowsHandedIn !== rowsInLedger;
  return [
    ...others.map((one) => `hashes: the file is ${file}, and approved was ${one}`),
    ...(isOther ? ['hashes: the rows in the ledger are not those that were handed in'] : []),
  ];
}
