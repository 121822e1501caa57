import type { Dirent } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { openFolder } from '../../inbox/folder.ts';
import { ANSWER_ENDINGS, isPassedOver } from '../../inbox/names.ts';
import type { InboxSource } from '../../inbox/source.ts';
import { codeOf } from '../../refusal.ts';

/** Names of a folder that one look reads; of more than that it says so. */
const NAMES_MAX = 5000;
/** Files of a kind that are named. */
export const SHOWN_MAX = 25;
const ACK_BYTES_MAX = 64 * 1024;
const NACK_BYTES_MAX = 4 * 1024 * 1024;

/** A file of an inbox. */
export interface InboxFile {
  readonly name: string;
  /** When it was written last, or answered, in milliseconds since 1970. */
  readonly at: number;
  /** Null where there is none, or none yet. */
  readonly runId: string | null;
}

/** Some files of a kind, and how many there are. */
export interface InboxFiles {
  readonly shown: readonly InboxFile[];
  readonly count: number;
}

/** What lies in the folders of an inbox. */
export interface FolderLook {
  /** To be taken; the oldest first. */
  readonly waiting: InboxFiles;
  /** Taken, and not answered or not reported to the end; the oldest first. */
  readonly claimed: InboxFiles;
  /** Answered; the newest first. */
  readonly accepted: InboxFiles;
  readonly refused: InboxFiles;
  /** There are more names in a folder than one look reads. */
  readonly isCut: boolean;
}

/** Looks at an inbox in a folder of this machine, without waiting for or changing anything. A string says why it cannot. */
export async function lookAtFolder(address: string): Promise<FolderLook | string> {
  const dir = resolve(address);
  try {
    const [waiting, claimed, reports] = await Promise.all([
      namesIn(dir, 'in', (name) => !isPassedOver(name)),
      namesIn(dir, 'claimed', (name) => !name.startsWith('.')),
      namesIn(dir, 'reports', () => true),
    ]);
    const found = await Promise.all([
      filesOf(
        dir,
        waiting.names.map((name) => ({ name, path: `in/${name}` })),
        'oldest',
      ),
      filesOf(
        dir,
        claimed.names.map((name) => ({ name, path: `claimed/${name}`, ack: ackOf(name) })),
        'oldest',
      ),
      filesOf(dir, answered(reports.names, ANSWER_ENDINGS.ack), 'newest'),
      filesOf(dir, answered(reports.names, ANSWER_ENDINGS.nack), 'newest'),
    ]);
    const [ofIn, ofClaimed, accepted, refused] = found;
    const isCut = waiting.isCut || claimed.isCut || reports.isCut;
    return { waiting: ofIn, claimed: ofClaimed, accepted, refused, isCut };
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    return code === 'ENOENT' ? 'The folder is not there.' : `The folder cannot be read (${code}).`;
  }
}

async function namesIn(
  dir: string,
  folder: string,
  isWanted: (name: string) => boolean,
): Promise<{ names: string[]; isCut: boolean }> {
  const names: string[] = [];
  const entries: AsyncIterable<Dirent> = await opendir(join(dir, folder), { bufferSize: 256 });
  let read = 0;
  for await (const { name } of entries) {
    if (++read > NAMES_MAX) return { names, isCut: true };
    if (isWanted(name)) names.push(name);
  }
  return { names, isCut: false };
}

interface Place {
  readonly name: string;
  /** Whose time counts. */
  readonly path: string;
  /** The answer that names the run, where there may be one. */
  readonly ack?: string;
}

function answered(reports: readonly string[], ending: string): Place[] {
  return reports
    .filter((report) => report.endsWith(ending))
    .map((report) => ({
      name: report.slice(0, -ending.length),
      path: `reports/${report}`,
      ...(ending === ANSWER_ENDINGS.ack ? { ack: `reports/${report}` } : {}),
    }));
}

function ackOf(name: string): string {
  return `reports/${name}${ANSWER_ENDINGS.ack}`;
}

async function filesOf(dir: string, places: readonly Place[], first: 'oldest' | 'newest'): Promise<InboxFiles> {
  const looks = places.map(async (place) => {
    // Somebody may have taken it meanwhile.
    const stats = await lstat(join(dir, place.path)).catch(() => undefined);
    return stats === undefined ? [] : [{ ...place, at: Math.round(stats.mtimeMs) }];
  });
  const there = (await Promise.all(looks)).flat();
  const sorted = there.toSorted((one, other) => (first === 'oldest' ? one.at - other.at : other.at - one.at));
  const shown = sorted.slice(0, SHOWN_MAX).map(async ({ name, at, ack }) => {
    return { name, at, runId: ack === undefined ? null : await runIn(dir, ack) };
  });
  return { shown: await Promise.all(shown), count: there.length };
}

const acknowledged = z.object({ runId: z.string().regex(/^[A-Za-z0-9-]{1,64}$/) });

/** The run that an answer names; null for none, and for what is no answer of ours. */
async function runIn(dir: string, path: string): Promise<string | null> {
  return acknowledged.safeParse(await jsonIn(openFolder(dir), path, ACK_BYTES_MAX)).data?.runId ?? null;
}

const refusal = z.object({
  problems: z.array(
    z.object({
      code: z.string(),
      line: z.int().nullable(),
      column: z.string().nullable(),
      value: z.string().nullable(),
      message: z.string(),
      remedy: z.string(),
    }),
  ),
  problemsTotal: z.int(),
});
export type Refused = z.infer<typeof refusal>;

/** What was said of a refused file of an inbox; undefined where there is no such answer of ours. */
export async function lookAtRefused(source: Pick<InboxSource, 'open'>, file: string): Promise<Refused | undefined> {
  if (file.includes('/') || file.includes('\0')) return undefined;
  const path = `reports/${file}${ANSWER_ENDINGS.nack}`;
  return refusal.safeParse(await jsonIn(source, path, NACK_BYTES_MAX)).data;
}

/** Files of an inbox that were refused, by name. */
export async function refusedNames(source: Pick<InboxSource, 'names'>): Promise<string[]> {
  const reports = await source.names('reports');
  const { nack } = ANSWER_ENDINGS;
  return reports
    .filter((name) => name.endsWith(nack))
    .map((name) => name.slice(0, -nack.length))
    .toSorted();
}

/** What a file holds as JSON; undefined for what is none, too large, or not there. */
async function jsonIn(source: Pick<InboxSource, 'open'>, path: string, bytesMax: number): Promise<unknown> {
  const opening = await source.open(path);
  if (opening.kind !== 'opened') return undefined;
  const { file } = opening;
  try {
    const { kind, sizeBytes } = await file.look();
    if (kind !== 'file' || sizeBytes > bytesMax) return undefined;
    const chunks: Buffer[] = [];
    for await (const chunk of file.chunks()) chunks.push(Buffer.from(chunk));
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) !== undefined) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}
