import { existsSync } from 'node:fs';
import { chmod, type FileHandle, link, open, readFile, rename, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Random } from '../../clock.ts';
import { ifThere, makeFolder, syncFolder } from '../../files.ts';
import { codeOf, Refusal } from '../../refusal.ts';

/** What a data directory knows of itself: its own id, and the instance of the ledger that it belongs to. */
export interface DataDir {
  readonly path: string;
  readonly id: string;
  /** Empty before the directory was used with a ledger. */
  readonly instance: string;
  /** Whether the folder's own file says all this, on its very place on the disk. */
  readonly isDataDir: boolean;
  /** The id that the folder had before it was found to be a copy; its own file may say so still. */
  readonly formerId: string | null;
}

const schema = z.object({
  id: z.string().min(1),
  instance: z.string(),
  /** Of this very file: a copy of it has another. Absent in files of an earlier payrun. */
  inode: z.string().optional(),
  /** When this very file was made, in ns: a copy may be given an inode that is free again. Empty where it cannot be told. */
  born: z.string().default(''),
});

const IDENTITY = 'ledger.json';

const OTHERS = 0o007;
const GROUP = 0o070;
const OWNER = 0o700;

const VOLATILE_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);

/** A fault's code, and what it means where that is not plain. */
export function faultWords(fault: unknown): string {
  const code = codeOf(fault) ?? 'error';
  return code === 'EROFS' ? `${code}: its disk is read-only` : code;
}

/** Whether a folder is a data directory already. */
export function isDataDir(path: string): boolean {
  return existsSync(join(path, IDENTITY));
}

/**
 * Opens a data directory (mode 700), making it if it is not there. A volatile one is refused with a real service: intent
 * logs that a power cut takes away prove nothing. `closesToOthers`: one that others may look into is closed to them.
 */
export async function openDataDir(
  path: string,
  options: { random: Random; requirePersistentDisk: boolean; closesToOthers?: boolean },
): Promise<DataDir> {
  try {
    makeFolder(path);
  } catch (cause) {
    throw new Refusal(
      `The data directory ${path} cannot be made (${faultWords(cause)}).`,
      'Set PAYRUN_DATA_DIR to a directory that this user may write.',
      { cause },
    );
  }
  if (options.closesToOthers === true) await closeToOthers(path);
  const volatile = VOLATILE_FILE_SYSTEMS.get((await statfs(path)).type);
  if (options.requirePersistentDisk && volatile !== undefined) {
    throw new Refusal(
      `The data directory ${path} is on ${volatile}, which loses its content in a power cut.`,
      'Set PAYRUN_DATA_DIR to a directory on a disk.',
    );
  }
  const known = await readIdentity(path);
  const fresh = { path, id: options.random.uuid(), instance: '', isDataDir: false, formerId: null };
  if (known === undefined) return fresh;
  const { id, instance, inode } = known;
  if (inode === 'another') return { ...fresh, instance, formerId: id };
  return { path, id, instance, isDataDir: inode === 'its own', formerId: null };
}

/** Of a folder of somebody else, as volumes are, a group may be given it. Throws a Refusal where all others look into it. */
async function closeToOthers(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  const isOwn = uid === process.getuid?.();
  if (isOwn && (mode & (OTHERS | GROUP)) !== 0) await chmod(path, mode & OWNER);
  if (isOwn || (mode & OTHERS) === 0) return;
  throw new Refusal(
    `Others may look into the data directory ${path}, which belongs to another user.`,
    `Close it to them: chmod -R o= ${path}, as its owner.`,
  );
}

/**
 * Writes down to which ledger the directory belongs, durably and before anything is armed from it. Only a ledger that was
 * adopted takes the place of another one. A directory that was copied becomes one of its own, with a new id.
 */
export async function bindDataDir(dataDir: DataDir, instance: string): Promise<DataDir> {
  if (dataDir.isDataDir && dataDir.instance === instance) return dataDir;
  const target = join(dataDir.path, IDENTITY);
  const draft = `${target}.${dataDir.id}`;
  const file = await open(draft, 'w', 0o600);
  try {
    const { ino } = await file.stat();
    const identity = { id: dataDir.id, instance, inode: String(ino), born: await bornAt(file) };
    await file.writeFile(`${JSON.stringify(identity)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  const there = await readIdentity(dataDir.path);
  if (there !== undefined && there.id === dataDir.formerId) await setAside(dataDir.path, there.id);
  if (there?.id === dataDir.id) await rename(draft, target);
  else await linkOnce(draft, target);
  await syncFolder(dataDir.path);
  const bound = await readIdentity(dataDir.path);
  return {
    ...dataDir,
    id: bound?.id ?? dataDir.id,
    instance: bound?.instance ?? instance,
    isDataDir: true,
    formerId: null,
  };
}

/** Throws a Refusal for a directory that never belonged to a ledger: there is nothing to adopt for it. */
export function requireFormerLedger({ path, instance }: DataDir): void {
  if (instance !== '') return;
  throw new Refusal(
    `The data directory ${path} never belonged to a ledger.`,
    'Set PAYRUN_DATA_DIR to the one whose Redis was lost; there is nothing to adopt here.',
  );
}

const CHANGES_MAX = 1000;

/** Empty where no times of birth are kept: Node may give that of the last change in their place, which goes on. */
async function bornAt(file: FileHandle): Promise<string> {
  const first = await file.stat({ bigint: true });
  for (let changes = 0; changes < CHANGES_MAX; changes++) {
    await file.chmod(0o600);
    const { birthtimeNs, ctimeNs } = await file.stat({ bigint: true });
    if (ctimeNs !== first.ctimeNs)
      return birthtimeNs === first.birthtimeNs && birthtimeNs > 0n ? String(birthtimeNs) : '';
  }
  return '';
}

/** The same directory under an id of its own: another host uses the present one. */
export function renewDataDir(dataDir: DataDir, random: Random): DataDir {
  return { ...dataDir, id: random.uuid(), isDataDir: false, formerId: dataDir.id };
}

/** Of several processes that do this at once, one moves the file; all of them go on with what stands there afterwards. */
async function setAside(path: string, formerId: string): Promise<void> {
  await ifThere(rename(join(path, IDENTITY), join(path, `${IDENTITY}.was-${formerId}`)));
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

interface Identity {
  readonly id: string;
  readonly instance: string;
  readonly inode: 'its own' | 'another' | 'not said';
}

/** Throws a Refusal for a file that is not as payrun writes it, in one step: somebody changed it, or the disk lost it. */
function readText(path: string, text: string): z.output<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Refusal(
      `${path} is damaged: it is not as payrun wrote it.`,
      `Put this file back from a copy of the data directory, and no other one. ${withoutCopy(path)}`,
    );
  }
}

/** The private Redis lies in the directory: in a new one nothing would be known of what was paid. */
function withoutCopy(path: string): string {
  return existsSync(join(dirname(path), 'redis'))
    ? 'Where there is none, move this file out of the directory, start a worker, and while it runs let two people write the former id off. Never name a new PAYRUN_DATA_DIR: the ledger is in this one.'
    : 'Where there is none, keep the directory as it is, start with a new PAYRUN_DATA_DIR, and let two people write the old one off.';
}

async function readIdentity(path: string): Promise<Identity | undefined> {
  const target = join(path, IDENTITY);
  const text = await ifThere(readFile(target, 'utf8'));
  const found = text === undefined ? undefined : await ifThere(stat(target, { bigint: true }));
  if (text === undefined || found === undefined) return undefined;
  const { id, instance, inode, born } = readText(target, text);
  if (inode === undefined) return { id, instance, inode: 'not said' };
  const { ino, birthtimeNs } = found;
  const isOwn = inode === String(ino) && (born === '' || birthtimeNs === 0n || born === String(birthtimeNs));
  return { id, instance, inode: isOwn ? 'its own' : 'another' };
}
