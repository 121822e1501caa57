import { type Problem, problemOf } from '../problems/problems.ts';
import type { FileRecord } from '../record.ts';
import { type CheckedRow, checkRow, refusedRow } from '../row/row.ts';
import type { Template } from '../template/template.ts';
import { blankFirstLine, type Header, isSeparatorHint, readHeader } from './header.ts';

/** A row may have millions of them before it, and others have their turn between. */
const EMPTY_LINES_AT_ONCE_MAX = 4;

export interface RowListener {
  header?(header: Header): void;
  /** The file is a payment message of this version. */
  message?(name: string): void;
  row(checked: CheckedRow): void;
  /** A problem of the file's structure that is no row's: the file is refused. */
  damage(problem: Problem): void;
  warning(problem: Problem): void;
  /** The last line of the file has no line end: it may have been cut off there. */
  cutShort(line: number): void;
}

/** Makes rows of records: the first is the header, and lines without values at the end are none. Tells in file order. */
export interface Table {
  /** False: some of the lines before it came to be told, and it has to be given once more. */
  read(record: FileRecord): boolean;
  /** The file has ended; `cutShortLine` is the line of a last record without a line end. */
  end(cutShortLine: number | undefined): void;
  /** Tells damage after which nothing more is told. */
  stop(damage: Problem): void;
  isStopped(): boolean;
}

export function openTable(shape: { rowsMax: number; template: Template }, listener: RowListener): Table {
  const emptyLines = openEmptyLines();
  let header: Header | undefined;
  let hasBlankFirstLine = false;
  let rows = 0;
  let isStopped = false;

  function stop(damage: Problem): void {
    isStopped = true;
    listener.damage(damage);
  }

  function readFirst(record: FileRecord): void {
    const { line, cells } = record;
    if (cells.length === 1 && cells[0]?.trim() === '') {
      hasBlankFirstLine = true;
      return;
    }
    if (line === 1 && isSeparatorHint(cells)) return;
    const read = hasBlankFirstLine ? [blankFirstLine(shape.template)] : readHeader(record, shape.template);
    if (Array.isArray(read)) for (const problem of read) stop(problem);
    else tellHeader(read);
  }

  function tellHeader(read: Header): void {
    header = read;
    listener.header?.(read);
  }

  function readNext(record: FileRecord, known: Header): boolean {
    const { line, cells } = record;
    const isBlank = cells.length === 1 && cells[0] === '';
    const isEmpty = isBlank || isWithoutValues(record, known);
    if (rows + emptyLines.count() >= shape.rowsMax) {
      stop(problemOf('E_TOO_MANY_ROWS', { line, facts: { limit: shape.rowsMax } }));
    } else if (isEmpty) {
      emptyLines.keep({ line, isBlank, cells });
    } else {
      if (emptyLines.count() > 0) tellEmptyLines(known);
      if (emptyLines.count() > 0) return false;
      tellRow(checkRow(record, known));
    }
    return true;
  }

  function tellEmptyLines(known: Header): void {
    const cells = known.names.map(() => '');
    for (const empty of emptyLines.take(EMPTY_LINES_AT_ONCE_MAX)) {
      if (empty.isBlank) listener.damage(problemOf('E_BLANK_ROW', { line: empty.line }));
      else tellRow(refusedRow({ ...empty, cells }, known, [problemOf('E_EMPTY_ROW', { line: empty.line })]));
    }
  }

  function tellRow(checked: CheckedRow): void {
    rows++;
    listener.row(checked);
  }

  return {
    read(record) {
      if (isStopped) return true;
      if (header !== undefined) return readNext(record, header);
      readFirst(record);
      return true;
    },
    end(cutShortLine) {
      if (isStopped) return;
      if (header === undefined) stop(problemOf('E_EMPTY', {}));
      else if (rows === 0) stop(problemOf('E_NO_ROWS', {}));
      else if (cutShortLine !== undefined) listener.cutShort(cutShortLine);
      const ignored = emptyLines.count();
      if (ignored > 0) listener.warning(problemOf('W_ROWS_IGNORED', { facts: { found: ignored } }));
    },
    stop,
    isStopped: () => isStopped,
  };
}

function isWithoutValues({ cells }: FileRecord, { width }: Header): boolean {
  return cells.length === 0 || (cells.length === width && cells.every((cell) => cell === ''));
}

/** One line without values: wholly blank, or nothing but commas. */
interface EmptyLine {
  readonly line: number;
  readonly isBlank: boolean;
  readonly cells: readonly string[];
}

/** Lines without values that wait for what follows them: at the end of a file they mean nothing. */
interface EmptyLines {
  keep(line: EmptyLine): void;
  count(): number;
  /** The first of the lines, so many at most. */
  take(countMax: number): EmptyLine[];
}

/** Lines of one kind that follow each other take the memory of one: spreadsheets write a million of them. */
function openEmptyLines(): EmptyLines {
  let stretches: { first: EmptyLine; count: number }[] = [];
  let at = 0;
  let count = 0;
  return {
    keep(line) {
      count++;
      const last = stretches.at(-1);
      if (last?.first.isBlank === line.isBlank) last.count++;
      else stretches.push({ first: line, count: 1 });
    },
    count: () => count,
    take(countMax) {
      const taken: EmptyLine[] = [];
      for (let stretch = stretches[at]; stretch !== undefined && taken.length < countMax; stretch = stretches[at]) {
        taken.push(stretch.first);
        stretch.first = { ...stretch.first, line: stretch.first.line + 1 };
        if (--stretch.count === 0) at++;
      }
      count -= taken.length;
      if (count === 0) {
        stretches = [];
        at = 0;
      }
      return taken;
    },
  };
}
