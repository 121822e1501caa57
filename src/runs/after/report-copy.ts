import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { ifThere } from '../../files.ts';
import type { ReportHashes, Run } from '../../payout.ts';
import { readSignature } from '../../report/signing/signature.ts';

/** One file of a report that was written. */
export interface ReportFile {
  readonly version: number;
  readonly ending: 'csv' | 'json' | 'sig';
}

export type ReportCopy =
  | { readonly kind: 'found'; readonly name: string; readonly bytes: number; readonly content: Readable }
  /** No such report was written; or it lies in another folder than this one. */
  | { readonly kind: 'never-written' | 'elsewhere' }
  /** The file is not the one that was written; the report has no signature here. */
  | { readonly kind: 'altered' | 'unsigned' };

/**
 * Opens a report of a run that lies in a folder, if its SHA-256 is the one that the ledger noted; a signature, if those that it
 * names are. What is read is what was checked: the file is opened once.
 */
export async function openReportCopy(
  folder: string,
  { id, reportHashes }: Pick<Run, 'id' | 'reportHashes'>,
  { version, ending }: ReportFile,
): Promise<ReportCopy> {
  const noted = reportHashes.find((one) => one.version === version);
  if (noted === undefined) return { kind: 'never-written' };
  const name = `${id}.v${version}.${ending}`;
  if (ending === 'sig') return await openSignature(join(folder, name), noted);
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

async function openSignature(path: string, noted: ReportHashes): Promise<ReportCopy> {
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return { kind: 'unsigned' };
  if (!isOf(noted, text)) return { kind: 'altered' };
  const content = Buffer.from(text);
  return { kind: 'found', name: basename(path), bytes: content.length, content: Readable.from([content]) };
}

/** Whether a signature says of the files what the ledger noted; whether it is true only a public key tells. */
function isOf({ csv, json }: ReportHashes, text: string): boolean {
  const named = readSignature(text)?.files.map(({ sha256 }) => sha256);
  return named?.length === 2 && named[0] === csv && named[1] === json;
}

/** The versions of a run's report whose signature lies in a folder. */
export async function signedVersions(
  folder: string,
  { id, reportHashes }: Pick<Run, 'id' | 'reportHashes'>,
): Promise<ReadonlySet<number>> {
  const names = new Set(await ifThere(readdir(folder)));
  return new Set(reportHashes.map(({ version }) => version).filter((version) => names.has(`${id}.v${version}.sig`)));
}

async function digestOf(file: FileHandle): Promise<string> {
  const digest = createHash('sha256');
  const chunks: AsyncIterable<Buffer> = file.createReadStream({ start: 0, autoClose: false });
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}
