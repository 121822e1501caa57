import { posix } from 'node:path';
import type { Clock } from '../../clock.ts';
import { Refusal } from '../../refusal.ts';
import { type Entry, INBOX_FOLDERS, type InboxSource } from '../source.ts';
import type { SftpAddress } from './address.ts';
import { type Attributes, kindOf, type Listed, listedEntries, STATUS, statusOf, WORLD_WRITES } from './entry.ts';
import { openRemoteFile, renameRemote, writeRemoteFile } from './files.ts';
import { openSftpSession, type SftpSession, type SftpSettings } from './session.ts';

const POLL_MS = 5000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const GROUP_READS = 0o040;

/**
 * An inbox on an SFTP server. The server has no number for a file, so one is known by its size and its time in seconds;
 * a link that takes a file's place is told by looks before and after the opening.
 */
export function openSftp(address: SftpAddress, settings: SftpSettings, clock: Clock): InboxSource {
  const session = openSftpSession(address, settings, clock);
  const at = (below: string): string => posix.join(address.path === '' ? '/' : address.path, below);

  async function list(folder: string): Promise<Entry[]> {
    const listing = session.call<Listed[]>((calls, done) => calls.readdir(at(folder), done));
    return listedEntries((await unless([STATUS.noSuchFile], listing)) ?? []);
  }

  return {
    name: `sftp://${address.user}@${address.host}:${address.port}${address.path}`,
    pollMs: POLL_MS,
    prepare: () => prepareFolders(session, at),
    list,
    names: async (folder) => (await list(folder)).map(({ name }) => name),
    has: async (below) => (await look(session, at(below))) !== undefined,
    makeFolder: (below) => makeFolder(session, at(below)),
    move: (from, to) => move(session, at(from), at(to)),
    remove: (below) => remove(session, at(below)),
    async open(below) {
      // To open a pipe, the server would wait for its writer.
      const attributes = await look(session, at(below));
      if (attributes === undefined || kindOf(attributes) !== 'file') return { kind: 'gone' };
      try {
        return { kind: 'opened', file: await openRemoteFile(session, at(below)) };
      } catch (error) {
        if (statusOf(error) === STATUS.permissionDenied) return { kind: 'unreadable' };
        if (statusOf(error) === STATUS.noSuchFile) return { kind: 'gone' };
        throw error;
      }
    },
    async write(below, { chunks, folder }) {
      const { mode = FOLDER_MODE } = (await look(session, at(folder))) ?? {};
      const writing = writeRemoteFile(session, at(below), { chunks, mode: FILE_MODE | (mode & GROUP_READS) });
      return (
        (await unless(
          [STATUS.noSuchFile],
          writing.then(() => true),
        )) ?? false
      );
    },
    close: () => session.close(),
  };
}

async function look(session: SftpSession, path: string): Promise<Attributes | undefined> {
  const looking = session.call<Attributes>((calls, done) => calls.lstat(path, done));
  return await unless([STATUS.noSuchFile], looking);
}

/** A server has one word for all that goes wrong: what is there afterwards tells what it was. */
async function move(session: SftpSession, from: string, to: string): Promise<boolean> {
  try {
    await renameRemote(session, from, to);
    return true;
  } catch (error) {
    const [source, target] = [await look(session, from), await look(session, to)];
    if (source === undefined || (target !== undefined && kindOf(target) === 'folder')) return false;
    if (target === undefined && (await look(session, posix.dirname(to))) === undefined) return false;
    if (target === undefined || statusOf(error) !== STATUS.failure) throw error;
  }
  // A server that never replaces a file: what is in the way is the same answer, from before a crash.
  await session.call<void>((calls, done) => calls.unlink(to, (error) => done(error, undefined)));
  await renameRemote(session, from, to);
  return true;
}

async function remove(session: SftpSession, path: string): Promise<boolean> {
  const attributes = await look(session, path);
  if (attributes === undefined) return true;
  const isFolder = kindOf(attributes) === 'folder';
  const removing = session.call<void>((calls, done) => {
    const told = (error: Error | null | undefined): void => done(error, undefined);
    if (isFolder) calls.rmdir(path, told);
    else calls.unlink(path, told);
  });
  try {
    await unless([STATUS.noSuchFile], removing);
    return true;
  } catch (error) {
    if (isFolder && statusOf(error) === STATUS.failure) return false;
    throw error;
  }
}

async function makeFolder(session: SftpSession, path: string): Promise<boolean> {
  const making = session.call<void>((calls, done) =>
    calls.mkdir(path, { mode: FOLDER_MODE }, (error) => done(error, undefined)),
  );
  try {
    await making;
    return true;
  } catch (error) {
    if (statusOf(error) === STATUS.noSuchFile || (await look(session, path)) !== undefined) return false;
    throw error;
  }
}

async function prepareFolders(session: SftpSession, at: (below: string) => string): Promise<boolean> {
  let isNew = false;
  for (const folder of ['', ...INBOX_FOLDERS]) {
    const path = at(folder);
    const before = await look(session, path);
    if (before === undefined) await makeFolder(session, path);
    if (folder === '') isNew = before === undefined;
    const there = before ?? (await look(session, path));
    if (there === undefined || kindOf(there) !== 'folder') {
      throw refusePlace(`${path} on the SFTP server is no folder`, 'Make it there, or name another inbox.');
    }
    if ((there.mode & WORLD_WRITES) !== 0) {
      throw refusePlace(
        `Everybody on the SFTP server may write to ${path}`,
        'What is dropped there is paid: let only those write who may hand in payouts (chmod o-w).',
      );
    }
  }
  return isNew;
}

function refusePlace(message: string, remedy: string): Refusal {
  return new Refusal(`${message}.`, remedy);
}

/** The answer, or undefined when it is one of these statuses. */
async function unless<T>(statuses: readonly number[], act: Promise<T>): Promise<T | undefined> {
  try {
    return await act;
  } catch (error) {
    if (statuses.includes(statusOf(error) ?? -1)) return undefined;
    throw error;
  }
}
