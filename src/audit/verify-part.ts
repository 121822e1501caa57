import { readFile } from 'node:fs/promises';
import { type AuditHead, type AuditRecord, headText, readEntry } from './entry.ts';

/** A part of an audit log, from some entry to its end, as it was exported. */
export interface AuditPart {
  readonly entries: number;
  /** The first sentence about what does not hold; undefined when each entry follows the one before. */
  readonly fault: string | undefined;
  readonly head: AuditHead | undefined;
  /** Whether a head, `NUMBER:HASH`, is in it or before it. */
  has(head: string): boolean;
}

/** Proves an exported part of a chain: each entry by its hash, its number and the hash of the one before. */
export async function readAuditPart(path: string): Promise<AuditPart> {
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1);
  const heads = new Set<string>();
  let fault: string | undefined;
  let last: AuditRecord | undefined;
  let first = 0;
  for (const [index, line] of lines.entries()) {
    const record = readEntry(line);
    fault ??= faultOf(record, last, index + 1);
    if (record === undefined) continue;
    if (last === undefined) first = record.number;
    heads.add(headText(record) ?? '');
    last = record;
  }
  return {
    entries: lines.length,
    fault,
    head: last,
    has: (head) => heads.has(head) || Number.parseInt(head, 10) < first,
  };
}

function faultOf(record: AuditRecord | undefined, last: AuditRecord | undefined, line: number): string | undefined {
  if (record === undefined) return `line ${line} is not what its hash says`;
  if (last === undefined) return undefined;
  if (record.number === last.number + 1 && record.previous === last.hash) return undefined;
  return `line ${line}, entry ${record.number}, does not follow entry ${last.number}`;
}
