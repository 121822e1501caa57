import { existsSync, mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { systemRandom } from './clock.ts';
import { codeOf } from './refusal.ts';

const OWNER_ONLY = 0o600;

/**
 * Writes a file that appears whole, synced, under its name or not at all; one that has the name is replaced. Throws what the
 * file system says, leaving no half file. `mode`: readable by its owner only, unless given.
 */
export async function writeAtomically(
  path: string,
  content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  { mode = OWNER_ONLY }: { readonly mode?: number } = {},
): Promise<void> {
  const target = resolve(path);
  const part = join(dirname(target), `.${basename(target)}.${systemRandom.bytes(4).toString('hex')}.part`);
  try {
    await writeSynced(part, content, mode);
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}

async function writeSynced(
  path: string,
  content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  mode: number,
): Promise<void> {
  await using file = await open(path, 'wx', mode);
  for await (const chunk of content) await file.appendFile(chunk);
  await file.sync();
}

/**
 * Makes a folder for its owner alone, and those above it that are missing, one by one: Node's own recursion never ends in /proc, and
 * on a disk that can only be read it says ENOENT. Throws what the file system says.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    try {
      mkdirSync(one, { mode: 0o700 });
    } catch (error) {
      // Somebody else made it at this moment.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  // It is there: this throws where it is no folder.
  mkdirSync(path, { recursive: true });
}

/** Makes the names in a folder last. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

/** What the file system gives; undefined where the file or folder is not there. Throws its other faults. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
