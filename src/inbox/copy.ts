import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '../clock.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from '../intake/limits.ts';
import { manifestPathOf } from '../intake/manifest.ts';
import { type Claim, pathOf } from './claim.ts';
import { manifestOf } from './names.ts';
import { type Thing, thingOf } from './rejected-entries.ts';
import type { Entry, InboxSource, OpenedFile } from './source.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Above what intake takes. */
const MANIFEST_BYTES_MAX = 128 * 1024;
const LEFT_BEHIND_MS = 24 * 60 * 60 * 1000;

export interface CopyDeps {
  readonly config: { readonly dataDir: string; readonly files?: IntakeLimits };
  readonly random: Random;
}

/** A copy that nobody else can write to. */
export interface PrivateCopy {
  readonly kind: 'copied';
  /** Under the file's own name, in a folder of its own. */
  readonly path: string;
  /** Of what was read, in hexadecimal; empty for a file that is too large to be read. */
  readonly sha256: string;
  remove(): Promise<void>;
}

export type Copying = PrivateCopy | { readonly kind: 'refused'; readonly thing: Thing } | { readonly kind: 'changed' };

/**
 * Copies a claimed file into the data directory and hashes it on the way. Everything is asked of the file that was opened:
 * what it is, and that it is from beginning to end the one that was looked at (docs/security.md). `changed`: it was not, or
 * something else has its name now.
 */
export async function copyClaimed(
  deps: CopyDeps,
  source: InboxSource,
  { claim, entry }: { claim: Claim; entry: Entry },
): Promise<Copying> {
  const opening = await source.open(pathOf(claim, entry.name));
  if (opening.kind !== 'opened') {
    return opening.kind === 'gone' ? { kind: 'changed' } : { kind: 'refused', thing: 'E_UNREADABLE' };
  }
  try {
    const opened = await opening.file.look();
    const thing = thingOf(opened);
    if (thing !== undefined) return { kind: 'refused', thing };
    if (opened.signature !== entry.signature) return { kind: 'changed' };
    const copying = await copyOpened(deps, opening.file, { claim, entry });
    const manifest = manifestOf(entry.name);
    if (copying.kind === 'copied' && manifest !== undefined) {
      await copyManifest(source, pathOf(claim, manifest), manifestPathOf(copying.path));
    }
    return copying;
  } finally {
    await opening.file.close();
  }
}

async function copyOpened(
  { config, random }: CopyDeps,
  file: OpenedFile,
  { claim, entry }: { claim: Claim; entry: Entry },
): Promise<Copying> {
  const folder = join(copiesFolder(config), `${claim.id}-${random.bytes(4).toString('hex')}`);
  const remove = async (): Promise<void> => await rm(folder, { recursive: true, force: true });
  const path = join(folder, entry.name);
  let isKept = false;
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    await using target = await open(path, 'wx', FILE_MODE);
    const sha256 = await copyBytes(file, target, {
      sizeBytes: entry.sizeBytes,
      bytesMax: (config.files ?? DEFAULT_LIMITS).fileBytesMax,
    });
    isKept = sha256 !== undefined && (await file.look()).signature === entry.signature;
    return isKept && sha256 !== undefined ? { kind: 'copied', path, sha256, remove } : { kind: 'changed' };
  } finally {
    if (!isKept) await remove();
  }
}

/** The control totals that came with the file lie beside its copy, where intake looks for them. */
async function copyManifest(source: InboxSource, claimed: string, path: string): Promise<void> {
  const opening = await source.open(claimed);
  if (opening.kind === 'gone') return;
  await using target = await open(path, 'wx', FILE_MODE);
  // What cannot be read is a manifest all the same: intake refuses the file for an empty one.
  if (opening.kind !== 'opened') return;
  let bytes = 0;
  try {
    for await (const chunk of opening.file.chunks()) {
      bytes += chunk.length;
      await target.writeFile(chunk);
      if (bytes > MANIFEST_BYTES_MAX) return;
    }
  } finally {
    await opening.file.close();
  }
}

/** Gives the SHA-256, or undefined when there were more or fewer bytes than the file was said to have. */
async function copyBytes(
  file: OpenedFile,
  target: FileHandle,
  { sizeBytes, bytesMax }: { sizeBytes: number; bytesMax: number },
): Promise<string | undefined> {
  if (sizeBytes > bytesMax) {
    // Intake refuses it for its size, without a look at what is in it.
    await target.truncate(sizeBytes);
    return '';
  }
  const sha256 = createHash('sha256');
  let bytes = 0;
  for await (const chunk of file.chunks()) {
    bytes += chunk.length;
    if (bytes > sizeBytes) return undefined;
    sha256.update(chunk);
    await target.writeFile(chunk);
  }
  return bytes === sizeBytes ? sha256.digest('hex') : undefined;
}

/** A file's bytes; it is opened when the first of them is asked for. */
export async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = createReadStream(path);
  yield* chunks;
}

/** Removes copies that a process which was killed left behind. */
export async function removeOldCopies(config: { readonly dataDir: string }, clock: Clock): Promise<void> {
  const folder = copiesFolder(config);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  for (const name of await readdir(folder)) {
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: clock.now() }));
    if (clock.now() - mtimeMs > LEFT_BEHIND_MS) await rm(join(folder, name), { recursive: true, force: true });
  }
}

function copiesFolder({ dataDir }: { readonly dataDir: string }): string {
  return join(dataDir, 'inbox');
}
