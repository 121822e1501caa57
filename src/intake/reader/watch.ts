import { readFile } from 'node:fs/promises';
import type { IntakeLimits } from '../limits.ts';
import type { ReaderProcess } from './reader-process.ts';

/** Sees to it that a reader keeps within its limits while it reads one file. */
export interface Watch {
  /** Waits for the reader. Its time is what others wait for it; the time that they take themselves is not counted. */
  wait<Value>(awaited: Promise<Value>): Promise<Value>;
  /** So many more bytes of the file were given. */
  count(bytes: number): void;
  /** Why the reader was ended, if it was. */
  excess(): 'memory' | 'time' | undefined;
  end(): void;
}

const TICK_MS = 50;
const MS = 1000;
const KIBIBYTE = 1024;
/** Any file may take as long as a small one, and a second more for each so many bytes: many times what a sound one needs. */
const BYTES_A_SECOND = 64 * KIBIBYTE;

export function watchReader(
  reader: Pick<ReaderProcess, 'pid' | 'end'>,
  { readMemoryBytesMax, readSecondsMax }: Pick<IntakeLimits, 'readMemoryBytesMax' | 'readSecondsMax'>,
): Watch {
  let isAwaited = false;
  let awaitedMs = 0;
  let bytes = 0;
  let excess: ReturnType<Watch['excess']>;
  let isOver = false;

  function stop(why: typeof excess): void {
    if (isOver) return;
    excess ??= why;
    reader.end();
  }

  const ticks = setInterval(() => {
    if (isAwaited) awaitedMs += TICK_MS;
    if (awaitedMs > (readSecondsMax + bytes / BYTES_A_SECOND) * MS) stop('time');
    void judgeMemory();
  }, TICK_MS);

  async function judgeMemory(): Promise<void> {
    if ((await residentBytes(reader.pid)) > readMemoryBytesMax) stop('memory');
  }

  return {
    async wait(awaited) {
      isAwaited = true;
      try {
        return await awaited;
      } finally {
        isAwaited = false;
      }
    },
    count(more) {
      bytes += more;
    },
    excess: () => excess,
    end() {
      isOver = true;
      clearInterval(ticks);
    },
  };
}

/** 0 where the system does not tell: there the limit of the reader's heap stands alone. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? 0) * KIBIBYTE;
}
