import type { XmlElement, XmlListener } from '../xml.ts';
import type { RawCell } from './cell.ts';
import { isSpreadsheet } from './parts.ts';
import { openCellText } from './shared-texts.ts';
import { damaged } from './zip.ts';

/** What a sheet tells, row by row. */
export interface SheetListener {
  /** A row with what stands in its cells, by their column from 0 on; cells without values are not among them. */
  row(row: {
    readonly line: number;
    readonly isHidden: boolean;
    readonly cells: readonly (readonly [number, RawCell])[];
  }): void;
  /** Columns that nobody sees, first and last from 0 on. */
  hiddenColumns(first: number, last: number): void;
  /** Cells that are merged into one, as a range such as A1:B2. */
  merged(range: string, line: number): void;
}

/** Rows and columns of the largest sheet that there is. */
const ROWS_MAX = 1_048_576;
export const COLUMNS_MAX = 16_384;
/** Cells with values stand no further right: no payout file is near so wide. */
const COLUMNS_READ_MAX = 1000;
/** Ranges of cells, of each kind. */
export const RANGES_MAX = 1000;
const RANGE_CHARACTERS_MAX = 32;
const LETTERS = 26;
const CODE_OF_A = 'A'.charCodeAt(0);

/** Reads the XML of a sheet (ISO/IEC 29500-1, 18.3). Throws a DamageError for rows or cells that are out of order. */
export function openSheetReader(listener: SheetListener, { recordBytesMax }: { recordBytesMax: number }): XmlListener {
  const path: string[] = [];
  const text = openCellText(recordBytesMax);
  const value = openCellText(recordBytesMax);
  let row = { line: 0, isHidden: false };
  let cells: (readonly [number, RawCell])[] = [];
  let cell = { type: '', style: 0, hasFormula: false, column: -1 };
  let computed: readonly Results[] = [];
  let isRowHidden = false;

  const starts: Readonly<Record<string, (element: XmlElement) => void>> = {
    col: (element) => {
      if (!isHidden(element, 'width')) return;
      listener.hiddenColumns(numberOf(element, 'min', COLUMNS_MAX) - 1, numberOf(element, 'max', COLUMNS_MAX) - 1);
    },
    sheetFormatPr: (element) => {
      isRowHidden = isTrue(element, 'zeroHeight');
    },
    row: (element) => {
      const line = lineOf(element, row.line);
      row = { line, isHidden: isHidden(element, 'ht') || (isRowHidden && element.attribute('ht') === undefined) };
      cells = [];
      cell = { ...cell, column: -1 };
    },
    c: (element) => {
      const place = element.attribute('r');
      const column = place === undefined ? cell.column + 1 : columnOf(place, row.line);
      if (column <= cell.column) throw damaged('its cells are out of order');
      const style = element.attribute('s') === undefined ? 0 : numberOf(element, 's', Number.MAX_SAFE_INTEGER);
      cell = { type: element.attribute('t') ?? '', style, hasFormula: false, column };
      text.clear();
      value.clear();
    },
    f: (element) => {
      cell.hasFormula = true;
      const results = resultsOf(element);
      if (results !== undefined) computed = withResults(computed, results, row.line);
    },
    mergeCell: (element) => {
      const range = (element.attribute('ref') ?? '').slice(0, RANGE_CHARACTERS_MAX);
      listener.merged(range, Number(/[0-9]+/.exec(range)?.[0] ?? '1'));
    },
  };

  function endCell(): void {
    const content = cell.type === 'inlineStr' ? text.take() : value.take();
    if (content === '' && !cell.hasFormula) return;
    const { type, style, column } = cell;
    if (column >= COLUMNS_READ_MAX) throw damaged('it has far too many columns');
    const hasFormula = cell.hasFormula || computed.some((results) => covers(results, row.line, column));
    cells.push([column, { type, style, hasFormula, text: content }]);
  }

  return {
    open(element) {
      path.push(isSpreadsheet(element) ? element.local : '');
      starts[path.at(-1) ?? '']?.(element);
      text.open(path);
      value.open(path.at(-1) === 'v' ? ['t'] : []);
    },
    text(piece) {
      text.add(piece);
      value.add(piece);
    },
    close() {
      const closed = path.pop();
      if (closed === 'c') endCell();
      if (closed === 'row') listener.row({ ...row, cells });
      text.open(path);
      value.open([]);
    },
  };
}

/** The line of a row, which comes behind the row before it. */
function lineOf(element: XmlElement, before: number): number {
  const line = element.attribute('r') === undefined ? before + 1 : numberOf(element, 'r', ROWS_MAX);
  if (line <= before) throw damaged('its rows are out of order');
  if (line > ROWS_MAX) throw damaged('it has far too many rows');
  return line;
}

/** Hidden, or so narrow or low that nobody sees it. */
function isHidden(element: XmlElement, size: 'width' | 'ht'): boolean {
  return isTrue(element, 'hidden') || /^0+(?:\.[0-9]*)?$/.test(element.attribute(size) ?? '');
}

function isTrue(element: XmlElement, name: string): boolean {
  const value = element.attribute(name);
  return value === '1' || value === 'true';
}

/** Cells that hold the results of one formula, which stands in the first of them only (18.3.1.40); columns from 0 on. */
interface Results {
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

function covers({ lastRow, firstColumn, lastColumn }: Results, line: number, column: number): boolean {
  return line <= lastRow && firstColumn <= column && column <= lastColumn;
}

/** Without those that ended above the row. */
function withResults(computed: readonly Results[], results: Results, line: number): Results[] {
  const all = [...computed.filter(({ lastRow }) => lastRow >= line), results];
  if (all.length > RANGES_MAX) throw damaged('it has far too many formulas that fill several cells');
  return all;
}

/** Undefined for a formula of one cell; those of a shared one say themselves that they have one. */
function resultsOf(element: XmlElement): Results | undefined {
  const kind = element.attribute('t');
  if (kind !== 'array' && kind !== 'dataTable') return undefined;
  const [first = '', last = first] = (element.attribute('ref') ?? '').split(':');
  const lastRow = Number(/[0-9]{1,7}$/.exec(last)?.[0] ?? '0');
  return {
    lastRow,
    firstColumn: columnOf(first, Number(/[0-9]{1,7}$/.exec(first)?.[0] ?? '0')),
    lastColumn: columnOf(last, lastRow),
  };
}

function numberOf(element: XmlElement, name: string, max: number): number {
  const text = element.attribute(name) ?? '';
  const number = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw damaged(`a ${element.local} of it has no sound number`);
  return number;
}

/** The column of a cell such as AB12, from 0 on; the cell has to be one of its row. */
function columnOf(place: string, line: number): number {
  const [, letters, digits] = /^([A-Z]{1,3})([1-9][0-9]{0,6})$/.exec(place) ?? [];
  if (letters === undefined || Number(digits) !== line) throw damaged('its cells are out of order');
  let column = 0;
  for (const letter of letters) column = column * LETTERS + letter.charCodeAt(0) - CODE_OF_A + 1;
  if (column > COLUMNS_MAX) throw damaged('it has far too many columns');
  return column - 1;
}

/** The letters of a column, from 0 on: 27 is AB. */
export function lettersOf(column: number): string {
  let letters = '';
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / LETTERS)) {
    letters = String.fromCharCode(CODE_OF_A + ((rest - 1) % LETTERS)) + letters;
  }
  return letters;
}
