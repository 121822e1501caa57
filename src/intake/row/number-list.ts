const NUMBERS_AT_FIRST = 1024;
/** What is not used yet takes no memory: the system gives pages when they are first written to. */
const GROWTH = 4;

/** Numbers from 0 to 2^64 - 1 in 8 bytes each, outside the heap. */
export interface NumberList {
  push(number: bigint): void;
  /** All of them in ascending order, in the list's own memory: only good until the next `push`. */
  sorted(): BigUint64Array;
}

export function openNumberList(): NumberList {
  let numbers = new BigUint64Array(NUMBERS_AT_FIRST);
  let used = 0;
  return {
    push(number) {
      if (used === numbers.length) {
        const larger = new BigUint64Array(used * GROWTH);
        larger.set(numbers);
        numbers = larger;
      }
      numbers[used++] = number;
    },
    sorted() {
      const all = numbers.subarray(0, used);
      all.sort();
      return all;
    },
  };
}
