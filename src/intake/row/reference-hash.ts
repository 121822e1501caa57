import { hash } from 'node:crypto';
import { type NumberList, openNumberList } from './number-list.ts';
import { foldReference } from './references.ts';

/** First 8 bytes of the SHA-256 of the folded reference, as 16 hexadecimal digits: what is remembered of it. */
export function hashReference(reference: string): string {
  return hash('sha256', foldReference(reference), 'hex').slice(0, 16);
}

/** Remembers the hash of each reference of a file: 8 bytes a row, twice that while they are compared. */
export interface ReferenceHashes {
  add(reference: string): void;
  /** The hashes that came more than once, in ascending order. */
  repeated(): Promise<BigUint64Array>;
}

/** References that are equal have equal hashes; which of the others are equal is for the reference table to find out. */
export function openReferenceHashes(): ReferenceHashes {
  const hashes = openNumberList();
  return {
    add: (reference) => hashes.push(BigInt(`0x${hashReference(reference)}`)),
    repeated: () => repeatedIn(hashes),
  };
}

async function repeatedIn(hashes: NumberList): Promise<BigUint64Array> {
  const repeated = openNumberList();
  let before: bigint | undefined;
  let told: bigint | undefined;
  for await (const piece of hashes.sorted()) {
    for (const number of piece) {
      if (number === before && number !== told) {
        repeated.push(number);
        told = number;
      }
      before = number;
    }
  }
  return repeated.all();
}
