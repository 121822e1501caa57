import { posix } from 'node:path';
import type { OpenedFile } from '../source.ts';
import { type Attributes, entryOf } from './entry.ts';
import type { SftpSession } from './session.ts';

const CHUNK_BYTES = 256 * 1024;
const FILE_MODE = 0o600;

export async function openRemoteFile({ call }: SftpSession, path: string): Promise<OpenedFile> {
  const handle = await call<Buffer>((calls, done) => calls.open(path, 'r', done));
  return {
    look: async () => entryOf(posix.basename(path), await call<Attributes>((calls, done) => calls.fstat(handle, done))),
    async *chunks() {
      for (let position = 0; ; ) {
        const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
        const bytes = await call<number>((calls, done) =>
          calls.read(handle, buffer, 0, CHUNK_BYTES, position, (error, count) =>
            // The end is told as an error.
            isEnd(error) ? done(undefined, 0) : done(error, count),
          ),
        );
        if (bytes === 0) return;
        position += bytes;
        yield buffer.subarray(0, bytes);
      }
    },
    // Its connection may be gone, and the handle with it.
    close: async () =>
      await call<void>((calls, done) => calls.close(handle, (error) => done(error, undefined))).catch(() => {}),
  };
}

/** Writes a new file, synced where the server knows how to. */
export async function writeRemoteFile(
  { call }: SftpSession,
  path: string,
  { chunks, mode }: { chunks: Iterable<Buffer> | AsyncIterable<Buffer>; mode: number },
): Promise<void> {
  const handle = await call<Buffer>((calls, done) => calls.open(path, 'wx', FILE_MODE, done));
  try {
    let position = 0;
    for await (const chunk of chunks) {
      await call<void>((calls, done) =>
        calls.write(handle, chunk, 0, chunk.length, position, (error) => done(error, undefined)),
      );
      position += chunk.length;
    }
    await call<void>((calls, done) => calls.fsetstat(handle, { mode }, (error) => done(error, undefined)));
    await call<void>((calls, done) => {
      unlessUnknown(
        () => calls.ext_openssh_fsync(handle, (error) => done(error, undefined)),
        () => done(undefined, undefined),
      );
    });
  } finally {
    await call<void>((calls, done) => calls.close(handle, (error) => done(error, undefined)));
  }
}

/** In one step where the server has OpenSSH's extension; else as it does by itself, which is not to replace anything. */
export async function renameRemote({ call }: SftpSession, from: string, to: string): Promise<void> {
  await call<void>((calls, done) => {
    const told = (error: Error | null | undefined): void => done(error, undefined);
    unlessUnknown(
      () => calls.ext_openssh_rename(from, to, told),
      () => calls.rename(from, to, told),
    );
  });
}

function unlessUnknown(extension: () => void, plain: () => void): void {
  try {
    extension();
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('does not support this extended request')) throw error;
    plain();
  }
}

const END = 1;

function isEnd(error: Error | null | undefined): boolean {
  return error !== null && error !== undefined && 'code' in error && error.code === END;
}
