import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ifThere } from '../../files.ts';
import type { Run } from '../../payout.ts';

/** One file of a report that was written. */
export interface ReportFile {
  readonly version: number;
  readonly ending: 'csv' | 'json';
}

export type ReportCopy =
  | { readonly kind: 'found'; readonly name: string; readonly bytes: number; readonly content: Readable }
  /** No such report was written; or it lies in another folder than this one. */
  | { readonly kind: 'never-written' | 'elsewhere' }
  /** The file is not the one that was written. */
  | { readonly kind: 'altered' };

/**
 * Opens a report of a run that lies in a folder, if its SHA-256 is the one that the ledger noted. What is read is what was
 * checked: the file is opened once.
 */
export async function openReportCopy(
  folder: string,
  { id, reportHashes }: Pick<Run, 'id' | 'reportHashes'>,
  { version, ending }: ReportFile,
): Promise<ReportCopy> {
  const noted = reportHashes.find((one) => one.version === version);
  if (noted === undefined) return { kind: 'never-written' };
  const name = `${id}.v${version}.${ending}`;
  const file = await ifThere(open(join(folder, name), 'r'));
  if (file === undefined) return { kind: 'elsewhere' };
  try {
    if ((await digestOf(file)) === noted[ending]) {
      const { size: bytes } = await file.stat();
      return { kind: 'found', name, bytes, content: file.createReadStream({ start: 0 }) };
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return { kind: 'altered' };
}

async function digestOf(file: FileHandle): Promise<string> {
  const digest = createHash('sha256');
  const chunks: AsyncIterable<Buffer> = file.createReadStream({ start: 0, autoClose: false });
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}
