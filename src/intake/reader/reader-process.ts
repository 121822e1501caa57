import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { frameOf, messagesOf } from './frames.ts';
import { isOutput, type ReaderInput, type ReaderOutput } from './messages.ts';
import { READER_PROGRAM } from './reader-program.ts';

/** A process that reads files, one after the other. */
export interface ReaderProcess {
  readonly pid: number;
  /** The memory that it was started for. */
  readonly memoryBytesMax: number;
  /** Waits until the message is passed on. False: the reader takes no more. */
  give(message: ReaderInput): Promise<boolean>;
  /** What it says next; undefined when it has ended. */
  next(): Promise<ReaderOutput | undefined>;
  /** Ends it at once; what it said before can still be taken. */
  end(): void;
  /** Ends it, and forgets what it said. */
  close(): void;
  isAlive(): boolean;
  /** The signal that ended it, or null. Throws when it never began. */
  readonly gone: Promise<NodeJS.Signals | null>;
  /** Whether it keeps this process from ending. */
  hold(isHeld: boolean): void;
}

const MEBIBYTE = 1024 * 1024;
/** Of the memory that a reader may take; buffers and the program itself take the rest. */
const HEAP_SHARE = 0.5;
/** A reader whose own process was killed in the midst of a file ends by itself. */
const PROCESSOR_SECONDS_MAX = 4 * 3600;

export function startReader(memoryBytesMax: number): ReaderProcess {
  const child = spawnReader(memoryBytesMax);
  const gone = endOf(child);
  // One that never began is told by its output, too.
  gone.catch(() => {});
  const output = messagesOf(child.stdout, isOutput);
  return {
    pid: child.pid ?? 0,
    memoryBytesMax,
    gone,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    end: () => void child.kill('SIGKILL'),
    close() {
      child.kill('SIGKILL');
      child.stdin.destroy();
      child.stdout.destroy();
    },
    give: (message) =>
      new Promise((resolve) => {
        child.stdin.write(frameOf(message), (error) => resolve(error === null || error === undefined));
      }),
    async next() {
      const { done, value } = await output.next();
      return done === true ? undefined : value;
    },
    hold(isHeld) {
      for (const one of [child, child.stdin, child.stdout]) {
        if (!(one instanceof Socket) && one !== child) continue;
        if (isHeld) one.ref();
        else one.unref();
      }
    },
  };
}

/** It gets nothing of our environment: what it reads is not to be trusted. */
function spawnReader(memoryBytesMax: number) {
  const heapMebibytes = Math.floor((memoryBytesMax * HEAP_SHARE) / MEBIBYTE);
  const program = [process.execPath, `--max-old-space-size=${heapMebibytes}`, READER_PROGRAM];
  const limited = `ulimit -c 0; ulimit -t ${PROCESSOR_SECONDS_MAX}; exec "$@"`;
  const child = spawn('/bin/sh', ['-c', limited, 'sh', ...program], { stdio: ['pipe', 'pipe', 'ignore'], env: {} });
  // A reader that has ended takes no more; that it did is told by its output.
  child.stdin.on('error', () => {});
  return child;
}

async function endOf(child: ChildProcess): Promise<NodeJS.Signals | null> {
  await once(child, 'exit');
  return child.signalCode;
}
