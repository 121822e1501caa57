import type { Reading } from '../formats.ts';
import { type ReaderProcess, startReader } from './reader-process.ts';

/**
 * Readers of one process at a time. Each may take as much memory as one file may, which one of CSV never does. A file that is
 * recorded, and quoted row by row, keeps its reader for hours: those of CSV keep no other format waiting.
 */
const READERS_MAX: Readonly<Record<Lane, number>> = { csv: 16, other: 4 };
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

type Lane = 'csv' | 'other';

const lanes: Readonly<Record<Lane, { free: number; readonly waiting: (() => void)[] }>> = {
  csv: { free: READERS_MAX.csv, waiting: [] },
  other: { free: READERS_MAX.other, waiting: [] },
};
let idle: Idle | undefined;

/** A reader for one file. */
export interface Lent {
  readonly reader: ReaderProcess;
  /** Gives it back, with the memory that it has, when it read its file to the end; else it is ended. */
  giveBack(residentBytes?: number): void;
}

/** Lends a reader as soon as one may be had. */
export async function borrowReader(memoryBytesMax: number, format: Reading['format']): Promise<Lent> {
  const lane = format === 'csv' ? 'csv' : 'other';
  const { waiting } = lanes[lane];
  if (lanes[lane].free > 0) lanes[lane].free--;
  else await new Promise<void>((resolve) => void waiting.push(resolve));
  try {
    return lend(memoryBytesMax, lane);
  } catch (error) {
    leave(lane);
    throw error;
  }
}

function leave(lane: Lane): void {
  const next = lanes[lane].waiting.shift();
  if (next === undefined) lanes[lane].free++;
  else next();
}

function lend(memoryBytesMax: number, lane: Lane): Lent {
  const kept = takeIdle(memoryBytesMax);
  const reader = kept?.reader ?? startReader(memoryBytesMax);
  const files = (kept?.files ?? 0) + 1;
  reader.hold(true);
  return {
    reader,
    giveBack(residentBytes) {
      if (residentBytes !== undefined && residentBytes < IDLE_BYTES_MAX && files < FILES_MAX) keepIdle(reader, files);
      else reader.close();
      leave(lane);
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
