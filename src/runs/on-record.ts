import { readEntry, tellsHandIn } from '../audit/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OnRecord } from '../report/signing/file-hashes.ts';

/** The field of an entry's text; a quote in the actor's name before it is written with a backslash. */
const TARGET = '"target":"';

/** What the audit log says of the files of some runs, each of which is in the result. It is read once, however many there are. */
export async function readOnRecord(
  { audit }: Pick<Ledger, 'audit'>,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, OnRecord>> {
  const found = new Map(runIds.map((runId) => [runId, NOTHING]));
  if (runIds.length === 0) return found;
  for await (const line of audit.lines()) {
    const target = targetOf(line);
    const known = found.get(target);
    // Most entries are of others: it costs much more to read one than to look for the name.
    if (known !== undefined) found.set(target, withEntry(known, line));
  }
  return found;
}

const NOTHING: OnRecord = { rowsHandedIn: null, rowsAccepted: [], approved: [] };

function targetOf(line: string): string {
  const from = line.indexOf(TARGET) + TARGET.length;
  return line.slice(from, line.indexOf('"', from));
}

function withEntry(known: OnRecord, line: string): OnRecord {
  const entry = readEntry(line);
  if (entry === undefined) return known;
  const { fileSha256, contentHash, acceptedHash } = entry.details;
  if (entry.action === 'run.approved' && fileSha256 !== undefined)
    return { ...known, approved: [...known.approved, fileSha256] };
  if (!tellsHandIn(entry)) return known;
  // A file that was handed in again has the same rows; others of them may be refused.
  const rowsAccepted = acceptedHash === undefined ? known.rowsAccepted : [...known.rowsAccepted, acceptedHash];
  return { ...known, rowsHandedIn: contentHash ?? null, rowsAccepted };
}
