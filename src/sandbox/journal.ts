import { closeSync, fstatSync, fsyncSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal } from '../refusal.ts';

/** Money as it stands in a journal: minor units as text. */
export const moneyRecord = z.object({
  minor: z
    .string()
    .regex(/^[0-9]{1,30}$/)
    .transform((text) => BigInt(text)),
  currency: z.string(),
});

const LINE_END = 0x0a;
const READ_BYTES = 1024 * 1024;

/** An append-only file of records, one JSON line each. */
export interface Journal<Entry> {
  /** Takes records in order; those of one turn of the event loop reach the disk with one sync. Returns at once. */
  append(entries: readonly Entry[]): void;
  /**
   * Resolves when everything appended so far is on disk. Rejects for those whose records a write or sync could not keep;
   * what is appended later is tried again.
   */
  synced(): Promise<void>;
  /** The whole lines that were added since the last call, by this process or another; at first all of them. */
  readNew(): Entry[];
  close(): Promise<void>;
}

/**
 * Opens (or makes, mode 600) a journal. A line that is no JSON is a write that was torn by a crash and is ignored;
 * JSON that does not fit the schema throws a Refusal. A bigint is written as text. With `lost` this process must be
 * the only one that writes: records that could not be kept are taken back from the file, then told.
 */
export async function openJournal<Entry>(
  file: string,
  schema: z.ZodType<Entry>,
  lost?: (entries: readonly Entry[]) => void,
): Promise<Journal<Entry>> {
  const handle = await open(file, 'a+', 0o600);
  syncFolder(dirname(file));
  const readLines = openLines(handle.fd);
  let pending: Entry[] = [];
  let last = Promise.resolve();
  const underWay = new Set<Promise<void>>();
  let broken: Error | undefined;

  async function writePending(): Promise<void> {
    await endOfTurn();
    const entries = pending;
    pending = [];
    if (broken !== undefined) throw broken;
    const text = entries.map((entry) => `${JSON.stringify(entry, bigintAsText)}\n`).join('');
    const { size } = await handle.stat();
    try {
      await handle.appendFile(endsTorn(handle.fd) ? `\n${text}` : text);
      await handle.datasync();
    } catch (error) {
      if (lost !== undefined) await takeBack(entries, size);
      throw error;
    }
    readLines.skip(Buffer.byteLength(text));
  }

  async function takeBack(entries: readonly Entry[], size: number): Promise<void> {
    try {
      await handle.truncate(size);
      lost?.(entries);
    } catch (error) {
      broken = new Error(`${file} cannot be brought back to what it held`, { cause: error });
    }
  }

  return {
    append(entries) {
      if (entries.length === 0) return;
      if (pending.length === 0) {
        const written = last.then(writePending);
        underWay.add(written);
        // Whoever waits for `synced` learns of it; nobody may be waiting yet.
        last = written.catch(() => {}).then(() => void underWay.delete(written));
      }
      pending.push(...entries);
    },
    async synced() {
      if (broken !== undefined) throw broken;
      await Promise.all(underWay);
    },
    readNew: () => readLines.read().flatMap((line) => entriesOfLine(line, file, schema)),
    async close() {
      await last;
      await handle.close();
    },
  };
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

function entriesOfLine<Entry>(line: string, file: string, schema: z.ZodType<Entry>): Entry[] {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return [];
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return [parsed.data];
  throw new Refusal(
    `${file} has a line that this sandbox did not write`,
    'Give the sandbox another folder, or remove this one to start again.',
    { cause: parsed.error },
  );
}

function endsTorn(fd: number): boolean {
  const { size } = fstatSync(fd);
  if (size === 0) return false;
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, size - 1);
  return byte[0] !== LINE_END;
}

/** Reads whole lines from where the last read ended. A part of a line at the end stays for the next read. */
function openLines(fd: number): { read(): string[]; skip(ownBytes: number): void } {
  let offset = 0;
  return {
    read() {
      const lines: string[] = [];
      let rest = Buffer.alloc(0);
      for (;;) {
        const unread = fstatSync(fd).size - offset - rest.length;
        if (unread <= 0) return lines;
        const chunk = Buffer.alloc(Math.min(READ_BYTES, unread));
        const read = readSync(fd, chunk, 0, chunk.length, offset + rest.length);
        const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
        const end = bytes.lastIndexOf(LINE_END) + 1;
        if (end > 0) lines.push(...bytes.toString('utf8', 0, end - 1).split('\n'));
        offset += end;
        rest = bytes.subarray(end);
      }
    },
    /** Own lines need no reading when nobody else has written since. */
    skip(ownBytes) {
      if (fstatSync(fd).size === offset + ownBytes) offset += ownBytes;
    },
  };
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
