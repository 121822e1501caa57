import type { Reading } from '../formats.ts';
import type { RecordBatch } from '../record.ts';

/** How a file is to be read. */
interface Task {
  readonly reading: Reading;
}

/** What a reader process is told: a task, the bytes of the file piece by piece, and their end; then the next task. */
export type ReaderInput = Task | Uint8Array | 'end';

/** The end of a file, and the memory that the reader has by then. */
interface Done {
  readonly residentBytes: number;
}

/** What a reader process says: records, that these were all, or the fault that ended it. */
export type ReaderOutput = RecordBatch | Done | { readonly fault: string };

export function isInput(message: unknown): message is ReaderInput {
  return message === 'end' || message instanceof Uint8Array || has(message, 'reading');
}

export function isOutput(message: unknown): message is ReaderOutput {
  return ['records', 'residentBytes', 'fault'].some((name) => has(message, name));
}

function has(message: unknown, name: string): boolean {
  return typeof message === 'object' && message !== null && name in message;
}
