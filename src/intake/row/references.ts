import { hash } from 'node:crypto';
import { withoutTrailing } from '../../trailing.ts';
import { type NumberList, openNumberList } from './number-list.ts';

const PLAIN = /^[\x21-\x7e]*$/;

/**
 * A reference without what people overlook: capital letters, blanks, the Unicode form, characters that cannot be seen,
 * full stops at the end.
 */
export function foldReference(reference: string): string {
  const text = PLAIN.test(reference) ? reference : reference.normalize('NFKC').replace(/[\p{C}\p{Z}\s]/gu, '');
  const folded = text.toLowerCase();
  return withoutTrailing(folded, '.');
}

/** Whether two references are one: no two rows are paid under references that differ only in what `foldReference` leaves out. */
export function isSameReference(one: string, other: string): boolean {
  return one === other || foldReference(one) === foldReference(other);
}

/** The lines of rows whose reference another row has too, in ascending order, each with one such other line. */
export interface DuplicateLines {
  readonly lines: Uint32Array;
  readonly others: Uint32Array;
}

/** Finds the lines of references that are equal but for what people overlook. */
export interface ReferenceTable {
  add(reference: string, line: number): void;
  duplicates(): Promise<DuplicateLines>;
}

const DIGEST_BYTES = 32;

/**
 * `suspects` are the hashes that came more than once, in ascending order; references with other hashes are not kept. Those
 * that share a hash, the first 8 bytes of their SHA-256, are duplicates only when all of it is the same. Memory: 36 bytes a
 * suspect and 16 a duplicate.
 */
export function openReferenceTable(suspects: BigUint64Array): ReferenceTable {
  const firstLineOf = openFirstLines(suspects.length);
  const pairs = openNumberList();
  return {
    add(reference, line) {
      const digest = hash('sha256', foldReference(reference), 'buffer');
      const at = placeIn(suspects, digest.readBigUInt64BE());
      if (at === undefined) return;
      const first = firstLineOf(at, digest, line);
      if (first === line) return;
      pairs.push(pairOf(first, line));
      pairs.push(pairOf(line, first));
    },
    duplicates: () => onePerLine(pairs),
  };
}

/** Where a number stands in an ascending list. */
function placeIn(sorted: BigUint64Array, number: bigint): number | undefined {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0n) < number) from = middle + 1;
    else to = middle;
  }
  return sorted[from] === number ? from : undefined;
}

/** Gives the first line that had a digest: the line itself when none had it before. */
function openFirstLines(suspects: number): (at: number, digest: Buffer, line: number) => number {
  const digests = Buffer.alloc(suspects * DIGEST_BYTES);
  const lines = new Uint32Array(suspects);
  /** By digest: of those that share a suspect's place with another one. */
  const collided = new Map<string, number>();
  return (at, digest, line) => {
    const start = at * DIGEST_BYTES;
    if (lines[at] === 0) {
      lines[at] = line;
      digests.set(digest, start);
    }
    if (digest.equals(digests.subarray(start, start + DIGEST_BYTES))) return lines[at] ?? line;
    const key = digest.toString('hex');
    const first = collided.get(key) ?? line;
    collided.set(key, first);
    return first;
  };
}

function pairOf(line: number, other: number): bigint {
  return (BigInt(line) << 32n) | BigInt(other);
}

async function onePerLine(pairs: NumberList): Promise<DuplicateLines> {
  const lines = new Uint32Array(pairs.all().length);
  const others = new Uint32Array(lines.length);
  let count = 0;
  for await (const piece of pairs.sorted()) {
    for (const pair of piece) {
      const line = Number(pair >> 32n);
      if (count > 0 && lines[count - 1] === line) continue;
      lines[count] = line;
      others[count++] = Number(BigInt.asUintN(32, pair));
    }
  }
  return { lines: lines.subarray(0, count), others: others.subarray(0, count) };
}

/** Looks up lines in ascending order; gives the other line with the same reference, or undefined. */
export function openDuplicateCursor({ lines, others }: DuplicateLines): (line: number) => number | undefined {
  let at = 0;
  return (line) => {
    while (at < lines.length && (lines[at] ?? 0) < line) at++;
    return lines[at] === line ? others[at] : undefined;
  };
}
