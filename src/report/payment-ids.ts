import { hash } from 'node:crypto';

const DIGEST_BYTES = 16;
const HALVES = 2;
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
  let halves = new BigUint64Array(CAPACITY_MIN * HALVES);

  function grow(): void {
    const moreLines = new Uint32Array(lines.length * 2);
    moreLines.set(lines);
    lines = moreLines;
    const moreHalves = new BigUint64Array(halves.length * 2);
    moreHalves.set(halves);
    halves = moreHalves;
  }

  return {
    add(id, line) {
      if (count === lines.length) grow();
      const digest = hash('sha256', id.toLowerCase(), 'buffer').subarray(0, DIGEST_BYTES);
      new Uint8Array(halves.buffer).set(digest, count * DIGEST_BYTES);
      lines[count] = line;
      count += 1;
    },
    repeated() {
      const suspects = repeatedFirstHalves(halves.subarray(0, count * HALVES));
      if (suspects.size === 0) return [];
      const linesOfId = new Map<string, number[]>();
      for (let index = 0; index < count; index += 1) {
        const first = halves[index * HALVES] ?? 0n;
        if (!suspects.has(first)) continue;
        const id = `${first} ${halves[index * HALVES + 1]}`;
        linesOfId.set(id, [...(linesOfId.get(id) ?? []), lines[index] ?? 0]);
      }
      return [...linesOfId.values()].filter((found) => found.length > 1);
    },
  };
}

function repeatedFirstHalves(halves: BigUint64Array): Set<bigint> {
  const sorted = halves.filter((_, index) => index % HALVES === 0).toSorted();
  const repeated = new Set<bigint>();
  for (let index = 1; index < sorted.length && repeated.size < SUSPECTS_MAX; index += 1) {
    const first = sorted[index] ?? 0n;
    if (first === sorted[index - 1]) repeated.add(first);
  }
  return repeated;
}
