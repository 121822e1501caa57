/** The folders of an inbox, by their paths below it. */
export const INBOX_FOLDERS = ['in', 'claimed', 'done', 'refused', 'reports'] as const;

/** What lies under a name, as a look at it tells; links are not followed. */
export interface Entry {
  /** Without folders. */
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'special';
  readonly sizeBytes: number;
  /** Changes with the content: the file's own number where there is one, its size, and when it was written to. */
  readonly signature: string;
  /** Names of the file; null where the source does not tell. */
  readonly links: number | null;
  readonly isWorldWritable: boolean;
  /** Of somebody to whom the folder "in" gives no right to drop files; false where the source does not tell. */
  readonly isForeign: boolean;
  /** The number of the user of this machine who owns it; null where the source does not tell. */
  readonly owner: number | null;
}

/** A file that was opened; all that is read and told of it comes from that one file, whatever gets its name meanwhile. */
export interface OpenedFile {
  look(): Promise<Entry>;
  /** A piece is only good until the next one is asked for. */
  chunks(): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export type Opening = { readonly kind: 'opened'; readonly file: OpenedFile } | { readonly kind: 'unreadable' | 'gone' };

/**
 * Where files are dropped: a folder, or one on a server. Paths are such as `in/NAME`, below the inbox. What an act finds
 * gone, or taken by somebody else, it tells by its answer; anything else that keeps it from its work is thrown.
 */
export interface InboxSource {
  /** As people know it. */
  readonly name: string;
  /** Looks lie so far apart. */
  readonly pollMs: number;
  /**
   * Makes the folders that are missing; true when the inbox itself was. Throws a Refusal for a place that is no safe
   * inbox, and for one whose own place is missing too.
   */
  prepare(): Promise<boolean>;
  /** Names in a folder; none when it is not there. */
  names(folder: string): Promise<readonly string[]>;
  /** What lies in a folder. */
  list(folder: string): Promise<readonly Entry[]>;
  has(path: string): Promise<boolean>;
  makeFolder(path: string): Promise<boolean>;
  /** One step that cannot be seen half done, and that lasts. False: nothing is there, or a folder with something in it is in the way. */
  move(from: string, to: string): Promise<boolean>;
  /** Removes a name or an empty folder, without following a link. False: it is a folder with something in it. */
  remove(path: string): Promise<boolean>;
  /** Opens a regular file for reading, without following a link or waiting for a pipe. */
  open(path: string): Promise<Opening>;
  /** Writes a new file, synced, for those who may read `folder`. False: the folder that it was to lie in is gone. */
  write(path: string, content: { chunks: Iterable<Buffer> | AsyncIterable<Buffer>; folder: string }): Promise<boolean>;
  close(): Promise<void>;
}
