/** Bytes that come piece by piece, in one buffer: no more than twice their memory, however many they are. */
export interface GrowingBytes {
  /** Copies the piece. */
  add(piece: Buffer): void;
  take(): Buffer;
}

const BYTES_AT_FIRST = 64 * 1024;

export function openGrowingBytes(): GrowingBytes {
  let bytes = Buffer.alloc(BYTES_AT_FIRST);
  let used = 0;
  return {
    add(piece) {
      if (used + piece.length > bytes.length) {
        bytes = Buffer.concat([bytes], Math.max(bytes.length * 2, used + piece.length));
      }
      used += piece.copy(bytes, used);
    },
    take: () => bytes.subarray(0, used),
  };
}
