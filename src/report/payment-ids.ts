import { hash } from 'node:crypto';

const HALF_BYTES = 8;
const CAPACITY_MIN = 1024;
/** So many suspected repetitions are looked into; one is enough for a report that does not tie. */
const SUSPECTS_MAX = 1000;

/** Finds payment ids that stand on more than one row, in 20 bytes a row outside the heap. */
export interface PaymentIds {
  /** Ids that differ in upper and lower case only are one id. */
  add(id: string, line: number): void;
  /** The lines of each id that was added more than once. */
  repeated(): number[][];
}

/** An empty set of payment ids. An id is kept as the first 128 bits of its SHA-256: what is equal in them is the same id. */
export function openPaymentIds(): PaymentIds {
  let count = 0;
  let lines = new Uint32Array(CAPACITY_MIN);
  let firsts = new BigUint64Array(CAPACITY_MIN);
  let seconds = new BigUint64Array(CAPACITY_MIN);

  function grow(): void {
    const moreLines = new Uint32Array(lines.length * 2);
    moreLines.set(lines);
    lines = moreLines;
    firsts = twiceAsLong(firsts);
    seconds = twiceAsLong(seconds);
  }

  return {
    add(id, line) {
      if (count === lines.length) grow();
      // As text: a buffer of its own for each digest is memory outside the heap, which V8 tidies up seldom.
      const digest = hash('sha256', id.toLowerCase(), 'binary');
      Buffer.from(firsts.buffer).write(digest, count * HALF_BYTES, HALF_BYTES, 'binary');
      Buffer.from(seconds.buffer).write(digest.slice(HALF_BYTES), count * HALF_BYTES, HALF_BYTES, 'binary');
      lines[count] = line;
      count += 1;
    },
    repeated() {
      const suspects = repeatedIn(firsts.subarray(0, count));
      if (suspects.size === 0) return [];
      const linesOfId = new Map<string, number[]>();
      for (let index = 0; index < count; index += 1) {
        const first = firsts[index] ?? 0n;
        if (!suspects.has(first)) continue;
        const id = `${first} ${seconds[index]}`;
        linesOfId.set(id, [...(linesOfId.get(id) ?? []), lines[index] ?? 0]);
      }
      return [...linesOfId.values()].filter((found) => found.length > 1);
    },
  };
}

function twiceAsLong(halves: BigUint64Array<ArrayBuffer>): BigUint64Array<ArrayBuffer> {
  const more = new BigUint64Array(halves.length * 2);
  more.set(halves);
  return more;
}

function repeatedIn(halves: BigUint64Array): Set<bigint> {
  const sorted = halves.toSorted();
  // Read in words of 32 bits, which unlike those of 64 are no objects.
  const words = new Uint32Array(sorted.buffer);
  const repeated = new Set<bigint>();
  for (let word = 2; word < words.length && repeated.size < SUSPECTS_MAX; word += 2) {
    if (words[word] === words[word - 2] && words[word + 1] === words[word - 1]) repeated.add(sorted[word / 2] ?? 0n);
  }
  return repeated;
}
