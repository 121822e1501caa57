import { isPlainName } from './names.ts';
import type { Entry } from './source.ts';

/** What is wrong with a file as a whole, in the shape of a problem of a row. */
export interface FileProblem {
  readonly code: string;
  readonly line: null;
  readonly column: null;
  readonly value: null;
  readonly message: string;
  readonly remedy: string;
}

const THINGS = {
  E_LINK: {
    message: 'This is a link to a file, and links are not followed.',
    remedy: 'Drop the file itself, or a copy of it.',
  },
  E_FOLDER: {
    message: 'This is a folder; payout files are handed in one by one.',
    remedy: 'Put each payout file directly into the folder "in".',
  },
  E_SPECIAL: {
    message: 'This is a pipe, a socket or a device, not a file.',
    remedy: 'Drop a payout file.',
  },
  E_HARD_LINK: {
    message: 'The file has another name elsewhere (a hard link), so it could be changed from there while it is paid.',
    remedy: 'Drop a copy of the file.',
  },
  E_WORLD_WRITABLE: {
    message: 'Everybody on the machine may write to the file, so nobody knows who made it.',
    remedy: 'Remove that right (chmod o-w) and drop the file again. Set up the upload so that it does not give it.',
  },
  E_OWNER: {
    message: 'The file belongs to somebody whom the folder "in" does not name, neither by its owner nor by its group.',
    remedy:
      'Who is to hand in files owns the folder "in", or shares its group (chgrp, then chmod 2770 in). If this one is right, give it to them (chown) and drop it again.',
  },
  E_UNREADABLE: {
    message: 'payrun may not read the file.',
    remedy: "Let payrun's user or group read it (chmod g+r), and drop it again.",
  },
  E_FILE_NAME: {
    message: 'The name of the file has invisible characters, or bytes that are not text.',
    remedy: 'Give the file a plain name and drop it again.',
  },
} as const;

export type Thing = keyof typeof THINGS;

/** Why something that lies in an inbox is no payout file to read, whatever is in it. */
export function problemOfThing(thing: Thing): FileProblem {
  return { code: thing, line: null, column: null, value: null, ...THINGS[thing] };
}

/** What is wrong with the thing itself; undefined for a file that may be read. */
export function thingOf(entry: Entry): Thing | undefined {
  if (entry.kind === 'link') return 'E_LINK';
  if (entry.kind === 'folder') return 'E_FOLDER';
  if (entry.kind === 'special') return 'E_SPECIAL';
  if (entry.links !== null && entry.links !== 1) return 'E_HARD_LINK';
  if (entry.isWorldWritable) return 'E_WORLD_WRITABLE';
  if (entry.isForeign) return 'E_OWNER';
  return isPlainName(entry.name) ? undefined : 'E_FILE_NAME';
}

/** Where a refused thing is put: a file with one name and a folder are kept, of the others only a name is left to remove. */
export function isKept({ kind, links }: Entry): boolean {
  return kind === 'folder' || (kind === 'file' && (links === null || links === 1));
}
