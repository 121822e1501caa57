import { foreignTypeOf, HEAD_BYTES } from '../file-type.ts';
import type { ProblemCode } from '../problems/problem-kinds.ts';
import type { Facts } from '../problems/problems.ts';
import { readUtf8 } from './utf8.ts';

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
      const foreign = foreignTypeOf(all);
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
