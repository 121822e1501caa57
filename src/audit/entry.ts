import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { MacKeys } from '../ledger-key.ts';

/** What a person did. Without personal data but the actor's name, and without secrets. */
export interface AuditAct {
  readonly actor: string;
  /** Noun and verb, such as `run.paused`. */
  readonly action: string;
  /** A run id, a payout id, or `ledger`. */
  readonly target: string;
  readonly details: Readonly<Record<string, string>>;
}

export interface AuditEntry extends AuditAct {
  /** From 1, without a gap. */
  readonly number: number;
  /** Redis's time, in milliseconds since 1970. */
  readonly at: number;
  /** The data directory of the process that wrote the entry. */
  readonly dataDir: string;
  /** Hash of the entry before; of the first one, 64 zeros. */
  readonly previous: string;
}

/** An entry with its own hash. */
export interface AuditRecord extends AuditEntry {
  readonly hash: string;
  /** Of the entry's text, under the ledger's key (src/ledger-key.ts); absent where its writer had none. */
  readonly code?: string;
}

/** The last entry of a log: whoever knows it can tell whether anything up to it was changed. */
export interface AuditHead {
  readonly number: number;
  readonly hash: string;
}

/** What stands before the first entry. */
export const BEFORE_FIRST: AuditHead = { number: 0, hash: '0'.repeat(64) };

const LINE = /^([0-9a-f]{64}) ([^\n]+?)(?: ([0-9a-f]{8}\.[0-9a-f]{64}))?$/;

/** A key's id, a point and 64 digits. */
const CODE_CHARACTERS = 73;

const actSchema = z.strictObject({
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  details: z.record(z.string(), z.string()),
});

const waitingSchema = actSchema.extend({ at: z.int(), from: z.int().nonnegative() });

const schema = actSchema.extend({
  number: z.int().positive(),
  at: z.int(),
  dataDir: z.string(),
  previous: z.string().length(BEFORE_FIRST.hash.length),
});

/**
 * An entry as the log keeps it, in one line: its hash, a blank, its canonical text, and a blank and its code where it has
 * one. The canonical text is JSON without blanks, with the fields number, at, actor, action, target, details (by name), dataDir, previous in this order; the hash
 * is SHA-256 over its UTF-8 bytes, in lower-case hex. So the hash covers the previous one.
 */
export function writeEntry(entry: AuditEntry & Pick<AuditRecord, 'code'>): string {
  const text = entryText(entry);
  const code = entry.code === undefined ? '' : ` ${entry.code}`;
  return `${createHash('sha256').update(text).digest('hex')} ${text}${code}`;
}

/** An entry's canonical text: what its hash and its code are of. */
export function entryText({ number, at, actor, action, target, details, dataDir, previous }: AuditEntry): string {
  const sorted = Object.fromEntries(Object.entries(details).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return JSON.stringify({ number, at, actor, action, target, details: sorted, dataDir, previous });
}

/** A line of the log; undefined when it is not what its hash says, or not the one text that its entry has. */
export function readEntry(line: string): AuditRecord | undefined {
  const [, hash = '', text = '', code] = LINE.exec(line) ?? [];
  const read = schema.safeParse(jsonOf(text)).data;
  if (read === undefined) return undefined;
  const entry = code === undefined ? read : { ...read, code };
  return writeEntry(entry) === line ? { ...entry, hash } : undefined;
}

/** In the place of an act that waits and cannot be read. */
const UNREADABLE = { actor: 'payrun', action: 'audit.unreadable', target: 'ledger', details: {}, at: 0, from: 0 };

/** An act that waited for its place in the log. */
export interface WaitingAct {
  readonly act: AuditAct;
  /** When people did it; the entry has that time too, by which it is known again. */
  readonly at: number;
  /** How many entries the log had before it: only a later one can record it. */
  readonly from: number;
  /** Whether its code proves that whoever wrote it has the ledger's key. */
  readonly isSigned: boolean;
}

/** An act as it waits in Redis: its code, or as many blanks where its writer has no key, and its JSON. */
export function writeWaiting(
  { actor, action, target, details }: AuditAct,
  { at, from, keys }: { at: number; from: number; keys: MacKeys | undefined },
): string {
  const text = JSON.stringify({ actor, action, target, details, at, from });
  return `${(keys?.sign(text) ?? '').padEnd(CODE_CHARACTERS)}${text}`;
}

export function readWaiting(waiting: string, keys: MacKeys | undefined): WaitingAct {
  const [code, text] = [waiting.slice(0, CODE_CHARACTERS).trim(), waiting.slice(CODE_CHARACTERS)];
  const { at, from, ...act } = waitingSchema.safeParse(jsonOf(text)).data ?? UNREADABLE;
  return { act, at, from, isSigned: keys?.check(text, code) === 'holds' };
}

/** Whether an entry records an act that waited. */
export function recordsAct(record: AuditRecord, { act, at, from }: Omit<WaitingAct, 'isSigned'>): boolean {
  return record.number > from && entryText(record) === entryText({ ...record, ...act, at });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether an entry tells who handed a run in: each run has one, written before its rows are. */
export function tellsHandIn({ action }: Pick<AuditEntry, 'action'>): boolean {
  return action === 'run.submitted' || action === 'run.attached';
}

/** `NUMBER:HASH`, as reports print it; null for a log without entries. */
export function headText({ number, hash }: AuditHead): string | null {
  return number === 0 ? null : `${number}:${hash}`;
}
