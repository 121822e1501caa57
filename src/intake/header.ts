import { COLUMNS, type Column, columnOf, REQUIRED_COLUMNS } from './columns.ts';
import { type Problem, problemOf } from './problems.ts';
import type { FileRecord } from './records.ts';
import { escapeUnseen, showValue } from './shown-value.ts';

/** A header that names each column once: the columns in the order of the file's cells. */
export interface Header {
  readonly columns: readonly Column[];
}

const OTHER_DELIMITERS: ReadonlyMap<string, string> = new Map([
  [';', 'semicolons'],
  ['\t', 'tab characters'],
  ['|', 'vertical bars'],
]);

/** A column as people write it: without regard to capital letters, blanks, invisible characters, _ and -. */
const BY_LOOSE_NAME: ReadonlyMap<string, Column> = new Map(COLUMNS.map((column) => [looseNameOf(column), column]));

function looseNameOf(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\p{C}\s_"'-]/gu, '');
}

/** Whether a first line is the spreadsheet's hint for the comma, which may stand above the header (bad-input case 31). */
export function isSeparatorHint(cells: readonly string[]): boolean {
  return cells.length === 2 && cells[0] === 'sep=' && cells[1] === '';
}

/** The header, or everything that is wrong with it (design 11; bad-input cases 30 to 37). */
export function readHeader({ line, cells }: FileRecord): Header | Problem[] {
  const columns = cells.map((cell) => columnOf(cell)).filter((column) => column !== undefined);
  const missing = REQUIRED_COLUMNS.filter((column) => !columns.includes(column));
  if (columns.length === cells.length && missing.length === 0 && new Set(columns).size === columns.length) {
    return { columns };
  }
  const delimiter = otherDelimiterOf(cells.join(','));
  if (columns.length <= 1 && delimiter !== undefined) {
    return [problemOf('E_DELIMITER', { line, facts: { found: delimiter } })];
  }
  if (!cells.some((cell) => BY_LOOSE_NAME.has(looseNameOf(cell)))) {
    return [headerProblem(line, 'none of the names in it is that of a column, so it may be a title or a row')];
  }
  return [
    ...repeatedColumns(cells).map(([name, times]) =>
      problemOf('E_HEADER_DUP', { line, column: showName(name), facts: { found: times } }),
    ),
    ...cells.flatMap((cell, at) => (columnOf(cell) === undefined ? [unknownColumn(line, cell, at)] : [])),
    ...missing.map((column) => headerProblem(line, `the column ${column} is missing`, column)),
  ];
}

function headerProblem(line: number, found: string, column?: string): Problem {
  return problemOf('E_HEADER', { line, facts: { found }, ...(column === undefined ? {} : { column }) });
}

/** A first line that stands blank above the header. */
export function blankFirstLine(): Problem {
  return headerProblem(1, 'the first line is blank');
}

function otherDelimiterOf(text: string): string | undefined {
  const hint = /^sep=(.)/u.exec(text)?.[1];
  if (hint !== undefined) return OTHER_DELIMITERS.get(hint) ?? `"${escapeUnseen(hint)}"`;
  for (const [delimiter, name] of OTHER_DELIMITERS) {
    const names = text.split(delimiter);
    if (names.length > 1 && names.some((cell) => BY_LOOSE_NAME.has(looseNameOf(cell)))) return name;
  }
  return undefined;
}

function repeatedColumns(cells: readonly string[]): [string, number][] {
  const times = new Map<string, number>();
  for (const cell of cells) times.set(cell, (times.get(cell) ?? 0) + 1);
  return [...times].filter(([cell, count]) => count > 1 && cell !== '');
}

function unknownColumn(line: number, cell: string, at: number): Problem {
  if (cell.trim() === '') return headerProblem(line, `column ${at + 1} has no name`);
  const meant = BY_LOOSE_NAME.get(looseNameOf(cell));
  const name = showName(cell);
  const found = meant === undefined ? `there is no column ${name}` : `write ${meant} exactly so, not ${name}`;
  return headerProblem(line, found, name);
}

/** Names show whole; anything else may be a value that slid into the first line. */
function showName(name: string): string {
  return /^[\p{L}\s_-]{1,40}$/u.test(name) ? escapeUnseen(name) : showValue(null, name);
}
