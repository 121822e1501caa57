import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, syncFolder, writeAtomically } from '../files.ts';
import { csvHeader, csvLines } from './csv.ts';
import { jsonHead, jsonRows, jsonTail } from './json.ts';
import type { ReportSource } from './source.ts';
import { concludeSummary, type ReportSummary } from './summary.ts';
import { openTally } from './tally/tally.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const PIECE_BYTES = 64 * 1024;

export interface ReportTarget {
  readonly folder: string;
  readonly runId: string;
  /** The number that the report shall have, from 1. */
  readonly version: number;
}

/** A report that lies in its folder. */
export interface WrittenFiles {
  readonly version: number;
  /** CSV first. */
  readonly paths: readonly string[];
  /** In hexadecimal. */
  readonly sha256: { readonly csv: string; readonly json: string };
  /** What the rows that were written add up to. */
  readonly summary: ReportSummary;
}

/** A report's two files under one naming. */
interface Pair {
  readonly csv: string;
  readonly json: string;
}

/**
 * Writes `<run id>.v<version>.csv` and `.json` and returns where they lie. Both come from one reading
 * of the source; they appear whole, synced, under their names or not at all, readable by their owner only; what this process left of
 * an earlier try is replaced. A version that is there with the same content is left as it is; one with other content is never
 * overwritten: the report gets the next free number instead. Throws what the file system says, leaving no half file.
 * Two processes may write reports of one run at once, but each then makes a version of its own.
 */
export async function writeReportFiles(
  makeSource: () => Promise<ReportSource>,
  target: ReportTarget,
): Promise<WrittenFiles> {
  await mkdir(target.folder, { recursive: true, mode: FOLDER_MODE });
  const wanted = pairOf(target);
  const parts: Pair = { csv: partName(target, 'csv'), json: partName(target, 'json') };
  try {
    const summary = await writeParts(await makeSource(), parts);
    const isFree = (await fits(parts.csv, wanted.csv)) && (await fits(parts.json, wanted.json));
    const version = isFree ? target.version : await nextVersion(target);
    const pair = pairOf({ ...target, version });
    await place(parts.csv, pair.csv);
    await place(parts.json, pair.json);
    await syncFolder(target.folder);
    const sha256 = { csv: await digestOf(pair.csv), json: await digestOf(pair.json) };
    return { version, paths: [pair.csv, pair.json], sha256, summary };
  } finally {
    await rm(parts.csv, { force: true });
    await rm(parts.json, { force: true });
  }
}

/** Writes `<run id>.v<version>.sig` whole, synced and for its owner only, and gives its path; one that is there stays as it is. */
export async function writeSignatureFile(target: ReportTarget, text: string): Promise<string> {
  const path = signaturePath(target);
  if ((await sizeOf(path)) !== undefined) return path;
  await writeAtomically(path, [text]);
  return path;
}

/** Where the signature of a report lies. */
function signaturePath(target: ReportTarget): string {
  return `${baseOf(target)}.sig`;
}

/** Throws for a run id that payrun never gives: it is part of a path, and Redis may have been written to by others. */
function baseOf({ folder, runId, version }: ReportTarget, lead = ''): string {
  if (!/^[\w-]+$/.test(runId)) throw new Error(`${JSON.stringify(runId)} is no run id`);
  return join(folder, `${lead}${runId}.v${version}`);
}

function pairOf(target: ReportTarget): Pair {
  const base = baseOf(target);
  return { csv: `${base}.csv`, json: `${base}.json` };
}

function partName(target: ReportTarget, format: keyof Pair): string {
  return `${baseOf(target, '.')}.${format}.${process.pid}.part`;
}

async function writeParts(source: ReportSource, parts: Pair): Promise<ReportSummary> {
  await using csv = await openPart(parts.csv);
  await using json = await openPart(parts.json);
  const tally = openTally();
  let first = true;
  await csv.appendFile(csvHeader());
  await json.appendFile(jsonHead(source));
  for await (const batch of source.rows) {
    if (batch.length === 0) continue;
    tally.add(batch);
    await csv.appendFile(csvLines(batch));
    await json.appendFile(jsonRows(batch, { first }));
    first = false;
  }
  const summary = await concludeSummary(source, tally.result());
  await json.appendFile(jsonTail(summary));
  await csv.sync();
  await json.sync();
  return summary;
}

/** A new file of our own; whatever had its name is gone. */
async function openPart(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx', FILE_MODE);
}

/** Whether the part may have the name: nobody has it, or a file with the same content. */
async function fits(part: string, path: string): Promise<boolean> {
  const size = await sizeOf(path);
  if (size === undefined) return true;
  return size === (await sizeOf(part)) && (await digestOf(path)) === (await digestOf(part));
}

async function place(part: string, path: string): Promise<void> {
  if ((await sizeOf(path)) === undefined) await rename(part, path);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await ifThere(stat(path)))?.size;
}

/** SHA-256 of a file, in lower-case hex. */
export async function digestOf(path: string): Promise<string> {
  await using file = await open(path);
  const digest = createHash('sha256');
  // One buffer for the whole file: a stream's own for each piece are memory outside the heap, which V8 tidies up seldom.
  const piece = Buffer.alloc(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(piece);
    if (bytesRead === 0) return digest.digest('hex');
    digest.update(piece.subarray(0, bytesRead));
  }
}

/** One above the highest version of the run that has a file in the folder. */
async function nextVersion({ folder, runId }: ReportTarget): Promise<number> {
  const prefix = `${runId}.v`;
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  return 1 + names.reduce((highest, name) => Math.max(highest, versionIn(name.slice(prefix.length))), 0);
}

function versionIn(rest: string): number {
  const match = /^([0-9]{1,9})\.(?:csv|json)$/.exec(rest);
  return match === null ? 0 : Number.parseInt(match[1] ?? '', 10);
}
