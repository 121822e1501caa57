import { open } from 'node:fs/promises';
import { isSamePerson } from '../../access/same-person.ts';
import { shownCount } from '../parts/figures.ts';
import { Problem } from '../problem.ts';
import {
  FILE_MODE,
  listUploads,
  makeUploadFolder,
  NO_OPTIONS,
  readUpload,
  removeUpload,
  saveUpload,
  type Upload,
  type UploadDeps,
  uploadedBytes,
  uploadFolders,
  uploadPath,
} from './upload.ts';

const HOUR_MS = 60 * 60 * 1000;
/** A file that nobody handed in by then is removed. */
const WAITING_MS_MAX = 24 * HOUR_MS;
/** Whoever was receiving, checking or recording it is gone: even the longest file is done by then. */
const RECEIVING_MS_MAX = 6 * HOUR_MS;
/** Of one person's uploads that are runs so many are remembered: what is there of all people is read again and again. */
const RECORDED_MAX = 100;
/** All waiting files of one person together have at most as many bytes as so many of the largest. */
const LARGEST_FILES_MAX = 2;
/** After so many bytes it is asked anew how many the person has, for uploads may come side by side. */
const LOOK_EVERY_BYTES = 64 * 1024 * 1024;

/** A file that is coming in. */
export interface Incoming {
  readonly bytes: AsyncIterable<Buffer>;
  /** As whoever sends it calls it. */
  readonly name: string;
  /** Who sends it, as the audit log will name them. */
  readonly person: string;
}

/**
 * Streams a file to a place of its own in the data directory (docs/security.md). What is cut short leaves nothing.
 * Throws a Problem: 413 for too many bytes, 409 when the person has too many files or bytes waiting, 400 for a file that
 * did not arrive whole. The upload is `receiving` until it is checked (review.ts).
 */
export async function stageUpload(deps: UploadDeps, { bytes, name, person }: Incoming): Promise<Upload> {
  const upload: Upload = {
    id: deps.random.uuid(),
    person,
    name: shownFileName(name),
    createdAt: deps.clock.now(),
    bytes: 0,
    state: 'receiving',
    options: NO_OPTIONS,
    startAt: null,
    runId: null,
    isNew: true,
    trouble: null,
  };
  try {
    await makeUploadFolder(deps, upload.id);
    // Before it is counted: of two that come at once, each sees the other.
    await saveUpload(deps, upload);
    await requireRoom(deps, person);
    await forgetRecorded(deps, person);
    return await saveUpload(deps, { ...upload, bytes: await receive(deps, upload, bytes) });
  } catch (error) {
    await removeUpload(deps, upload.id);
    throw error;
  }
}

async function receive(deps: UploadDeps, { id, person }: Upload, incoming: AsyncIterable<Buffer>): Promise<number> {
  const { fileBytesMax } = deps.config.files;
  await using file = await open(uploadPath(deps, id, 'file'), 'wx', FILE_MODE);
  let bytes = 0;
  let looksAt = LOOK_EVERY_BYTES;
  for await (const chunk of arriving(incoming)) {
    bytes += chunk.length;
    if (bytes > fileBytesMax) throw tooLarge(fileBytesMax);
    await file.writeFile(chunk);
    if (bytes < looksAt) continue;
    looksAt += LOOK_EVERY_BYTES;
    await requireRoom(deps, person);
  }
  await file.sync();
  await requireRoom(deps, person);
  return bytes;
}

/** The chunks; that they end early is nobody's fault here. */
async function* arriving(incoming: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* incoming;
  } catch {
    throw new Problem(400, 'The file did not arrive whole.', 'Send it again.');
  }
}

/** The Problem (413) for a file that is larger than intake takes. */
export function tooLarge(fileBytesMax: number): Problem {
  return new Problem(
    413,
    `The file has more than ${shownCount(fileBytesMax)} bytes.`,
    'Split it into smaller files; the limit is "files.fileBytesMax" of PAYRUN_CONFIG.',
  );
}

async function requireRoom(deps: UploadDeps, person: string): Promise<void> {
  const waiting = (await listUploads(deps)).filter((one) => isSamePerson(one.person, person) && isWaiting(deps, one));
  if (waiting.length > deps.settings.uploadsMax) {
    throw new Problem(
      409,
      `You have ${deps.settings.uploadsMax} uploaded files waiting, and there can be no more.`,
      'Hand in or discard some of them on the upload page.',
    );
  }
  const sizes = await Promise.all(waiting.map(({ id }) => uploadedBytes(deps, id)));
  const bytesMax = LARGEST_FILES_MAX * deps.config.files.fileBytesMax;
  if (sizes.reduce((sum, size) => sum + size, 0) <= bytesMax) return;
  throw new Problem(
    409,
    `Your uploaded files have more than ${shownCount(bytesMax)} bytes together.`,
    'Hand in or discard some of them on the upload page, then send this one again.',
  );
}

/** Whether an upload holds bytes, or soon will. */
function isWaiting({ clock }: Pick<UploadDeps, 'clock'>, { state, createdAt }: Upload): boolean {
  if (state === 'receiving') return clock.now() - createdAt <= RECEIVING_MS_MAX;
  return state !== 'recorded';
}

/** Removes what is left of a person's uploads that are runs, but for the last of them. */
async function forgetRecorded(deps: UploadDeps, person: string): Promise<void> {
  const own = (await listUploads(deps)).filter((one) => isSamePerson(one.person, person));
  const recorded = own.filter(({ state }) => state === 'recorded');
  for (const { id } of recorded.slice(RECORDED_MAX)) await removeUpload(deps, id);
}

/** Removes uploads that nobody handed in within a day, and those whose receiving process is gone. */
export async function removeOldUploads(deps: Pick<UploadDeps, 'config' | 'clock'>): Promise<void> {
  for (const { id, changedAt } of await uploadFolders(deps)) {
    const upload = await readUpload(deps, id);
    const ageMs = deps.clock.now() - (upload?.createdAt ?? changedAt);
    if (hasEnded(upload?.state ?? 'receiving', ageMs)) await removeUpload(deps, id);
  }
}

function hasEnded(state: Upload['state'], ageMs: number): boolean {
  if (state === 'handed-in') return false;
  return ageMs > (state === 'receiving' ? RECEIVING_MS_MAX : WAITING_MS_MAX);
}

const CHARACTERS_MAX = 200;
const ENDING_CHARACTERS_MAX = 16;
const NAMELESS = 'payouts.csv';

/** Control, bidirectional, invisible and unassigned characters, line separators, and the sign for a lost character. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\u{FFFD}]/gu;

/**
 * The name that somebody's browser gave a file, as text to show: without folders, without what cannot be seen, at most 200
 * characters with its ending kept, for that tells the format. It is never a path of ours (docs/security.md).
 */
export function shownFileName(given: string): string {
  const base = given
    .replace(/^.*[/\\]/s, '')
    .replace(UNSEEN, '')
    .trim();
  if (/^\.*$/.test(base)) return NAMELESS;
  const characters = Array.from(base);
  if (characters.length <= CHARACTERS_MAX) return base;
  const ending = /\.[^.]+$/.exec(base)?.[0] ?? '';
  const kept = ending.length <= ENDING_CHARACTERS_MAX ? ending : '';
  return `${characters.slice(0, CHARACTERS_MAX - Array.from(kept).length).join('')}${kept}`;
}
