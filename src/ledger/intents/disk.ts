import { statfs } from 'node:fs/promises';

/** The disk below a folder. */
export interface Disk {
  /** As `statfs(2)` has it. */
  readonly type: number;
  /** For this user. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** Throws what the file system says, also for a folder that is not there. */
export async function readDisk(folder: string): Promise<Disk> {
  const { type, bavail, blocks, bsize } = await statfs(folder);
  return { type, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
