import { hash } from 'node:crypto';

const PLAIN = /^[\x21-\x7e]*$/;

/**
 * A reference without what people overlook: capital letters, blanks, the Unicode form, characters that cannot be seen,
 * full stops at the end (bad-input case 79).
 */
export function foldReference(reference: string): string {
  const text = PLAIN.test(reference) ? reference : reference.normalize('NFKC').replace(/[\p{C}\p{Z}\s]/gu, '');
  const folded = text.toLowerCase();
  return folded.endsWith('.') ? withoutStops(folded) : folded;
}

function withoutStops(text: string): string {
  let end = text.length;
  while (text[end - 1] === '.') end--;
  return text.slice(0, end);
}

/** The lines of rows whose reference another row has too, in ascending order, each with one such other line. */
export interface DuplicateLines {
  readonly lines: Uint32Array;
  readonly others: Uint32Array;
}

/** Remembers references by a 128-bit hash and the first line that had each: 21 bytes a slot, at most three in four used. */
export interface ReferenceTable {
  add(reference: string, line: number): void;
  duplicates(): DuplicateLines;
}

const SLOTS_AT_FIRST = 4096;
const WORDS = 4;
const WORD_BYTES = 4;

interface Slots {
  readonly size: number;
  readonly keys: Uint32Array;
  /** The first line with the reference; 0 in a free slot. */
  readonly lines: Uint32Array;
  /** 1 once the first line is among the duplicates. */
  readonly isRepeated: Uint8Array;
}

function emptySlots(size: number): Slots {
  return {
    size,
    keys: new Uint32Array(size * WORDS),
    lines: new Uint32Array(size),
    isRepeated: new Uint8Array(size),
  };
}

/** Open addressing; the hash is SHA-256 cut to 128 bits, so that equal keys are equal references. */
export function openReferenceTable(): ReferenceTable {
  let slots = emptySlots(SLOTS_AT_FIRST);
  let used = 0;
  const pairs: bigint[] = [];

  return {
    add(reference, line) {
      const key = keyOf(foldReference(reference));
      const slot = slotOf(slots, key);
      const first = slots.lines[slot] ?? 0;
      if (first !== 0) {
        if (slots.isRepeated[slot] === 0) pairs.push(pairOf(first, line));
        slots.isRepeated[slot] = 1;
        pairs.push(pairOf(line, first));
        return;
      }
      slots.keys.set(key, slot * WORDS);
      slots.lines[slot] = line;
      used++;
      if (used * 4 > slots.size * 3) slots = doubled(slots);
    },
    duplicates() {
      const sorted = BigUint64Array.from(pairs).toSorted();
      return {
        lines: Uint32Array.from(sorted, (pair) => Number(pair >> 32n)),
        others: Uint32Array.from(sorted, (pair) => Number(BigInt.asUintN(32, pair))),
      };
    },
  };
}

function pairOf(line: number, other: number): bigint {
  return (BigInt(line) << 32n) | BigInt(other);
}

function keyOf(folded: string): Uint32Array {
  const digest = hash('sha256', folded, 'buffer');
  const key = new Uint32Array(WORDS);
  for (let word = 0; word < WORDS; word++) key[word] = digest.readUInt32LE(word * WORD_BYTES);
  return key;
}

/** The slot that holds the key, or the free one where it belongs. */
function slotOf({ size, keys, lines }: Slots, key: Uint32Array): number {
  let slot = (key[0] ?? 0) % size;
  while (lines[slot] !== 0 && !hasKey(keys, slot * WORDS, key)) slot = (slot + 1) % size;
  return slot;
}

function hasKey(keys: Uint32Array, at: number, key: Uint32Array): boolean {
  return keys[at] === key[0] && keys[at + 1] === key[1] && keys[at + 2] === key[2] && keys[at + 3] === key[3];
}

function doubled(old: Slots): Slots {
  const slots = emptySlots(old.size * 2);
  for (let at = 0; at < old.size; at++) {
    if (old.lines[at] === 0) continue;
    const key = old.keys.subarray(at * WORDS, (at + 1) * WORDS);
    const slot = slotOf(slots, key);
    slots.keys.set(key, slot * WORDS);
    slots.lines[slot] = old.lines[at] ?? 0;
    slots.isRepeated[slot] = old.isRepeated[at] ?? 0;
  }
  return slots;
}

/** Looks up lines in ascending order; gives the other line with the same reference, or undefined. */
export function openDuplicateCursor({ lines, others }: DuplicateLines): (line: number) => number | undefined {
  let at = 0;
  return (line) => {
    while (at < lines.length && (lines[at] ?? 0) < line) at++;
    return lines[at] === line ? others[at] : undefined;
  };
}
