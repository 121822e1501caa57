import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Role } from '../../access/roles.ts';
import { isSamePerson } from '../../access/same-person.ts';
import type { Clock, Random } from '../../clock.ts';
import type { WebSettings } from '../../config/web.ts';
import { ifThere, writeAtomically } from '../../files.ts';
import type { IntakeLimits } from '../../intake/limits.ts';

/*
 * An upload is a folder from its first byte until it is removed, 24 hours later or by its owner:
 *
 *   <data dir>/uploads/<id>/upload.json    who, when, the name it had, what was said of it, how far it is
 *   <data dir>/uploads/<id>/file           the bytes; gone once they are a run
 *   <data dir>/uploads/<id>/template.json  the template as it was when the file came
 *   <data dir>/uploads/<id>/review.json    what is wrong with it, or what it comes to
 *   <data dir>/uploads/<id>/foreseen.json  what the ledger knew against its rows
 *   <data dir>/uploads/<id>/marked-up.csv  the file with its problems, where rows can show them
 *   <data dir>/uploads/<id>/cost.json      what quotes said of it
 *
 * Names are ours alone, folders are 700, files 600 (docs/security.md).
 */

const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/** How a file is to be read and handed in, as whoever uploads it says. */
export const uploadOptions = z.strictObject({
  /** A file of the templates' folder. */
  template: z.string().max(255).nullable(),
  skipInvalid: z.boolean(),
  expectRows: z.int().min(0).max(999_999_999).nullable(),
  /** Decimals; one for each currency. */
  expectTotals: z.array(z.strictObject({ currency: z.string().length(3), amount: z.string().max(30) })).max(200),
  /** As `startOf` takes them. */
  at: z.string().max(40).nullable(),
  zone: z.string().max(64).nullable(),
  /** As `stagesOf` takes them. */
  stage: z.string().max(200).nullable().default(null),
  goOnIfPaid: z.boolean().default(false),
  /** Basis points. */
  maxCostDriftBp: z.int().min(0).max(99_999).nullable(),
  again: z.boolean(),
});
export type UploadOptions = z.infer<typeof uploadOptions>;

export const NO_OPTIONS: UploadOptions = {
  template: null,
  skipInvalid: false,
  expectRows: null,
  expectTotals: [],
  at: null,
  zone: null,
  stage: null,
  goOnIfPaid: false,
  maxCostDriftBp: null,
  again: false,
};

const schema = z.strictObject({
  id: z.uuid(),
  /** Who uploaded it. */
  person: z.string(),
  /** As it was called, for people (staging.ts). */
  name: z.string(),
  createdAt: z.int(),
  bytes: z.int(),
  /** `handed-in`: it is to become a run, whatever happens to this process. */
  state: z.enum(['receiving', 'checked', 'handed-in', 'recorded']),
  options: uploadOptions,
  /** When its run is to start, once it is handed in; null: at once. */
  startAt: z.union([z.int(), z.literal('schedule')]).nullable(),
  runId: z.string().nullable(),
  /** False: its content was a run before. */
  isNew: z.boolean(),
  /** Why it could not be handed in by itself. */
  trouble: z.string().nullable(),
  /** Earlier versions of payrun stored it; nothing reads it. */
  fees: z.unknown().optional(),
});
export type Upload = z.infer<typeof schema>;

export interface UploadDeps {
  readonly config: { readonly dataDir: string; readonly files: IntakeLimits };
  readonly settings: Pick<WebSettings, 'uploadsMax' | 'templates'>;
  readonly clock: Clock;
  readonly random: Random;
}
export type UploadPlace = { readonly config: { readonly dataDir: string } };
type UploadFile =
  | 'upload.json'
  | 'file'
  | 'template.json'
  | 'review.json'
  | 'foreseen.json'
  | 'marked-up.csv'
  | 'cost.json';

/** Where a file of an upload lies. */
export function uploadPath(deps: UploadPlace, id: string, file: UploadFile): string {
  return join(folderOf(deps, id), file);
}

/** The upload; undefined for what is none. */
export async function readUpload(deps: UploadPlace, id: string): Promise<Upload | undefined> {
  if (!z.uuid().safeParse(id).success) return undefined;
  return await readUploadJson(deps, id, { file: 'upload.json', schema });
}

/** The names of all folders of uploads, and when something was last made or removed in each. */
export async function uploadFolders(deps: UploadPlace): Promise<{ id: string; changedAt: number }[]> {
  const ids = (await ifThere(readdir(uploadsFolder(deps)))) ?? [];
  const found = ids.map(async (id) => {
    const stats = await ifThere(stat(folderOf(deps, id)));
    return stats === undefined ? [] : [{ id, changedAt: stats.mtimeMs }];
  });
  return (await Promise.all(found)).flat();
}

/** The uploads of all people, the newest first. */
export async function listUploads(deps: UploadPlace): Promise<Upload[]> {
  const found = await Promise.all((await uploadFolders(deps)).map(({ id }) => readUpload(deps, id)));
  return found.filter((one) => one !== undefined).toSorted((one, other) => other.createdAt - one.createdAt);
}

/** Whether somebody may see and use an upload: who made it, and an admin. */
export function maySee(upload: Upload, who: { readonly name: string; readonly role: Role }): boolean {
  return who.role === 'admin' || isSamePerson(upload.person, who.name);
}

/** Makes the folder of a new upload. */
export async function makeUploadFolder(deps: UploadPlace, id: string): Promise<void> {
  await mkdir(uploadsFolder(deps), { recursive: true, mode: FOLDER_MODE });
  await mkdir(folderOf(deps, id), { mode: FOLDER_MODE });
}

/** Keeps what is known of an upload; after this it lasts. */
export async function saveUpload(deps: UploadPlace, upload: Upload): Promise<Upload> {
  await writeUploadJson(deps, upload.id, { file: 'upload.json', value: upload });
  return upload;
}

/** Writes a file of an upload whole, synced, or not at all. */
export async function writeUploadJson(
  deps: UploadPlace,
  id: string,
  { file, value }: { file: UploadFile; value: unknown },
): Promise<void> {
  await writeAtomically(uploadPath(deps, id, file), [JSON.stringify(value)]);
}

/** What a file of an upload says; undefined when it is not there. */
export async function readUploadJson<T>(
  deps: UploadPlace,
  id: string,
  { file, schema: shape }: { file: UploadFile; schema: z.ZodType<T> },
): Promise<T | undefined> {
  const text = await ifThere(readFile(uploadPath(deps, id, file), 'utf8'));
  return text === undefined ? undefined : shape.parse(JSON.parse(text));
}

/** The bytes that an upload has on disk by now. */
export async function uploadedBytes(deps: UploadPlace, id: string): Promise<number> {
  return (await ifThere(stat(uploadPath(deps, id, 'file'))))?.size ?? 0;
}

/** Removes an upload with all that lies beside it. */
export async function removeUpload(deps: UploadPlace, id: string): Promise<void> {
  await rm(folderOf(deps, id), { recursive: true, force: true });
}

/** Removes the bytes of an upload that is a run now, and what shows them. */
export async function removeContent(deps: UploadPlace, id: string): Promise<void> {
  const contents = ['file', 'template.json', 'marked-up.csv', 'review.json', 'foreseen.json', 'cost.json'] as const;
  for (const file of contents) await rm(uploadPath(deps, id, file), { force: true });
}

function uploadsFolder({ config }: UploadPlace): string {
  return join(config.dataDir, 'uploads');
}

function folderOf(deps: UploadPlace, id: string): string {
  return join(uploadsFolder(deps), id);
}
