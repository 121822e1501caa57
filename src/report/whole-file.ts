import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

const FILE_MODE = 0o600;

/** So that no two files on their way have one name. */
let begun = 0;

/**
 * Writes a file that appears whole, synced, under its name or not at all, readable by its owner only; one that has the
 * name is replaced. Throws what the file system says, leaving no half file.
 */
export async function writeWholeFile(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  const target = resolve(path);
  const folder = dirname(target);
  const part = join(folder, `.${basename(target)}.${process.pid}-${++begun}.part`);
  await rm(part, { force: true });
  try {
    await writeSynced(part, chunks);
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeSynced(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for await (const chunk of chunks) await file.appendFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
