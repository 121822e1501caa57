import { Refusal } from '../../refusal.ts';
import type { Reading } from '../formats.ts';
import type { IntakeLimits } from '../limits.ts';
import { escapeUnseen } from '../problems/shown-value.ts';
import type { RecordStream } from '../record.ts';
import type { ReaderProcess } from './reader-process.ts';
import { borrowReader } from './readers.ts';
import { type Watch, watchReader } from './watch.ts';

/** A reader that ended before its file did; `found` is why, as a piece of a sentence. */
export class ReaderDied extends Refusal {
  readonly found: string;

  constructor(found: string) {
    super(
      `The payout file could not be read: ${found}.`,
      'Try again. Save a file that takes too much anew, or as CSV UTF-8, or split it.',
      {
        kind: 'unavailable',
      },
    );
    this.found = found;
  }
}

const MEBIBYTE = 1024 * 1024;
const FAULT_CHARACTERS_MAX = 200;
/** What V8 ends a process with whose heap is full, by version and system. */
const OUT_OF_HEAP: ReadonlySet<string> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);

/**
 * The records of a file by a process of its own, so that a file which takes too much memory or time takes it from nobody
 * else. Throws ReaderDied when that process ends before the file does. All of the bytes are taken.
 */
export async function* readApart(chunks: AsyncIterable<Buffer>, reading: Reading): RecordStream {
  const { limits } = reading;
  const lent = await borrowReader(limits.readMemoryBytesMax, reading.format);
  const { reader } = lent;
  const watch = watchReader(reader, limits);
  const feeding = feedReader(reader, watch, { chunks, reading });
  // Thrown behind the records of what was given before.
  feeding.catch(() => {});
  let residentBytes: number | undefined;
  try {
    while (residentBytes === undefined) {
      const message = await watch.wait(reader.next());
      if (message === undefined || 'fault' in message) {
        reader.end();
        await feeding;
        throw new ReaderDied(await causeOfDeath(reader, { fault: message?.fault, excess: watch.excess(), limits }));
      }
      if ('records' in message) yield message;
      else residentBytes = message.residentBytes;
      if ((residentBytes ?? 0) > limits.readMemoryBytesMax) throw new ReaderDied(tooMuchMemory(limits));
    }
    await feeding;
  } finally {
    watch.end();
    lent.giveBack(residentBytes);
    await feeding.catch(() => {});
  }
}

/** Gives the reader what to read, as fast as it takes it. Throws what the source of the bytes throws. */
async function feedReader(
  reader: ReaderProcess,
  watch: Watch,
  { chunks, reading }: { chunks: AsyncIterable<Buffer>; reading: Reading },
): Promise<void> {
  await reader.give({ reading });
  try {
    for await (const chunk of chunks) {
      watch.count(chunk.length);
      if (!(await reader.give(chunk))) return;
    }
  } finally {
    await reader.give('end');
  }
}

async function causeOfDeath(
  reader: ReaderProcess,
  { fault, excess, limits }: { fault: string | undefined; excess: string | undefined; limits: IntakeLimits },
): Promise<string> {
  const signal = await reader.gone;
  if (excess === 'time') return `it takes more than ${limits.readSecondsMax} seconds, and more than its size explains`;
  if (excess === 'memory' || OUT_OF_HEAP.has(signal ?? '')) return tooMuchMemory(limits);
  const why = fault ?? (signal === null ? 'no word of why' : `the signal ${signal}`);
  return `the program that reads it ended with ${escapeUnseen(why.slice(0, FAULT_CHARACTERS_MAX))}`;
}

function tooMuchMemory({ readMemoryBytesMax }: IntakeLimits): string {
  return `it takes more than ${Math.floor(readMemoryBytesMax / MEBIBYTE)} MiB of memory`;
}
