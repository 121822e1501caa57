import type { MacKeys } from '../ledger-key.ts';
import { appendCopies, copiesFile, readCopies, readFormerCopies } from './copies.ts';
import {
  type AuditAct,
  type AuditHead,
  type AuditRecord,
  entryText,
  readEntry,
  readWaiting,
  recordsAct,
  type WaitingAct,
  writeEntry,
  writeWaiting,
} from './entry.ts';
import { byTime, type MissingEntries, missingIn } from './missed.ts';

/** The last entry of which a copy was made. */
interface CopiedTo {
  readonly number: number;
  readonly hash: string;
}

const LOST_RACES_MAX = 200;
const TEXT_CHARACTERS_MAX = 1000;

export interface AuditLook {
  readonly head: AuditHead;
  /** Redis's time, in milliseconds since 1970. */
  readonly at: number;
  readonly instance: string;
  readonly service: string;
  /** The lost ledger in whose place this one was made; '' for none. */
  readonly formerInstance: string;
  /** The act that waits for its place in the log for longest, as it was written; '' for none. */
  readonly waiting: string;
}

/** The lines of the audit log where they are stored: in Redis (src/ledger/audit.ts). */
export interface AuditStore {
  /** Throws a LedgerFault when Redis holds no ledger. */
  look(): Promise<AuditLook>;
  /** True when the line stands right after `head`, where the log ended for its writer. The act `waiting` then waits no more. */
  push(line: string, head: AuditHead, waiting?: string): Promise<boolean>;
  /** Takes an act off the list of those that wait. */
  dropWaiting(waiting: string): Promise<void>;
  /** The line of this number of entry. */
  lineAt(number: number): Promise<string | undefined>;
  /** Of these hashes of lost entries, those whose loss was not noted in this Redis. */
  notNoted(hashes: readonly string[]): Promise<readonly string[]>;
  /** Does nothing on another server than this one (its `run_id` and `master_replid`). */
  noteLost(hashes: readonly string[], server: string): Promise<void>;
  /** Notes that an entry that Redis had lost is put back, before it is: what it decided has still to be done again. */
  notePutBack(record: AuditHead): Promise<void>;
  putBack(): Promise<readonly AuditHead[]>;
  /** The lines from this number of entry on, the oldest first. */
  lines(from: number): AsyncGenerator<string, void>;
}

/** The log of what people did: a chain of hashes in Redis, with copies in the data directories. */
export interface AuditLog {
  /** The data directory whose copies are read and written. */
  readonly dataDirId: string;
  /** By which entries carry codes; undefined where this process has none. */
  readonly keys: MacKeys | undefined;
  /** Records what was done; gives the entry's number and hash. See `openAuditLog` for what it throws. */
  append(act: AuditAct): Promise<AuditHead>;
  /** The act as text, for the script that carries it out: it waits in Redis until an entry records it. Throws like `append`. */
  waiting(act: AuditAct): Promise<string>;
  /** Records the acts that wait, whoever wrote them. */
  appendWaiting(): Promise<void>;
  head(): Promise<AuditHead>;
  /** The lines as they stand in Redis, from this place on, or from the first. */
  lines(from?: number): AsyncIterable<string>;
  /** The entries whose copies lie in this data directory. */
  copies(): Promise<readonly AuditRecord[]>;
  /** What Redis does not have, for it went back in time or is another one, and was not noted as missing. */
  missing(): Promise<MissingEntries>;
  /** They are missing no more on this server: it was said that they were. Another one notes nothing. */
  noteMissing(records: readonly AuditRecord[], server: string): Promise<void>;
  /**
   * Records the acts that wait, and copies what other directories appended and what a killed process of this one did not copy,
   * so that each directory can tell what a Redis that goes back has forgotten.
   */
  copyOthers(): Promise<void>;
}

export interface AuditPlace {
  readonly dataDirId: string;
  /** Undefined: no copies are kept. */
  readonly dataDir?: string;
  /** Undefined: what this process appends carries no code. */
  readonly auditKeys?: MacKeys | undefined;
}

/** Whether an entry still stands at its number: Redis may have gone back, and written on from there. */
async function isThere(store: AuditStore, copied: CopiedTo | undefined): Promise<boolean> {
  const line = copied && (await store.lineAt(copied.number));
  return line !== undefined && readEntry(line)?.hash === copied?.hash;
}

interface LineAfter {
  readonly line: string;
  readonly hash: string;
  readonly isOwn: boolean;
}

/** The entries after a number. */
async function linesAfter(store: AuditStore, from: number, dataDirId: string): Promise<LineAfter[]> {
  const after: LineAfter[] = [];
  for await (const line of store.lines(from + 1)) {
    const record = readEntry(line);
    if (record !== undefined) after.push({ line, hash: record.hash, isOwn: record.dataDir === dataDirId });
  }
  return after;
}

/**
 * The audit log (docs/security.md). An entry goes to Redis first, for only Redis can give it its place among those
 * of all processes: whoever finds another end of the log than he saw looks again. Its copy in the data directory follows.
 * A process that ends in between leaves an entry without a copy, and the next append from that directory makes up for it.
 * The reverse, a copy without its entry, means that Redis went back in time: the next append puts back what its own copies
 * continue without a gap, and `verify` names what is left. What people do waits in Redis from the moment that it takes effect, and
 * whoever appends next records it.
 *
 * `append` throws what ioredis throws, a LedgerFault where there is no ledger, and a Refusal when the copy cannot be written.
 */
export function openAuditLog(store: AuditStore, place: AuditPlace): AuditLog {
  const { dataDirId, dataDir, auditKeys } = place;
  const copies = openCopies(store, place);

  /** Records what waits, and then the act. */
  async function write(act: AuditAct | undefined): Promise<AuditHead | undefined> {
    // Copies that cannot be read keep no entry out of Redis; that they cannot is told when the next one is written.
    const copied = await copies.read().catch(() => []);
    let written: AuditRecord | undefined;
    for (let lost = 0; lost < LOST_RACES_MAX; ) {
      const look = await lookAtNew(store, { copied, auditKeys });
      const next = nextRecord(look, { copied, act, dataDirId, auditKeys });
      const isIn = next !== undefined && (await pushNext(store, look, next));
      if (next !== undefined && !isIn) lost++;
      if (isIn && next.kind !== 'lost') written = next.record;
      if (next === undefined || (isIn && next.kind === 'act')) {
        if (written !== undefined) await copies.add(look.instance, copied, written);
        return written;
      }
    }
    throw new Error(`the audit log was appended to by others ${LOST_RACES_MAX} times while an entry was made`);
  }

  async function appendWaiting(): Promise<void> {
    if ((await store.look()).waiting !== '') await write(undefined);
  }

  return {
    dataDirId,
    keys: auditKeys,
    async append(act) {
      const head = await write(cutTexts(act));
      if (head === undefined) throw new Error('an act left no entry');
      return { number: head.number, hash: head.hash };
    },
    async waiting(act) {
      const { at, head } = await store.look();
      return writeWaiting(cutTexts(act), { at, from: head.number, keys: auditKeys });
    },
    appendWaiting,
    copies: () => copies.read(),
    async missing() {
      const { formerInstance, instance } = await store.look();
      const isAdopted = dataDir !== undefined && formerInstance !== '';
      const former = isAdopted ? await readFormerCopies(dataDir, instance) : [];
      const gone = await missingIn(await copies.read(), store.lines(1));
      return {
        ours: await notNoted(store, [...(await putBackIn(store)), ...gone]),
        former: await notNoted(store, former),
      };
    },
    noteMissing: (records, server) => store.noteLost(hashesOf(records), server),
    async copyOthers() {
      await appendWaiting();
      await copies.addOthers();
    },
    head: async () => (await store.look()).head,
    lines: (from = 1) => store.lines(from),
  };
}

/**
 * The log's end. An act that waits although an entry records it is taken off the list: Redis went back to where it waited, or
 * somebody wrote it there again.
 */
async function lookAtNew(
  store: AuditStore,
  { copied, auditKeys }: { copied: readonly AuditRecord[]; auditKeys: MacKeys | undefined },
): Promise<AuditLook> {
  for (;;) {
    const look = await store.look();
    if (look.waiting === '' || !(await isRecorded(store, copied, readWaiting(look.waiting, auditKeys)))) return look;
    await store.dropWaiting(look.waiting);
  }
}

async function isRecorded(store: AuditStore, copied: readonly AuditRecord[], waited: WaitingAct): Promise<boolean> {
  if (copied.some((record) => recordsAct(record, waited))) return true;
  for await (const line of store.lines(waited.from + 1)) {
    const record = readEntry(line);
    if (record !== undefined && recordsAct(record, waited)) return true;
  }
  return false;
}

async function pushNext(store: AuditStore, look: AuditLook, { kind, record }: NextRecord): Promise<boolean> {
  if (kind === 'lost') await store.notePutBack(record);
  return await store.push(writeEntry(record), look.head, kind === 'waiting' ? look.waiting : '');
}

/** The copies that a data directory has of the log. */
interface Copies {
  read(): Promise<readonly AuditRecord[]>;
  /** Copies an entry, and those of this directory before it that have no copy yet. */
  add(instance: string, copied: readonly AuditRecord[], record: AuditRecord): Promise<void>;
  /** Copies whatever has no copy. */
  addOthers(): Promise<void>;
}

function openCopies(store: AuditStore, { dataDirId, dataDir }: AuditPlace): Copies {
  let copiedTo: CopiedTo | undefined;

  async function read(): Promise<readonly AuditRecord[]> {
    return dataDir === undefined ? [] : await readCopies(copiesFile(dataDir, (await store.look()).instance));
  }

  return {
    read,
    async add(instance, copied, record) {
      if (dataDir === undefined) return;
      const last = copied.findLast((one) => one.dataDir === dataDirId)?.number ?? 0;
      const missing: string[] = [];
      for await (const line of store.lines(Math.min(last + 1, record.number))) {
        const found = readEntry(line);
        if (found?.dataDir === dataDirId && found.number < record.number) missing.push(line);
      }
      await appendCopies(copiesFile(dataDir, instance), [...missing, writeEntry(record)]);
    },
    async addOthers() {
      if (dataDir === undefined) return;
      const { head, instance } = await store.look();
      if (head.hash === copiedTo?.hash) return;
      const from = (await isThere(store, copiedTo)) ? copiedTo?.number : undefined;
      const after = await linesAfter(store, from ?? 0, dataDirId);
      // A process of this directory that was killed may have left an entry without a copy; one that lives may copy it twice.
      const mayBeThere = from === undefined || after.some(({ isOwn }) => isOwn);
      const known = new Set(mayBeThere ? (await read()).map(({ hash }) => hash) : []);
      const missing = after.filter(({ hash }) => !known.has(hash)).map(({ line }) => line);
      if (missing.length > 0) await appendCopies(copiesFile(dataDir, instance), missing);
      copiedTo = { number: head.number, hash: head.hash };
    },
  };
}

/** Entries that were lost and put back, whoever did it. */
async function putBackIn(store: AuditStore): Promise<AuditRecord[]> {
  const heads = (await store.putBack()).toSorted((one, other) => one.number - other.number);
  const lines = await Promise.all(heads.map(({ number }) => store.lineAt(number)));
  const records = lines.map((line) => (line === undefined ? undefined : readEntry(line)));
  return records.filter((record) => record !== undefined);
}

/** Those whose loss was not noted, in the order of their times. */
async function notNoted(store: AuditStore, records: readonly AuditRecord[]): Promise<readonly AuditRecord[]> {
  const hashes = new Set(await store.notNoted(records.map(({ hash }) => hash)));
  return byTime(records.filter(({ hash }) => hashes.has(hash)));
}

interface NextRecord {
  /** `lost`: an entry that Redis lost; `first`: the one that begins the log; `waiting`: an act that waited. */
  readonly kind: 'lost' | 'first' | 'waiting' | 'act';
  readonly record: AuditRecord;
}

/** What comes next in the log; undefined when nothing waits and there is no act. */
function nextRecord(
  { head, at, instance, service, waiting }: AuditLook,
  {
    copied,
    act,
    dataDirId,
    auditKeys,
  }: { copied: readonly AuditRecord[]; act: AuditAct | undefined } & Pick<AuditPlace, 'dataDirId' | 'auditKeys'>,
): NextRecord | undefined {
  if (waiting === '' && act === undefined) return undefined;
  const lost = copied.findLast(({ number, previous }) => number === head.number + 1 && previous === head.hash);
  if (lost !== undefined) return { kind: 'lost', record: lost };
  const made = (of: AuditAct & { readonly at?: number }, isProven = true): AuditRecord => {
    const entry = { at, ...of, number: head.number + 1, dataDir: dataDirId, previous: head.hash };
    const code = isProven && auditKeys !== undefined ? { code: auditKeys.sign(entryText(entry)) } : {};
    return { ...entry, ...code, hash: writeEntry(entry).slice(0, head.hash.length) };
  };
  if (head.number === 0) {
    const details = { instance, service };
    return { kind: 'first', record: made({ actor: 'payrun', action: 'ledger.made', target: 'ledger', details }) };
  }
  if (waiting === '') return act && { kind: 'act', record: made(act) };
  // Nobody gets a code for an act by writing it to Redis.
  const waited = readWaiting(waiting, auditKeys);
  return { kind: 'waiting', record: made({ ...waited.act, at: waited.at }, waited.isSigned) };
}

/** An act is recorded whatever it says: a text that is too long is cut. */
function cutTexts({ details, ...act }: AuditAct): AuditAct {
  const cut = Object.entries(details).map(([name, value]) => [name, value.slice(0, TEXT_CHARACTERS_MAX)] as const);
  return { ...act, details: Object.fromEntries(cut) };
}

function hashesOf(records: readonly AuditRecord[]): string[] {
  return records.map(({ hash }) => hash);
}
