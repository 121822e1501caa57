import { createHash } from 'node:crypto';
import { constants, copyFile, mkdir, open, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { syncFolder } from '../../files.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import type { RedisFiles } from './snapshot.ts';

const READ_BYTES = 1024 * 1024;

/** What is copied beside Redis, in this order; what is not there is left out. */
const IN_DATA_DIR = ['intents', 'audit', 'ledger.json', 'peers.json'] as const;

export interface BackupSource {
  readonly dataDir: string;
  readonly reportDir: string;
  /** Makes the snapshot of Redis and gives its files; undefined where they are not to be seen on this host. */
  readonly saveRedis: () => Promise<RedisFiles | undefined>;
  /** What the backup is of, for whoever finds it. */
  readonly about: Readonly<Record<string, unknown>>;
}

/** What a backup came to: how many files, and how many bytes they have. */
export interface BackupMade {
  readonly files: number;
  readonly bytes: number;
  readonly hasRedis: boolean;
}

/**
 * Writes a backup into a folder that is not there yet; it has its name only once all of it is on disk. Redis comes first
 * and the intent logs after it: so each arming that the copy of Redis lacks and that was made before the logs were copied
 * is in the logs, and is unknown after a restore. The other way round it would be in neither. `SHA256SUMS` is what
 * `sha256sum -c` reads. Throws a Refusal for a folder that cannot be used.
 */
export async function writeBackup(source: BackupSource, target: string): Promise<BackupMade> {
  requireElsewhere(source, target);
  const partial = `${resolve(target)}.partial`;
  await makeTarget(target, partial);
  const sums: FileSum[] = [];
  const redis = await source.saveRedis();
  if (redis !== undefined) sums.push(await copyOne(redis.snapshot, partial, join('redis', redis.base)));
  if (redis?.manifest !== undefined) {
    sums.push(await writeOne(redis.manifest.text, partial, join('redis', redis.manifest.path)));
  }
  for await (const [from, to] of filesToCopy(source)) sums.push(await copyOne(from, partial, to));
  sums.push(await writeOne(`${JSON.stringify(source.about, null, 2)}\n`, partial, 'backup.json'));
  await writeOne(sums.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join(''), partial, 'SHA256SUMS');
  await syncFolders(partial);
  await rename(partial, resolve(target));
  await syncFolder(dirname(resolve(target)));
  return { files: sums.length, bytes: sums.reduce((all, { bytes }) => all + bytes, 0), hasRedis: redis !== undefined };
}

/** A copy that lies in what it copies would be lost with it. */
function requireElsewhere({ dataDir, reportDir }: BackupSource, target: string): void {
  const isBelow = (folder: string): boolean => !relative(resolve(folder), resolve(target)).startsWith('..');
  if (!isBelow(dataDir) && !isBelow(reportDir)) return;
  throw refuseTarget(target, 'it lies in what is to be backed up');
}

async function makeTarget(target: string, partial: string): Promise<void> {
  const found = await stat(target).catch(() => undefined);
  if (found !== undefined) throw refuseTarget(target, 'it is there already');
  try {
    await mkdir(dirname(partial), { recursive: true });
    await mkdir(partial, { mode: 0o700 });
  } catch (cause) {
    const isThere = codeOf(cause) === 'EEXIST';
    throw refuseTarget(target, isThere ? `${partial} is there` : (codeOf(cause) ?? 'error'), cause);
  }
}

function refuseTarget(target: string, why: string, cause?: unknown): Refusal {
  return new Refusal(
    `No backup can be written to ${target}: ${why}.`,
    'Name a folder that does not exist yet, on another disk; remove what an interrupted backup left (.partial).',
    { cause },
  );
}

interface FileSum {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

async function copyOne(from: string, folder: string, path: string): Promise<FileSum> {
  const to = await placeFor(folder, path);
  await copyFile(from, to, constants.COPYFILE_EXCL);
  return await sealOne(to, path);
}

async function writeOne(text: string, folder: string, path: string): Promise<FileSum> {
  const to = await placeFor(folder, path);
  await writeFile(to, text, { flag: 'wx', mode: 0o600 });
  return await sealOne(to, path);
}

async function placeFor(folder: string, path: string): Promise<string> {
  const to = join(folder, path);
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  return to;
}

/** Syncs a file and hashes what is really in it. */
async function sealOne(file: string, path: string): Promise<FileSum> {
  const hash = createHash('sha256');
  const handle = await open(file, 'r+');
  let bytes = 0;
  try {
    await handle.chmod(0o600);
    await handle.sync();
    const buffer = Buffer.alloc(READ_BYTES);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, bytes);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
  return { path, sha256: hash.digest('hex'), bytes };
}

/** Files of the data directory and of the reports, each with its path in the backup. */
async function* filesToCopy({ dataDir, reportDir }: BackupSource): AsyncGenerator<readonly [string, string]> {
  for (const name of IN_DATA_DIR) {
    for (const file of await filesBelow(join(dataDir, name))) yield [file, relative(dataDir, file)];
  }
  for (const file of await filesBelow(reportDir)) {
    // A report that is being written has another name until it is whole.
    if (/\.(csv|json)$/.test(file)) yield [file, join('reports', relative(reportDir, file))];
  }
}

/** The files below a folder, or the file itself; none where nothing is. */
async function filesBelow(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  if (found.isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

async function syncFolders(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) await syncFolder(join(entry.parentPath, entry.name));
  await syncFolder(folder);
}
