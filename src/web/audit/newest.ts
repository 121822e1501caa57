import type { AuditLog } from '../../audit/audit-log.ts';
import { type AuditRecord, readEntry } from '../../audit/entry.ts';

const ENTRIES_PER_PAGE = 25;
/** A page that looks for rare entries ends here, and says where to go on. */
const SCANNED_MAX = 10_000;
const SCANNED_AT_ONCE = 1000;

/** What entries are narrowed down to: texts that they hold, '' for any. */
export interface AuditWanted {
  readonly actor: string;
  readonly action: string;
  readonly target: string;
}

/** An entry, or the place of one that is not what its hash says. */
export type AuditLine = { readonly place: number; readonly record: AuditRecord | null };

export interface NewestPage {
  /** The newest first. */
  readonly lines: readonly AuditLine[];
  /** The place before which the next page begins; null when the log was seen to its first entry. */
  readonly older: number | null;
}

/** A page of entries before a place, the newest first; it reads no more of the log than `SCANNED_MAX` entries. */
export async function readNewest(
  audit: Pick<AuditLog, 'head' | 'lines'>,
  { before, wanted }: { readonly before: number; readonly wanted: AuditWanted },
): Promise<NewestPage> {
  const isAny = Object.values(wanted).every((text) => text === '');
  const found: AuditLine[] = [];
  let last = Math.min(before - 1, (await audit.head()).number);
  for (let scanned = 0; last > 0 && scanned < SCANNED_MAX; ) {
    const count = Math.min(last, isAny ? ENTRIES_PER_PAGE : SCANNED_AT_ONCE);
    const lines = await readLines(audit, { from: last - count + 1, count });
    for (const line of lines.toReversed()) {
      if (isWanted(line.record, wanted)) found.push(line);
      if (found.length === ENTRIES_PER_PAGE) return { lines: found, older: line.place > 1 ? line.place : null };
    }
    last -= count;
    scanned += count;
  }
  return { lines: found, older: last > 0 ? last + 1 : null };
}

/** Whether an entry holds the texts; one that was changed always does. */
export function isWanted(record: AuditRecord | null, wanted: AuditWanted): boolean {
  if (record === null) return true;
  return (
    holds(record.actor, wanted.actor) && holds(record.action, wanted.action) && holds(record.target, wanted.target)
  );
}

function holds(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

async function readLines(
  audit: Pick<AuditLog, 'lines'>,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<AuditLine[]> {
  const lines: AuditLine[] = [];
  for await (const line of audit.lines(from)) {
    lines.push({ place: from + lines.length, record: readEntry(line) ?? null });
    if (lines.length === count) break;
  }
  return lines;
}
