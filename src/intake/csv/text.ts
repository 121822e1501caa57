import { isUtf8 } from 'node:buffer';
import { foreignTypeOf, HEAD_BYTES } from '../file-type.ts';
import type { ProblemCode } from '../problems/problem-kinds.ts';
import type { Facts } from '../problems/problems.ts';

/** Damage at which reading stops, because what follows it cannot be trusted. */
export interface Fault {
  readonly code: ProblemCode;
  readonly facts: Facts;
}

/** Bytes of a file on their way to being UTF-8 text without a byte order mark. */
export interface TextReader {
  /** What these bytes, and those kept back before, add to the text: whole characters up to the first fault. */
  push(bytes: Buffer): Buffer;
  /** The rest, when the file has ended. */
  end(): Buffer;
  fault(): Fault | undefined;
}

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NOTHING = Buffer.alloc(0);

/**
 * The same text and the same fault however the bytes are cut into pieces. `expected` is what the file
 * should be, as a piece of a sentence.
 */
export function openTextReader(expected: string): TextReader {
  let kept: Buffer = NOTHING;
  let isHeadRead = false;
  let offset = 0;
  let fault: Fault | undefined;

  function read(bytes: Buffer, isEnd: boolean): Buffer {
    if (fault !== undefined) return NOTHING;
    let all = kept.length === 0 ? bytes : Buffer.concat([kept, bytes]);
    kept = NOTHING;
    if (!isHeadRead) {
      if (all.length < HEAD_BYTES && !isEnd) {
        kept = Buffer.from(all);
        return NOTHING;
      }
      isHeadRead = true;
      const foreign = foreignTypeOf(all, expected);
      if (foreign !== undefined) {
        fault = { code: foreign.code, facts: { found: foreign.found, expected } };
        return NOTHING;
      }
      if (all.subarray(0, MARK.length).equals(MARK)) {
        all = all.subarray(MARK.length);
        offset = MARK.length;
      }
    }
    return readCharacters(all, isEnd);
  }

  function readCharacters(bytes: Buffer, isEnd: boolean): Buffer {
    const { validBytes, isBroken } = readUtf8(bytes);
    offset += validBytes;
    if (isBroken || (isEnd && validBytes < bytes.length)) {
      fault = { code: 'E_ENCODING', facts: { found: `byte ${offset + 1} of the file begins no UTF-8 character` } };
    } else if (validBytes < bytes.length) {
      kept = Buffer.from(bytes.subarray(validBytes));
    }
    return bytes.subarray(0, validBytes);
  }

  return {
    push: (bytes) => read(bytes, false),
    end: () => read(NOTHING, true),
    fault: () => fault,
  };
}

const ASCII_MAX = 0x7f;
const LEAD_MIN = 0xc2;
const LEAD_MAX = 0xf4;
const LEAD_OF_3_MIN = 0xe0;
const LEAD_OF_4_MIN = 0xf0;
const CONTINUATION_BYTES_MAX = 3;

/**
 * How many of these bytes are whole UTF-8 characters, and whether what follows them can never become one (RFC 3629:
 * no overlong forms, no surrogates). A character that is cut off at the end is neither.
 */
export function readUtf8(bytes: Buffer): { validBytes: number; isBroken: boolean } {
  const whole = bytes.length - cutOffBytes(bytes);
  if (isUtf8(bytes.subarray(0, whole))) return { validBytes: whole, isBroken: false };
  return { validBytes: firstBroken(bytes), isBroken: true };
}

/** Bytes at the end that begin a character but do not finish it. */
function cutOffBytes(bytes: Buffer): number {
  for (let count = 1; count <= CONTINUATION_BYTES_MAX && count <= bytes.length; count++) {
    const length = lengthByLead(bytes[bytes.length - count] ?? 0);
    if (length > 0) return length > count ? count : 0;
  }
  return 0;
}

function firstBroken(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length) {
    const length = lengthByLead(bytes[at] ?? 0);
    if (length === 0 || (length > 1 && !isUtf8(bytes.subarray(at, at + length)))) return at;
    at += length;
  }
  return at;
}

/** Bytes of the character that this byte begins; 0 for a byte that begins none. */
function lengthByLead(byte: number): number {
  if (byte <= ASCII_MAX) return 1;
  if (byte < LEAD_MIN || byte > LEAD_MAX) return 0;
  if (byte < LEAD_OF_3_MIN) return 2;
  return byte < LEAD_OF_4_MIN ? 3 : 4;
}
