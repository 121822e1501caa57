import { type ReaderProcess, startReader } from './reader-process.ts';

/** Of one process: each may take as much memory as one file may. */
const READERS_MAX = 4;
/** A reader waits so long for the next file: most files are read several times, and a start takes longer than a small file. */
const IDLE_MS = 10_000;
/** What a reader that waits may hold, and the files after which it is replaced. */
const IDLE_BYTES_MAX = 128 * 1024 * 1024;
const FILES_MAX = 1000;

interface Idle {
  readonly reader: ReaderProcess;
  readonly files: number;
  readonly timer: NodeJS.Timeout;
}

let free = READERS_MAX;
const waiting: (() => void)[] = [];
let idle: Idle | undefined;

/** A reader for one file. */
export interface Lent {
  readonly reader: ReaderProcess;
  /** Gives it back, with the memory that it has, when it read its file to the end; else it is ended. */
  giveBack(residentBytes?: number): void;
}

/** Lends a reader as soon as one may be had. */
export async function borrowReader(memoryBytesMax: number): Promise<Lent> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => void waiting.push(resolve));
  try {
    return lend(memoryBytesMax);
  } catch (error) {
    leave();
    throw error;
  }
}

function leave(): void {
  const next = waiting.shift();
  if (next === undefined) free++;
  else next();
}

function lend(memoryBytesMax: number): Lent {
  const kept = takeIdle(memoryBytesMax);
  const reader = kept?.reader ?? startReader(memoryBytesMax);
  const files = (kept?.files ?? 0) + 1;
  reader.hold(true);
  return {
    reader,
    giveBack(residentBytes) {
      if (residentBytes !== undefined && residentBytes < IDLE_BYTES_MAX && files < FILES_MAX) keepIdle(reader, files);
      else reader.close();
      leave();
    },
  };
}

function takeIdle(memoryBytesMax: number): Idle | undefined {
  if (idle?.reader.memoryBytesMax !== memoryBytesMax) return undefined;
  const taken = idle;
  clearTimeout(taken.timer);
  idle = undefined;
  if (taken.reader.isAlive()) return taken;
  taken.reader.close();
  return undefined;
}

function keepIdle(reader: ReaderProcess, files: number): void {
  if (idle !== undefined) {
    clearTimeout(idle.timer);
    idle.reader.close();
  }
  const timer = setTimeout(() => {
    idle = undefined;
    reader.close();
  }, IDLE_MS);
  timer.unref();
  reader.hold(false);
  idle = { reader, files, timer };
}
