import type { Entry } from '../source.ts';

/** What servers say (draft-ietf-secsh-filexfer-02, section 7). */
export const STATUS = { noSuchFile: 2, permissionDenied: 3, failure: 4 } as const;

const KIND_MASK = 0o170000;
const KINDS: ReadonlyMap<number, Entry['kind']> = new Map([
  [0o100000, 'file'],
  [0o040000, 'folder'],
  [0o120000, 'link'],
]);
export const WORLD_WRITES = 0o002;

/** Of a file as the server tells them; the time is in seconds. */
export interface Attributes {
  readonly mode: number;
  readonly size: number;
  readonly mtime: number;
}

/** A line of a listing; `longname` is like one of `ls -l`. */
export interface Listed {
  readonly filename: string;
  readonly longname: string;
  readonly attrs: Attributes;
}

export function kindOf({ mode }: Attributes): Entry['kind'] {
  return KINDS.get(mode & KIND_MASK) ?? 'special';
}

/** What is listed under a name of its own; a server that names another folder's file is not believed. */
export function listedEntries(listed: readonly Listed[]): Entry[] {
  return listed
    .filter(({ filename }) => filename !== '.' && filename !== '..' && !filename.includes('/'))
    .map(({ filename, longname, attrs }) => entryOf(filename, attrs, linksIn(longname)));
}

export function entryOf(name: string, attributes: Attributes, links: number | null = null): Entry {
  const kind = kindOf(attributes);
  return {
    name,
    kind,
    sizeBytes: attributes.size,
    signature: `${attributes.size}:${attributes.mtime}`,
    links: kind === 'file' ? links : null,
    isWorldWritable: kind !== 'link' && (attributes.mode & WORLD_WRITES) !== 0,
    // Whoever the server lets in.
    isForeign: false,
    owner: null,
  };
}

/** The protocol has no place for the number of a file's names; OpenSSH writes it where `ls -l` does. */
function linksIn(longname: string): number | null {
  const count = /^[-a-z](?:[-rwxsStTlL]{9})[.+@]?\s+([0-9]{1,9})\s/.exec(longname)?.[1];
  return count === undefined ? null : Number.parseInt(count, 10);
}

/** The status with which the server answered; undefined when it was no answer of the server. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}
