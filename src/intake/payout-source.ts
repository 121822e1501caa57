import { constants, type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { codeOf, Refusal } from '../refusal.ts';

/** All rows of a piece are in memory at once: with larger ones the heap grows, and nothing is read faster. */
const CHUNK_BYTES = 32 * 1024;

/** The bytes of a payout file, which can be read more than once. */
export interface PayoutSource {
  readonly name: string;
  /** Bytes, where they are known before reading. */
  readonly bytes: number | null;
  /** A piece is only good until the next one is asked for. */
  chunks(): AsyncIterable<Buffer>;
}

/**
 * A regular file by its path. Throws a Refusal (file refused) for what cannot be opened or is none: a folder, a pipe, a
 * device.
 */
export async function openPayoutSource(path: string): Promise<PayoutSource> {
  const handle = await openRegularFile(path);
  try {
    const { size } = await handle.stat();
    return { name: basename(path), bytes: size, chunks: () => readChunks(path) };
  } finally {
    await handle.close();
  }
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const handle = await openRegularFile(path);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  try {
    while (true) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw refuseSource(path, error);
  } finally {
    await handle.close();
  }
}

/** Throws a Refusal (file refused) where there is no file that can be read. */
export async function requirePayoutFile(path: string): Promise<void> {
  await (await openRegularFile(path)).close();
}

/** Without O_NONBLOCK the opening of a named pipe would wait for a writer. */
async function openRegularFile(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw refuseSource(path, error);
  });
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new Refusal(
    `The payout file ${path} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}.`,
    'Name the CSV file itself.',
    { kind: 'fileRefused' },
  );
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'does not exist'],
  ['EACCES', 'may not be read by this user'],
  ['EPERM', 'may not be read by this user'],
  ['ENAMETOOLONG', 'has too long a name'],
]);

function refuseSource(path: string, cause: unknown): Refusal {
  const reason = REASONS.get(codeOf(cause) ?? '') ?? `cannot be read (${codeOf(cause) ?? 'unknown reason'})`;
  return new Refusal(`The payout file ${path} ${reason}.`, 'Check the path and the rights of the file.', {
    kind: 'fileRefused',
    cause,
  });
}
