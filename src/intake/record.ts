import type { ProblemCode } from './problems/problem-kinds.ts';
import type { Facts } from './problems/problems.ts';
import type { CellFault } from './row/cells.ts';

/** One line of the table, whatever format the table came in. */
export interface FileRecord {
  /**
   * What a person finds it by: in CSV the physical line on which it begins, counted from 1 by line feeds; in a workbook
   * the sheet's row; in a payment message its transaction, where the message's head counts as line 1.
   */
  readonly line: number;
  /** None of a row that has no values at all, where the format shows that before its cells are read. */
  readonly cells: readonly string[];
  /** Cells, by their index, that the format itself shows to be wrong, such as a formula; their text is not looked at. */
  readonly cellFaults?: ReadonlyMap<number, CellFault>;
  /** Words beside the numbers of cells, by their index, that their format alone shows, such as the sign of a currency. */
  readonly cellWords?: ReadonlyMap<number, readonly string[]>;
  /** What is wrong with the record in no cell of it. */
  readonly faults?: readonly CellFault[];
}

/** What refuses the whole file. */
export interface Damage {
  readonly code: ProblemCode;
  readonly line: number | null;
  readonly facts?: Facts;
  /** In place of the remedy of its kind. */
  readonly remedy?: string;
}

/** Records that one more piece of a file gave. */
export interface RecordBatch {
  readonly records: readonly FileRecord[];
  /** Damage that was found meanwhile and does not keep the reader from reading on. */
  readonly damage?: readonly Damage[];
  /** Damage behind the records: no others follow. */
  readonly stop?: Damage;
  /** The line of the last record of the file, when that has no line end. */
  readonly cutShortLine?: number;
  /** The version of a payment message, such as pain.001.001.09, once it is known. */
  readonly message?: string;
}

/** Bytes of one format as records, the header first. All of the bytes are taken, also behind damage that stops the reading. */
export type RecordStream = AsyncGenerator<RecordBatch, void>;
