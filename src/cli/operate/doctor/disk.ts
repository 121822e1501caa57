import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Disk } from '../../../ledger/intents/disk.ts';

/** Types of `statfs(2)` that are met most, by their names. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x01021994, 'tmpfs (a power cut empties it)'],
  [0x858458f6, 'ramfs (a power cut empties it)'],
  [0x794c7630, 'overlay (gone with its container)'],
  [0x6969, 'nfs'],
  [0xfe534d42, 'smb'],
  [0x65735546, 'fuse'],
]);

/** The file system's name, or its type in hexadecimal. */
export function describeDisk({ type }: Pick<Disk, 'type'>): string {
  return FILE_SYSTEMS.get(type) ?? `a file system of type 0x${type.toString(16)}`;
}

/** Writes a file of a few bytes, syncs it and removes it. Throws what the file system says. */
export async function proveWritable(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(4).toString('hex')}`);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile('payrun doctor\n');
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
