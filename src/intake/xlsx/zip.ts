import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { DamageError } from '../problems/damage-error.ts';

/** Where a part of a workbook lies in its ZIP archive. */
interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly headerAt: number;
}

export interface Zip {
  has(name: string): boolean;
  /** The bytes of a part, unpacked piece by piece. Throws a DamageError where they are not what the archive promises. */
  read(name: string): AsyncGenerator<Buffer, void>;
}

const END_MARK = 0x06054b50;
const END_BYTES = 22;
const COMMENT_BYTES_MAX = 0xffff;
const ENTRY_MARK = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_MARK = 0x04034b50;
const LOCAL_BYTES = 30;
const IS_ENCRYPTED = 0x01;
const STORED = 0;
const DEFLATED = 8;
const IN_ZIP64 = 0xffffffff;
const ENTRIES_MAX = 10_000;
const PIECE_BYTES = 64 * 1024;

/**
 * A ZIP archive by its central directory (APPNOTE 6.3.10, section 4.3). All parts that are read may have
 * `unpackedBytesMax` bytes together, each as often as it is read. Throws a DamageError for what is no such archive.
 */
export function openZip(archive: Buffer, { unpackedBytesMax }: { unpackedBytesMax: number }): Zip {
  const entries = readDirectory(archive);
  let bytesLeft = unpackedBytesMax;

  function take(bytes: number): void {
    bytesLeft -= bytes;
    if (bytesLeft < 0)
      throw new DamageError({ code: 'E_UNPACKED_SIZE', line: null, facts: { limit: unpackedBytesMax } });
  }

  return {
    has: (name) => entries.has(name),
    async *read(name) {
      const entry = entries.get(name);
      if (entry === undefined) throw damaged(`it has no ${name}`);
      let bytes = 0;
      let crc = 0;
      for await (const piece of unpacked(archive, entry)) {
        bytes += piece.length;
        take(piece.length);
        crc = crc32(piece, crc);
        yield piece;
      }
      if (bytes !== entry.bytes || crc !== entry.crc)
        throw damaged('a part of it is not what it was when it was packed');
    },
  };
}

/** What makes a workbook unreadable, as a piece of a sentence. */
export function damaged(found: string, cause?: unknown): DamageError {
  return new DamageError({ code: 'E_WORKBOOK', line: null, facts: { found } }, { cause });
}

function readDirectory(archive: Buffer): Map<string, Entry> {
  const end = findEnd(archive);
  const count = archive.readUInt16LE(end + 10);
  const bytes = archive.readUInt32LE(end + 12);
  const start = archive.readUInt32LE(end + 16);
  if (count > ENTRIES_MAX || start === IN_ZIP64) throw damaged('it has far too many parts');
  if (start + bytes > end) throw damaged('its directory is cut off');
  const entries = new Map<string, Entry>();
  let at = start;
  for (let index = 0; index < count; index++) {
    const entry = readEntry(archive, at);
    if (entries.has(entry.name)) throw damaged('it has a part twice');
    entries.set(entry.name, entry);
    at += ENTRY_BYTES + archive.readUInt16LE(at + 28) + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  if (at > start + bytes) throw damaged('its directory is cut off');
  return entries;
}

/** The end record: the last one whose comment reaches exactly to the end of the file. */
function findEnd(archive: Buffer): number {
  const first = Math.max(0, archive.length - END_BYTES - COMMENT_BYTES_MAX);
  for (let at = archive.length - END_BYTES; at >= first; at--) {
    const isEnd = archive.readUInt32LE(at) === END_MARK;
    if (isEnd && at + END_BYTES + archive.readUInt16LE(at + 20) === archive.length) return at;
  }
  throw damaged('it is no whole ZIP archive');
}

function readEntry(archive: Buffer, at: number): Entry {
  if (at + ENTRY_BYTES > archive.length || archive.readUInt32LE(at) !== ENTRY_MARK)
    throw damaged('its directory is damaged');
  const nameBytes = archive.readUInt16LE(at + 28);
  const entry = {
    // Part names are ASCII; a leading solidus belongs to the name of the part, not to that of the archive's item.
    name: archive.toString('latin1', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes),
    method: archive.readUInt16LE(at + 10),
    crc: archive.readUInt32LE(at + 16),
    packedBytes: archive.readUInt32LE(at + 20),
    bytes: archive.readUInt32LE(at + 24),
    headerAt: archive.readUInt32LE(at + 42),
  };
  if ((archive.readUInt16LE(at + 8) & IS_ENCRYPTED) !== 0) throw damaged('it is protected by a password');
  if (entry.bytes === IN_ZIP64 || entry.packedBytes === IN_ZIP64) throw damaged('a part of it is far too large');
  return entry;
}

async function* unpacked(archive: Buffer, entry: Entry): AsyncGenerator<Buffer, void> {
  const packed = packedBytesOf(archive, entry);
  if (entry.method === STORED) {
    for (let at = 0; at < packed.length; at += PIECE_BYTES) yield packed.subarray(at, at + PIECE_BYTES);
    return;
  }
  if (entry.method !== DEFLATED) throw damaged('it is packed in a way that workbooks are not');
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  const pieces = Readable.from([packed])
    .on('error', (error) => inflate.destroy(error))
    .pipe(inflate);
  try {
    for await (const piece of pieces) if (Buffer.isBuffer(piece)) yield piece;
  } catch (error) {
    throw error instanceof DamageError ? error : damaged('a part of it cannot be unpacked', error);
  }
}

function packedBytesOf(archive: Buffer, { name, headerAt, packedBytes }: Entry): Buffer {
  if (headerAt + LOCAL_BYTES > archive.length || archive.readUInt32LE(headerAt) !== LOCAL_MARK) {
    throw damaged('a part of it is not where it should be');
  }
  const nameBytes = archive.readUInt16LE(headerAt + 26);
  const start = headerAt + LOCAL_BYTES + nameBytes + archive.readUInt16LE(headerAt + 28);
  const own = archive.toString('latin1', headerAt + LOCAL_BYTES, headerAt + LOCAL_BYTES + nameBytes);
  if (own !== name || start + packedBytes > archive.length) throw damaged('a part of it is not where it should be');
  return archive.subarray(start, start + packedBytes);
}
