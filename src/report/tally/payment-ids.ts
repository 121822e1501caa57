import { hash } from 'node:crypto';

/** Of an id: three of its hash, one of its line. */
const WORDS = 4;
const HASH_BYTES = 12;
const LINE_WORD = 3;
const CAPACITY_MIN = 1024;
/** What is sorted at once is this part of all ids, so that sorting takes little memory. */
const PARTS = 16;
/** So many suspected repetitions are looked into; one is enough for a report that does not tie. */
const SUSPECTS_MAX = 1000;

/** Finds payment ids that stand on more than one row, in 16 bytes a row outside the heap. */
export interface PaymentIds {
  /** Ids that differ in upper and lower case only are one id. */
  add(id: string, line: number): void;
  /** The lines of each id that was added more than once. */
  repeated(): number[][];
}

/** An empty set of payment ids. An id is kept as the first 96 bits of its SHA-256: what is equal in them is the same id. */
export function openPaymentIds(): PaymentIds {
  let count = 0;
  let words = new Uint32Array(CAPACITY_MIN * WORDS);

  return {
    add(id, line) {
      const at = count * WORDS;
      if (at === words.length) words = twiceAsLong(words);
      // As text: a buffer of its own for each digest is memory outside the heap, which V8 tidies up seldom.
      const digest = hash('sha256', id.toLowerCase(), 'binary');
      Buffer.from(words.buffer).write(digest, at * words.BYTES_PER_ELEMENT, HASH_BYTES, 'binary');
      words[at + LINE_WORD] = line;
      count += 1;
    },
    repeated() {
      const added = words.subarray(0, count * WORDS);
      const suspects = suspectsIn(added);
      if (suspects.size === 0) return [];
      const linesOfId = new Map<string, number[]>();
      for (let at = 0; at < added.length; at += WORDS) {
        if (!suspects.has(nameOf(added, at))) continue;
        const id = added.subarray(at, at + LINE_WORD).join();
        const lines = linesOfId.get(id) ?? [];
        lines.push(added[at + LINE_WORD] ?? 0);
        linesOfId.set(id, lines);
      }
      return [...linesOfId.values()].filter((found) => found.length > 1);
    },
  };
}

function twiceAsLong(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(words.length * 2);
  more.set(words);
  return more;
}

/** The first 64 bits of a hash. */
function nameOf(words: Uint32Array, at: number): string {
  return `${words[at]} ${words[at + 1]}`;
}

/** The names that stand on more than one id. */
function suspectsIn(added: Uint32Array): Set<string> {
  const suspects = new Set<string>();
  const names = new Uint32Array(2 * largestPart(added));
  for (let part = 0; part < PARTS && suspects.size < SUSPECTS_MAX; part += 1) {
    // Words of 32 bits, which unlike those of 64 are no objects.
    const length = sortNames(added, part, names);
    for (let at = 2; at < length && suspects.size < SUSPECTS_MAX; at += 2) {
      if (names[at] === names[at - 2] && names[at + 1] === names[at - 1]) suspects.add(nameOf(names, at));
    }
  }
  return suspects;
}

/** Of the id whose words begin there. */
function partOf(added: Uint32Array, at: number): number {
  return (added[at] ?? 0) % PARTS;
}

/** How many ids it has. */
function largestPart(added: Uint32Array): number {
  const ids = new Uint32Array(PARTS);
  for (let at = 0; at < added.length; at += WORDS) {
    const part = partOf(added, at);
    ids[part] = (ids[part] ?? 0) + 1;
  }
  return Math.max(...ids);
}

/** Writes the names of a part, two words each, into an array, sorted, and tells how many words they are. */
function sortNames(added: Uint32Array, part: number, names: Uint32Array<ArrayBuffer>): number {
  let length = 0;
  for (let at = 0; at < added.length; at += WORDS) {
    if (partOf(added, at) !== part) continue;
    names[length] = added[at] ?? 0;
    names[length + 1] = added[at + 1] ?? 0;
    length += 2;
  }
  new BigUint64Array(names.buffer, 0, length / 2).sort();
  return length;
}
