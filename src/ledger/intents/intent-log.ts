import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock, Random } from '../../clock.ts';
import { syncFolder } from '../../files.ts';
import {
  type AnswerLine,
  type IntentLine,
  isIntent,
  isOverlong,
  type LogLine,
  readIntentLine,
  writeIntentLine,
} from './intent-line.ts';
import { type IntentRoom, openIntentRoom } from './room.ts';

/** The line is not known to be on disk: nothing may be sent for it. */
export class IntentLogFault extends Error {
  override readonly name = 'IntentLogFault';
  /** True when the disk's state is unknown (a failed sync): the process must arm nothing more. */
  readonly poisoned: boolean;

  constructor(message: string, options: { poisoned: boolean; cause: unknown }) {
    super(message, { cause: options.cause });
    this.poisoned = options.poisoned;
  }
}

export interface IntentLog {
  /** Resolves when the line is synced to disk; throws an IntentLogFault when that is not certain. */
  append(line: IntentLine): Promise<void>;
  /** Resolves when the line is written: it outlives the process, and a loss of power once the next arming is synced. */
  noteAnswer(line: AnswerLine): Promise<void>;
  /** Whether the disk takes lines. While it does not, nothing is to be armed. */
  hasRoom(): Promise<boolean>;
  close(): Promise<void>;
}

/** The folder of the intent logs below a data directory. */
export function intentsFolder(dataDir: string): string {
  return join(dataDir, 'intents');
}

/**
 * This process's own log of its armings (architecture.md, rule 2): append-only, mode 600, a new file for each process
 * and after each failed write. Lines that come while a sync is under way share the next one.
 */
export function openIntentLog(dataDir: string, deps: { clock: Clock; random: Random; room?: IntentRoom }): IntentLog {
  const folder = intentsFolder(dataDir);
  const room = deps.room ?? openIntentRoom(folder, deps.clock);
  let file: FileHandle | undefined;
  let poisoned: IntentLogFault | undefined;
  let waiting: { line: LogLine; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let writing: Promise<void> | undefined;

  async function openFile(): Promise<FileHandle> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await syncFolder(dataDir);
    const name = `${deps.clock.now()}-${process.pid}-${deps.random.bytes(4).toString('hex')}.log`;
    const handle = await open(join(folder, name), 'ax', 0o600);
    await handle.sync();
    await syncFolder(folder);
    return handle;
  }

  async function writeLines(lines: readonly LogLine[]): Promise<void> {
    if (poisoned !== undefined) throw poisoned;
    try {
      file ??= await openFile();
      const bytes = Buffer.from(lines.map(writeIntentLine).join(''));
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten !== bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`);
    } catch (cause) {
      await file?.close().catch(() => {});
      file = undefined;
      room.lost(cause);
      throw new IntentLogFault('the intent log could not be written', { poisoned: false, cause });
    }
    if (!lines.some(isIntent)) return;
    try {
      await file.datasync();
    } catch (cause) {
      poisoned = new IntentLogFault('the intent log could not be synced', { poisoned: true, cause });
      throw poisoned;
    }
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await writeLines(batch.map(({ line }) => line));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  }

  const write = (line: LogLine): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ line, resolve, reject });
      writing ??= Promise.resolve().then(writeWaiting);
    });
  return {
    append: write,
    noteAnswer: write,
    hasRoom: () => room.isThere(),
    async close() {
      await writing;
      await file?.close();
      file = undefined;
    },
  };
}

/** The intent logs of a data directory, the oldest first. */
export async function intentFiles(dataDir: string): Promise<string[]> {
  const folder = intentsFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  return names.toSorted().map((name) => join(folder, name));
}

const TAIL_BYTES = 64 * 1024;

/** The highest arming counter in a data directory's intent logs, each read from its end to its last intent; 0 without any. */
export async function highestCounter(dataDir: string): Promise<number> {
  let highest = 0;
  for (const path of await intentFiles(dataDir)) {
    const file = await open(path, 'r');
    try {
      highest = Math.max(highest, await lastCounter(file));
    } finally {
      await file.close();
    }
  }
  return highest;
}

async function lastCounter(file: FileHandle): Promise<number> {
  let { size: end } = await file.stat();
  while (end > 0) {
    const start = Math.max(0, end - TAIL_BYTES);
    const bytes = Buffer.alloc(end - start);
    await file.read(bytes, 0, bytes.length, start);
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .flatMap((part) => readIntentLine(part) ?? []);
    const counters = lines.filter(isIntent).map(({ armingCounter }) => armingCounter);
    if (counters.length > 0) return Math.max(...counters);
    // The first line of a piece begins in the piece before it.
    const lineEnd = bytes.indexOf('\n') + 1;
    end = start === 0 || lineEnd === bytes.length ? start : start + lineEnd;
  }
  return 0;
}

/**
 * The lines of an intent log in their order, and `damaged` for one that cannot be read and is not the file's last. The
 * last one may be torn: nothing was sent for it.
 */
export async function* readIntentFile(file: string): AsyncGenerator<LogLine | 'damaged'> {
  let torn = '';
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (text === '') continue;
    if (torn !== '') yield 'damaged';
    const line = readIntentLine(text);
    torn = line === undefined ? text : '';
    if (line !== undefined) yield line;
  }
  if (isOverlong(torn)) yield 'damaged';
}
