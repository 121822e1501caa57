import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ifThere, syncFolder } from '../files.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { type Entry, INBOX_FOLDERS, type InboxSource, type OpenedFile, type Opening } from './source.ts';

const POLL_MS = 1000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const ROOT = 0n;
const GROUP_READS = 0o040;
const GROUP_WRITES = 0o020n;
const WORLD_WRITES = 0o002n;
const CHUNK_BYTES = 256 * 1024;

/** An inbox in a folder of this machine, or on a share that is mounted. */
export function openFolder(path: string): InboxSource {
  const rawNames = new Map<string, Buffer>();
  /** A name that is no UTF-8 is told with signs for its lost characters; its own bytes find it again. */
  const at = (below: string): string | Buffer => {
    const raw = rawNames.get(below);
    return raw === undefined ? join(path, below) : Buffer.concat([Buffer.from(`${join(path, dirname(below))}/`), raw]);
  };

  const dropFolder = async (): Promise<Owned | undefined> => await ifThere(stat(join(path, 'in'), { bigint: true }));

  async function names(folder: string): Promise<string[]> {
    const found = await unless(['ENOENT', 'ENOTDIR'], readdir(at(folder), { encoding: 'buffer' }));
    return (found ?? []).map((raw) => {
      const name = raw.toString('utf8');
      if (!raw.equals(Buffer.from(name))) rawNames.set(`${folder}/${name}`, raw);
      return name;
    });
  }

  return {
    name: path,
    pollMs: POLL_MS,
    prepare: () => prepareFolders(path),
    names,
    async list(folder) {
      const droppers = await dropFolder();
      const looks = (await names(folder)).map(async (name) => {
        const stats = await ifThere(lstat(at(`${folder}/${name}`), { bigint: true }));
        return stats === undefined ? [] : [entryOf(name, stats, droppers)];
      });
      return (await Promise.all(looks)).flat();
    },
    has: async (below) => (await ifThere(lstat(at(below)))) !== undefined,
    async makeFolder(below) {
      return await done(['ENOENT', 'EEXIST'], mkdir(at(below), { mode: FOLDER_MODE }));
    },
    async move(from, to) {
      const isMoved = await done(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR'], rename(at(from), at(to)));
      rawNames.delete(from);
      if (isMoved) await ifThere(syncFolder(dirname(join(path, to))));
      return isMoved;
    },
    async remove(below) {
      const stats = await ifThere(lstat(at(below)));
      if (stats === undefined) return true;
      const removing = stats.isDirectory() ? rmdir(at(below)) : unlink(at(below));
      return await done(['ENOTEMPTY', 'EEXIST'], ifThere(removing));
    },
    open: async (below) => await openRegular(join(path, below), await dropFolder()),
    async write(below, { chunks, folder }) {
      const handle = await ifThere(open(at(below), 'wx', FILE_MODE));
      if (handle === undefined) return false;
      await using file = handle;
      for await (const chunk of chunks) await file.writeFile(chunk);
      await openToReaders(file, join(path, folder));
      await file.sync();
      return true;
    },
    async close() {},
  };
}

/** The act's value, or undefined when it failed for one of these reasons. */
async function unless<T>(codes: readonly string[], act: Promise<T>): Promise<T | undefined> {
  try {
    return await act;
  } catch (error) {
    if (codes.includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

async function done(codes: readonly string[], act: Promise<unknown>): Promise<boolean> {
  return (
    (await unless(
      codes,
      act.then(() => true),
    )) ?? false
  );
}

type Owned = Pick<BigIntStats, 'uid' | 'gid' | 'mode'>;

/**
 * Whether who owns a file may drop it into a folder: whoever owns that folder, shares its group where that may write to it,
 * is this process's user `self` or root (docs/security.md).
 */
export function mayDrop(file: Owned, folder: Owned, self: number): boolean {
  const isOfGroup = (folder.mode & GROUP_WRITES) !== 0n && file.gid === folder.gid;
  return isOfGroup || [folder.uid, BigInt(self), ROOT].includes(file.uid);
}

function entryOf(name: string, stats: BigIntStats, dropFolder: Owned | undefined): Entry {
  return {
    name,
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    signature: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}`,
    links: stats.isFile() ? Number(stats.nlink) : null,
    isWorldWritable: (stats.mode & WORLD_WRITES) !== 0n,
    isForeign: dropFolder !== undefined && !mayDrop(stats, dropFolder, process.getuid?.() ?? 0),
    owner: Number(stats.uid),
  };
}

function kindOf(stats: BigIntStats): Entry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'special';
}

/** A link that took the file's place is not opened; without O_NONBLOCK a pipe would wait for its writer (docs/security.md). */
async function openRegular(path: string, dropFolder: Owned | undefined): Promise<Opening> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return { kind: 'opened', file: openedFile(handle, basename(path), dropFolder) };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EACCES' || code === 'EPERM') return { kind: 'unreadable' };
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'EMLINK' || code === 'ENXIO') return { kind: 'gone' };
    throw error;
  }
}

function openedFile(handle: FileHandle, name: string, dropFolder: Owned | undefined): OpenedFile {
  return {
    look: async () => entryOf(name, await handle.stat({ bigint: true }), dropFolder),
    async *chunks() {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      while (true) {
        const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    },
    close: () => handle.close(),
  };
}

/** Whoever the folder lets in through its group may read the answers in it. They hold personal data: nobody else may. */
async function openToReaders(handle: FileHandle, folder: string): Promise<void> {
  const { mode, gid } = await stat(folder);
  if ((mode & GROUP_READS) === 0) return;
  const { uid } = await handle.stat();
  // Only a member may give a file to a group; the owner reads it in any case.
  await unless(
    ['EPERM'],
    handle.chown(uid, gid).then(() => handle.chmod(FILE_MODE | GROUP_READS)),
  );
}

/** Makes the folders that are missing, but none above the inbox: a path that was mistyped would be watched for ever. */
async function prepareFolders(path: string): Promise<boolean> {
  return await asInbox(path, async () => {
    const isNew = await makeInbox(path);
    await examine(path);
    for (const folder of INBOX_FOLDERS) await unless(['EEXIST'], mkdir(join(path, folder), { mode: FOLDER_MODE }));
    await examine(path);
    for (const folder of ['', ...INBOX_FOLDERS]) {
      await access(join(path, folder), constants.R_OK | constants.W_OK | constants.X_OK);
    }
    return isNew;
  });
}

/**
 * Throws a Refusal for an inbox that is not there, or that is no safe one as it is. It makes nothing: folders that
 * an inbox lacks are made when it is read.
 */
export async function examineInbox(path: string): Promise<void> {
  await asInbox(path, async () => {
    if (!(await examine(path))) {
      throw refusePlace(
        `The inbox ${path} is not there`,
        `Name the folder that files are dropped into, or make it: ${makeWords(path)}`,
      );
    }
  });
}

/** Runs work on the folders of an inbox; what the system refuses becomes a Refusal. */
async function asInbox<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal || codeOf(error) === undefined) throw error;
    throw refusePlace(
      `The inbox ${path} cannot be used (${codeOf(error)})`,
      'Name a folder that this user may read and write.',
      error,
    );
  }
}

/** Whether it had to be made. */
async function makeInbox(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: FOLDER_MODE });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (codeOf(error) !== 'ENOENT') throw error;
    throw refusePlace(
      `The inbox ${path} is not there, and neither is ${dirname(path)}`,
      `Check the path, and whether its file system is mounted. If it is right, make the folder: ${makeWords(path)}`,
      error,
    );
  }
}

function makeWords(path: string): string {
  return `mkdir -p -m 700 ${JSON.stringify(path)}`;
}

/** Looks at the folders that are there, and refuses what is no safe inbox. False: the inbox itself is not there. */
async function examine(path: string): Promise<boolean> {
  const devices = new Set<bigint>();
  for (const folder of ['', ...INBOX_FOLDERS]) {
    const stats = await ifThere(lstat(join(path, folder), { bigint: true }));
    if (stats === undefined && folder === '') return false;
    if (stats === undefined) continue;
    examineFolder(join(path, folder), stats);
    devices.add(stats.dev);
  }
  if (devices.size < 2) return true;
  throw refusePlace(
    `The folders of ${path} lie on different file systems`,
    'Put in, claimed, done, refused and reports on one file system: files are moved between them in one step.',
  );
}

function examineFolder(path: string, stats: BigIntStats): void {
  if (stats.isSymbolicLink()) {
    throw refusePlace(`${path} cannot be used: it is a link`, 'Name the folder itself, or put a folder in its place.');
  }
  if (!stats.isDirectory()) {
    throw refusePlace(
      `${path} cannot be used: it is no folder`,
      `Name another inbox, or put a folder in its place: ${makeWords(path)}`,
    );
  }
  if ((stats.mode & WORLD_WRITES) !== 0n) {
    throw refusePlace(
      `Everybody on this machine may write to ${path}`,
      `What is dropped there is paid: let only those write who may hand in payouts (chmod o-w).`,
    );
  }
}

function refusePlace(message: string, remedy: string, cause?: unknown): Refusal {
  return new Refusal(`${message}.`, remedy, { cause });
}
