/** A row as it is looked for. References hold no line feed (docs/payout-file.md). */
export interface IndexedRow {
  /** Numbers that the caller gives to runs and beneficiaries. */
  readonly run: number;
  readonly beneficiary: number;
  readonly line: number;
  readonly reference: string;
  /** A decimal with the currency's digits. */
  readonly amount: string;
}

/** Finds rows among millions by walking over bytes: some 45 bytes a row, and no more objects however many there are. */
export interface RowIndex {
  add(row: IndexedRow): void;
  readonly size: () => number;
  /** Rows whose reference has the text somewhere in it, in any case of its letters, those added last first; at most so many. */
  withText(text: string, most: number): RowPlace[];
  withAmount(amount: string, most: number): RowPlace[];
  /** Rows of beneficiaries who are marked by a 1 at their number. */
  withBeneficiaries(marked: Uint8Array, most: number): RowPlace[];
}

export interface RowPlace {
  readonly run: number;
  readonly line: number;
}

const LINE_FEED = 10;

export function openRowIndex(): RowIndex {
  const references = openLines();
  const amounts = openLines();
  const columns = openColumns();
  const placesOf = (rows: readonly number[]): RowPlace[] => rows.map(columns.placeOf);
  return {
    add({ run, beneficiary, line, reference, amount }) {
      references.add(reference.toLowerCase());
      amounts.add(amount);
      columns.add(run, line, beneficiary);
    },
    size: columns.size,
    withText: (text, most) => placesOf(references.having(Buffer.from(text.toLowerCase()), most)),
    withAmount: (amount, most) => placesOf(amounts.having(Buffer.from(`\n${amount}\n`), most)),
    withBeneficiaries: (marked, most) => placesOf(columns.of(marked, most)),
  };
}

/** Texts one after the other, each with a line feed before it and after it; beside them where each begins. */
function openLines() {
  let bytes = Buffer.alloc(1 << 16, LINE_FEED);
  let starts = new Uint32Array(1 << 12);
  let end = 1;
  let count = 0;

  /** The text in which a byte stands. */
  function lineAt(offset: number): number {
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  return {
    add(text: string) {
      const needed = end + Buffer.byteLength(text) + 1;
      if (needed > bytes.length) bytes = Buffer.concat([bytes.subarray(0, end)], Math.max(needed, 2 * bytes.length));
      starts = roomFor(starts, count);
      starts[count++] = end;
      end += bytes.write(text, end);
      bytes[end++] = LINE_FEED;
    },
    having(wanted: Buffer, most: number): number[] {
      const found: number[] = [];
      const written = bytes.subarray(0, end);
      for (let before = end; found.length < most && before > 0; ) {
        const at = written.lastIndexOf(wanted, before - wanted.length);
        if (at === -1 || wanted.length > before) break;
        const line = lineAt(wanted[0] === LINE_FEED ? at + 1 : at);
        found.push(line);
        // What ends before this text begins; its line feed may be the first byte of what is wanted next.
        before = starts[line] ?? 0;
      }
      return found;
    },
  };
}

function openColumns() {
  let runs = new Uint32Array(1 << 12);
  let lines = new Uint32Array(1 << 12);
  let beneficiaries = new Uint32Array(1 << 12);
  let count = 0;
  return {
    size: () => count,
    add(run: number, line: number, beneficiary: number) {
      [runs, lines, beneficiaries] = [roomFor(runs, count), roomFor(lines, count), roomFor(beneficiaries, count)];
      runs[count] = run;
      lines[count] = line;
      beneficiaries[count++] = beneficiary;
    },
    placeOf: (row: number): RowPlace => ({ run: runs[row] ?? 0, line: lines[row] ?? 0 }),
    of(marked: Uint8Array, most: number): number[] {
      const found: number[] = [];
      for (let row = count - 1; row >= 0 && found.length < most; row--) {
        if (marked[beneficiaries[row] ?? 0] === 1) found.push(row);
      }
      return found;
    },
  };
}

function roomFor(numbers: Uint32Array<ArrayBuffer>, place: number): Uint32Array<ArrayBuffer> {
  if (place < numbers.length) return numbers;
  const larger = new Uint32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
