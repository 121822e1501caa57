import { setImmediate } from 'node:timers/promises';

const NUMBERS_AT_FIRST = 1024;
/** What is not used yet takes no memory: the system gives pages when they are first written to. */
const GROWTH = 4;
/** Others have their turn after so many numbers: to sort those of a large file at once would take a fifth of a second. */
const NUMBERS_A_TURN = 64 * 1024;

/** Numbers from 0 to 2^64 - 1 in 8 bytes each, outside the heap. */
export interface NumberList {
  push(number: bigint): void;
  /** All of them in ascending order, piece by piece; others have their turn between. Only good until the next `push`. */
  sorted(): AsyncGenerator<BigUint64Array, void>;
  /** The numbers as they were added, in the list's own memory. */
  all(): BigUint64Array;
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
    async *sorted() {
      for await (const piece of piecesOf(numbers.subarray(0, used))) piece.sort();
      yield* piecesOf(await mergeAll(numbers.subarray(0, used)));
    },
    all: () => numbers.subarray(0, used),
  };
}

async function* piecesOf(numbers: BigUint64Array): AsyncGenerator<BigUint64Array, void> {
  for (let at = 0; at < numbers.length; at += NUMBERS_A_TURN) {
    yield numbers.subarray(at, at + NUMBERS_A_TURN);
    await setImmediate();
  }
}

/** Merges sorted pieces two by two until all are one. */
async function mergeAll(pieces: BigUint64Array): Promise<BigUint64Array> {
  let from = pieces;
  let into: BigUint64Array = new BigUint64Array(pieces.length > NUMBERS_A_TURN ? pieces.length : 0);
  for (let width = NUMBERS_A_TURN; width < pieces.length; width *= 2) {
    for (let at = 0; at < pieces.length; at += 2 * width) {
      const [left, right] = [from.subarray(at, at + width), from.subarray(at + width, at + 2 * width)];
      await merge(left, right, into.subarray(at, at + 2 * width));
    }
    [from, into] = [into, from];
  }
  return from;
}

async function merge(left: BigUint64Array, right: BigUint64Array, into: BigUint64Array): Promise<void> {
  let [fromLeft, fromRight] = [0, 0];
  for await (const piece of piecesOf(into)) {
    for (let at = 0; at < piece.length; at++) {
      const [one, other] = [left[fromLeft], right[fromRight]];
      const isLeft = other === undefined || (one !== undefined && one <= other);
      piece[at] = (isLeft ? one : other) ?? 0n;
      if (isLeft) fromLeft++;
      else fromRight++;
    }
  }
}
