import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifThere, syncFolder } from '../files.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { type AuditRecord, readEntry } from './entry.ts';
import { byTime } from './missed.ts';

/** Where a data directory keeps its copies of a ledger's audit log. */
export function copiesFile(dataDir: string, instance: string): string {
  return join(dataDir, 'audit', `${encodeURIComponent(instance)}.log`);
}

/**
 * The entries that lie in the copy, in the order of the file; none where there is no file. A line that cannot be read was
 * torn by the end of its process or of the disk's space: its entry comes again, whole, after it.
 */
export async function readCopies(file: string): Promise<AuditRecord[]> {
  const text = (await ifThere(readFile(file, 'utf8'))) ?? '';
  return text
    .split('\n')
    .map(readEntry)
    .filter((record) => record !== undefined);
}

/** The entries of all ledgers to which the directory belonged before this one, each of which was lost. */
export async function readFormerCopies(dataDir: string, instance: string): Promise<readonly AuditRecord[]> {
  const own = copiesFile(dataDir, instance);
  const folder = dirname(own);
  const names = (await ifThere(readdir(folder))) ?? [];
  const files = names.filter((name) => name.endsWith('.log')).map((name) => join(folder, name));
  const copies = await Promise.all(files.filter((file) => file !== own).map(readCopies));
  return byTime(copies.flat());
}

/**
 * Appends lines to the copy (mode 600) and syncs file and folders. Each line begins with a line end, so that a torn one
 * before it cannot swallow it; all go in one write, so that processes of one data directory can share the file. Throws a
 * Refusal when they are not known to be on disk.
 */
export async function appendCopies(file: string, lines: readonly string[]): Promise<void> {
  const folder = dirname(file);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await appendSynced(file, lines.map((line) => `\n${line}`).join(''));
    await syncFolder(folder);
    await syncFolder(dirname(folder));
  } catch (cause) {
    throw new Refusal(
      `The copy of the audit log in ${folder} cannot be written (${codeOf(cause) ?? 'error'}).`,
      'The entry is in the audit log in Redis; its copy follows with the next one, once the folder can be written.',
      { cause },
    );
  }
}

async function appendSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, 'a', 0o600);
  const bytes = Buffer.from(text);
  const { bytesWritten } = await file.write(bytes);
  if (bytesWritten !== bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`);
  await file.sync();
}
