import type { MacKeys } from '../ledger-key.ts';
import type { AuditLog } from './audit-log.ts';
import {
  type AuditHead,
  type AuditRecord,
  BEFORE_FIRST,
  entryText,
  headText,
  readEntry,
  tellsHandIn,
} from './entry.ts';

type CodeFault = 'forged' | 'no-code' | 'other-key';

const MESSAGES: Readonly<Record<CodeFault, (number: number) => string>> = {
  forged: (number) =>
    `entry ${number} carries a code that the ledger's key does not make: somebody without the key wrote it`,
  'no-code': (number) =>
    `entry ${number} carries no code, though entries have to from there on: its writer did not have the ledger's key`,
  'other-key': (number) =>
    `entry ${number} carries a code of a key that is not here: give the former keys as well (PAYRUN_LEDGER_KEY_FILE)`,
};

/**
 * Compares the codes of a log's entries, which are seen in their order. Entries before the first one with a code are from
 * before there was a key, unless `codedFrom` says otherwise, or one of a run whose seal is true: who made the seal had the
 * key, and wrote the entry before it. Without keys nothing is compared.
 */
function openCodes(keys: MacKeys | undefined, { codedFrom = null, sealedRuns = new Set() }: Knowing) {
  const first = new Map<CodeFault, number>();
  const untold = new Set(keys === undefined ? [] : sealedRuns);
  let from: number | null = null;
  let entries = 0;

  function faultOf(record: AuditRecord): CodeFault | undefined {
    const { code, number } = record;
    if (code === undefined) return from !== null || number >= (codedFrom ?? number + 1) ? 'no-code' : undefined;
    const check = keys?.check(entryText(record), code);
    from ??= number;
    if (check === 'holds') entries++;
    if (check === 'differs') return 'forged';
    return check === 'unknown-key' ? 'other-key' : undefined;
  }

  return {
    see(record: AuditRecord): void {
      if (tellsHandIn(record) && untold.delete(record.target)) from ??= record.number;
      const fault = keys === undefined ? undefined : faultOf(record);
      if (fault !== undefined && !first.has(fault)) first.set(fault, record.number);
    },
    findings: () => [
      ...[...first].map(([code, number]) => ({ code, number, message: MESSAGES[code](number) })),
      ...findUntold(untold),
    ],
    coded: () => (from === null || entries === 0 ? null : { entries, from }),
  };
}

/** What is wrong with a log, and at which entry. */
export interface AuditFinding {
  readonly code:
    | 'changed'
    | 'order'
    | 'replaced'
    | 'head'
    | 'gone'
    | 'copy'
    | 'copy-hole'
    | 'forged'
    | 'no-code'
    | 'other-key';
  readonly number: number;
  readonly message: string;
}

export interface AuditVerdict {
  /** Places in the log in Redis. */
  readonly entries: number;
  /** The last entry that was proven to follow from all before it. */
  readonly head: AuditHead;
  /** None when the log holds. */
  readonly findings: readonly AuditFinding[];
  /** This data directory's last entries that have no copy yet: a process ended before it wrote them. */
  readonly uncopied: number;
  /** Entries whose code holds under this process's keys, and the first of them; null where none was compared or none holds. */
  readonly coded: { readonly entries: number; readonly from: number } | null;
}

/** An entry as somebody wrote it down elsewhere; the number may be missing. */
export interface KnownHead {
  readonly number: number | null;
  readonly hash: string;
}

const HEAD = /^(?:([1-9][0-9]{0,14}):)?([0-9a-f]{64})$/;

/** What `headText` prints, or its hash alone; undefined for anything else. */
export function parseHead(text: string): KnownHead | undefined {
  const match = HEAD.exec(text);
  if (match === null) return undefined;
  return { number: match[1] === undefined ? null : Number.parseInt(match[1], 10), hash: match[2] ?? '' };
}

/** What else is known when a log is proven. */
interface Knowing {
  /** A head that was written down elsewhere. */
  readonly known: KnownHead | null;
  /** Whether the ledger has runs. */
  readonly hasRuns?: boolean;
  /** From this entry on each has to carry a code; null: from the first that does. */
  readonly codedFrom?: number | null;
  /** Runs whose seal was made with the ledger's key. */
  readonly sealedRuns?: ReadonlySet<string>;
}

/**
 * Proves the log as far as it can be proven: each entry by its hash, its place and the hash of the one before; all of it by
 * a head that was written down elsewhere, such as a report's; and by the copies in this data directory, which betray a log
 * that was cut off at its end or written anew. Where this process has the ledger's key, codes are
 * compared too: they betray whoever wrote all of it anew without the key, and the seals of runs whoever left all codes out. An empty log proves nothing when the ledger has runs.
 */
export async function verifyAudit(log: AuditLog, knowing: Knowing): Promise<AuditVerdict> {
  const { known, hasRuns = false } = knowing;
  // Before the lines: an entry is in Redis before it is copied.
  const copies = openCopies(await log.copies(), log.dataDirId);
  const codes = openCodes(log.keys, knowing);
  let entries = 0;
  let head = BEFORE_FIRST;
  let broken: AuditFinding | undefined;
  const search = openSearch(known);
  for await (const line of log.lines()) {
    entries++;
    const record = readEntry(line);
    broken ??= findBreak(record, entries, head);
    if (record === undefined) continue;
    if (broken === undefined) head = { number: record.number, hash: record.hash };
    search.see(record);
    copies.see(record);
    codes.see(record);
  }
  const gone = hasRuns ? findGone(entries) : undefined;
  const findings = [broken, search.finding(entries), gone, ...codes.findings(), ...copies.findings(entries)].filter(
    (finding) => finding !== undefined,
  );
  return { entries, head, findings, uncopied: copies.uncopied(), coded: codes.coded() };
}

function findBreak(record: AuditRecord | undefined, place: number, before: AuditHead): AuditFinding | undefined {
  if (record === undefined) {
    return { code: 'changed', number: place, message: `entry ${place} is not what its hash says: it was changed` };
  }
  if (record.number !== place) {
    const message = `entry ${record.number} stands in place ${place}: entries were removed, added or reordered`;
    return { code: 'order', number: place, message };
  }
  if (record.previous === before.hash) return undefined;
  const message =
    place === 1
      ? 'entry 1 does not begin a log'
      : `entry ${place} does not follow entry ${place - 1}: one of them was replaced`;
  return { code: 'replaced', number: place, message };
}

/** Whoever hands a file in makes an entry. */
function findGone(entries: number): AuditFinding | undefined {
  if (entries > 0) return undefined;
  return { code: 'head', number: 1, message: 'the log is empty, although the ledger has runs: it was removed' };
}

/** Runs that were sealed with the ledger's key, and of which no entry tells. */
function findUntold(runs: ReadonlySet<string>): AuditFinding[] {
  const [run] = runs;
  if (run === undefined) return [];
  const message = `no entry tells who handed in run ${run}, whose seal is true${runs.size > 1 ? ` (nor ${runs.size - 1} others)` : ''}: entries were removed`;
  return [{ code: 'gone', number: 1, message }];
}

/** Looks for an entry that somebody wrote down elsewhere. */
function openSearch(known: KnownHead | null) {
  let isFound = known === null;
  return {
    see({ hash, number }: AuditRecord): void {
      if (known?.hash === hash) isFound = known.number === null || known.number === number;
    },
    finding: (entries: number) => (isFound || known === null ? undefined : findUnknown(known, entries)),
  };
}

function findUnknown({ number, hash }: KnownHead, entries: number): AuditFinding {
  const shown = number === null ? hash : headText({ number, hash });
  const message =
    number !== null && number > entries
      ? `the log ends at entry ${entries}, before ${shown}: its end was cut off`
      : `no entry is ${shown}: the log was cut off or written anew`;
  return { code: 'head', number: number ?? entries, message };
}

/** Compares the copies with the entries that Redis holds. */
function openCopies(records: readonly AuditRecord[], dataDirId: string) {
  const copied = new Set(records.map(headText));
  const unseen = new Map(records.map((record) => [headText(record), record.number]));
  const uncopied: number[] = [];
  let lastCopied = 0;
  return {
    see(record: AuditRecord): void {
      unseen.delete(headText(record));
      if (record.dataDir !== dataDirId) return;
      if (copied.has(headText(record))) lastCopied = Math.max(lastCopied, record.number);
      else uncopied.push(record.number);
    },
    uncopied: () => uncopied.filter((number) => number > lastCopied).length,
    findings(entries: number): AuditFinding[] {
      const findings: AuditFinding[] = [];
      const lost = Math.min(...unseen.values());
      if (unseen.size > 0) {
        const what = lost > entries ? `the log in Redis ends at entry ${entries}` : 'the log in Redis has another one';
        const message = `entry ${lost} is in the data directory's copy, and ${what}: Redis went back in time, or its log was cut off or written anew`;
        findings.push({ code: 'copy', number: lost, message });
      }
      const hole = uncopied.find((number) => number < lastCopied);
      if (hole !== undefined) {
        const message = `entry ${hole} was taken from the data directory's copy, which has later ones`;
        findings.push({ code: 'copy-hole', number: hole, message });
      }
      return findings;
    },
  };
}
