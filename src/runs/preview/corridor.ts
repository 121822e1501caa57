import type { PayoutRow } from '../../payout.ts';

/** What has a price of its own: currencies, the side whose amount is given, and whether it is paid for another business. */
export interface Corridor {
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
  readonly amountType: PayoutRow['amountType'];
  readonly isThirdParty: boolean;
}

/** The rows of a corridor, and some of them. */
export interface CorridorRows {
  readonly corridor: Corridor;
  readonly rows: number;
  /** Minor units, in the currency that the amount type names. */
  readonly amount: bigint;
  readonly sample: readonly PayoutRow[];
}

/** Adds up rows per corridor and keeps a sample of each, in memory that does not grow with the file. */
export interface Corridors {
  add(row: PayoutRow): void;
  /** In the order of their first rows. */
  result(): readonly CorridorRows[];
}

/** How many rows are kept of each corridor: all of them, or so many. */
export type SampleSize = number | 'all';

export function corridorOf(row: PayoutRow): Corridor {
  const { sourceCurrency, destinationCurrency, amountType } = row;
  return { sourceCurrency, destinationCurrency, amountType, isThirdParty: row.originatorIdentityId !== null };
}

/** A corridor as text: `USD MXN SOURCE_AMOUNT own`, or `… third-party`. */
export function corridorKey({ sourceCurrency, destinationCurrency, amountType, isThirdParty }: Corridor): string {
  return `${sourceCurrency} ${destinationCurrency} ${amountType} ${isThirdParty ? 'third-party' : 'own'}`;
}

/** With many corridors the samples are smaller, so that about `rowsMax` rows are kept in all. */
export function openCorridors(size: SampleSize, rowsMax: number): Corridors {
  const found = new Map<string, OneCorridor>();
  const sizeNow = (): number =>
    size === 'all' ? Number.POSITIVE_INFINITY : Math.max(1, Math.min(size, Math.floor(rowsMax / found.size)));
  return {
    add(row) {
      const corridor = corridorOf(row);
      const key = corridorKey(corridor);
      const rows = found.get(key) ?? openCorridor(corridor);
      found.set(key, rows);
      rows.add(row, sizeNow());
    },
    result: () => [...found.values()].map((rows) => rows.result(sizeNow())),
  };
}

interface OneCorridor {
  /** Every so many rows one is kept; when there are twice as many as wanted, every other one of them is let go. */
  add(row: PayoutRow, size: number): void;
  /** The smallest and the largest row are in the sample: what is estimated lies between what was seen. */
  result(size: number): CorridorRows;
}

function openCorridor(corridor: Corridor): OneCorridor {
  let rows = 0;
  let amount = 0n;
  let stride = 1;
  let kept: PayoutRow[] = [];
  let smallest: PayoutRow | undefined;
  let largest: PayoutRow | undefined;
  return {
    add(row, size) {
      if (rows % stride === 0) kept.push(keep(row));
      if (smallest === undefined || row.amount.minor < smallest.amount.minor) smallest = keep(row);
      if (largest === undefined || row.amount.minor > largest.amount.minor) largest = keep(row);
      while (kept.length > 2 * size) {
        kept = kept.filter((_, index) => index % 2 === 0);
        stride *= 2;
      }
      rows++;
      amount += row.amount.minor;
    },
    result(size) {
      if (kept.length <= size) return { corridor, rows, amount, sample: kept };
      const edges = [smallest, largest].filter((row) => row !== undefined);
      const sample = new Map([...spread(kept, size), ...edges].map((row) => [row.line, row]));
      return { corridor, rows, amount, sample: [...sample.values()].toSorted((one, other) => one.line - other.line) };
    },
  };
}

/** A copy that does not keep the piece of the file alive out of which its texts were cut. */
function keep(row: PayoutRow): PayoutRow {
  return structuredClone(row);
}

function spread(rows: readonly PayoutRow[], size: number): PayoutRow[] {
  return Array.from({ length: size }, (_, index) => rows[Math.floor((index * rows.length) / size)]).filter(
    (row) => row !== undefined,
  );
}

/** The rows of all samples, one of each corridor in turn, so that whoever stops early has seen something of each. */
export function inTurn(corridors: readonly CorridorRows[]): PayoutRow[] {
  const longest = Math.max(0, ...corridors.map(({ sample }) => sample.length));
  const turns = Array.from({ length: longest }, (_, turn) => corridors.map(({ sample }) => sample[turn]));
  return turns.flat().filter((row) => row !== undefined);
}
