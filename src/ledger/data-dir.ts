import { link, mkdir, open, readFile, rename, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Random } from '../clock.ts';
import { codeOf, EXIT, Refusal } from '../refusal.ts';

/** What a data directory knows of itself: its own id, and the instance of the ledger that it belongs to. */
export interface DataDir {
  readonly path: string;
  readonly id: string;
  /** Empty before the directory was used with a ledger. */
  readonly instance: string;
}

const schema = z.object({ id: z.string().min(1), instance: z.string() });

const VOLATILE_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);

/**
 * Opens a data directory (mode 700), making it if it is not there. A volatile one is refused with a real service: intent
 * logs that a power cut takes away prove nothing (design 6).
 */
export async function openDataDir(path: string, options: { random: Random; mustLast: boolean }): Promise<DataDir> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new Refusal(`The data directory ${path} cannot be made (${codeOf(cause) ?? 'error'}).`, {
      exitCode: EXIT.usage,
      remedy: 'Set PAYRUN_DATA_DIR to a directory that this user may write.',
      cause,
    });
  }
  const volatile = VOLATILE_FILE_SYSTEMS.get((await statfs(path)).type);
  if (options.mustLast && volatile !== undefined) {
    throw new Refusal(`The data directory ${path} lies on ${volatile}, which a power cut empties.`, {
      exitCode: EXIT.usage,
      remedy: 'Set PAYRUN_DATA_DIR to a directory on a disk.',
    });
  }
  const known = await readIdentity(path);
  return known === undefined
    ? { path, id: options.random.uuid(), instance: '' }
    : { path, id: known.id, instance: known.instance };
}

/**
 * Writes down to which ledger the directory belongs, durably and before anything is armed from it. Only a ledger that was
 * adopted takes the place of another one.
 */
export async function bindDataDir(dataDir: DataDir, instance: string): Promise<DataDir> {
  if (dataDir.instance === instance) return dataDir;
  const target = join(dataDir.path, 'ledger.json');
  const draft = `${target}.${dataDir.id}`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify({ id: dataDir.id, instance })}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  if (dataDir.instance === '') await linkOnce(draft, target);
  else await rename(draft, target);
  await syncFolder(dataDir.path);
  return { ...dataDir, ...(await readIdentity(dataDir.path)) };
}

/** A link does not replace: of two processes that bind a new directory at once, both take the first one's id. */
async function linkOnce(draft: string, target: string): Promise<void> {
  try {
    await link(draft, target);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
}

/** Makes the names in a folder last. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readIdentity(path: string): Promise<z.infer<typeof schema> | undefined> {
  let text: string;
  try {
    text = await readFile(join(path, 'ledger.json'), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  return schema.parse(JSON.parse(text));
}
