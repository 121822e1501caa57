import { isUtf8 } from 'node:buffer';

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
