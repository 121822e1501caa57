import { type Problem, problemOf } from '../problems/problems.ts';
import { escapeUnseen, showValue } from '../problems/shown-value.ts';
import type { FileRecord } from '../record.ts';
import { COLUMNS, type Column, columnOf, isMark } from '../template/columns.ts';
import { isDemanded, nameOf, openAmountReader, type Template } from '../template/template.ts';

/** One column that is read. */
export interface HeaderColumn {
  readonly column: Column;
  /** What the file calls it. */
  readonly name: string;
  /** The index of its cell in each row; -1 for a column that only the template has. */
  readonly at: number;
  /** What the template says of it, at hand for each cell: whether it has to be filled, its one value, its values. */
  readonly isDemanded: boolean;
  readonly fixed: string | undefined;
  readonly allowed: ReadonlySet<string> | undefined;
}

/** What a row says in the column: its cell, or the value that the template fixes. */
export function textIn({ at, fixed }: HeaderColumn, cells: readonly string[]): string {
  const text = cells[at] ?? '';
  return text === '' ? (fixed ?? '') : text;
}

/** A header that names each column once, and all columns that are needed. */
export interface Header {
  /** Cells of each row, those that are not read included. */
  readonly width: number;
  /** What the file calls all of its columns. */
  readonly names: readonly string[];
  readonly columns: readonly HeaderColumn[];
  /** The same columns as we call them. */
  readonly columnNames: readonly Column[];
  readonly template: Template;
  readonly readAmount: (text: string) => string | undefined;
}

/** No payout file is near so wide. */
const COLUMNS_MAX = 1000;

const DELIMITER_NAMES: ReadonlyMap<string, string> = new Map([
  [';', 'semicolons'],
  ['\t', 'tab characters'],
  ['|', 'vertical bars'],
  [',', 'commas'],
]);

function looseNameOf(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\p{C}\s_"'-]/gu, '');
}

/** Whether a first line is the spreadsheet's hint for the delimiter, which may stand above the header. */
export function isSeparatorHint(cells: readonly string[]): boolean {
  return cells.length === 2 && cells[0] === 'sep=' && cells[1] === '';
}

/** The header, or everything that is wrong with it. */
export function readHeader({ line, cells, cellFaults }: FileRecord, template: Template): Header | Problem[] {
  if (cells.length > COLUMNS_MAX) return [headerProblem({ line, template }, `it has more than ${COLUMNS_MAX} columns`)];
  const names = namesOf(template);
  const found = cells.flatMap((name, at) => {
    const column = names.byName.get(name);
    return column === undefined ? [] : [headerColumn(column, { name, at, template })];
  });
  const missing = missingColumns(found, template);
  const isSound =
    cellFaults === undefined && cells.every((cell) => names.byName.has(cell) || isSkipped(cell, template));
  if (isSound && missing.length === 0 && new Set(cells).size === cells.length) {
    return headerOf(cells, found, template);
  }
  const delimiter = otherDelimiterOf(cells.join(template.delimiter), names.byLooseName, template);
  if (found.length <= 1 && delimiter !== undefined) {
    return [problemOf('E_DELIMITER', { line, facts: { found: delimiter, expected: nameOfDelimiter(template) } })];
  }
  if (!cells.some((cell) => names.byLooseName.has(looseNameOf(cell)))) {
    return [
      headerProblem({ line, template }, 'none of the names in it is that of a column, so it may be a title or a row'),
    ];
  }
  const place = { line, template };
  return [
    ...repeatedColumns(cells).map(([name, times]) =>
      problemOf('E_HEADER_DUP', { line, column: showName(name), facts: { found: times } }),
    ),
    ...cells.flatMap((cell, at) => unknownColumn(place, cell, { at, names, isFaulty: cellFaults?.has(at) ?? false })),
    ...missing.map((column) => {
      const name = nameOf(template, column);
      return headerProblem(place, `the column ${name} is missing`, name);
    }),
  ];
}

function headerColumn(
  column: Column,
  { name, at, template }: { name: string; at: number; template: Template },
): HeaderColumn {
  const { fixed, allowed } = template;
  return {
    column,
    name,
    at,
    isDemanded: isDemanded(template, column),
    fixed: fixed.get(column),
    allowed: allowed.get(column),
  };
}

function headerOf(cells: readonly string[], found: readonly HeaderColumn[], template: Template): Header {
  const inFile = new Set(found.map(({ column }) => column));
  const added = [...template.fixed.keys()].filter((column) => !inFile.has(column));
  const columns = [...found, ...added.map((column) => headerColumn(column, { name: column, at: -1, template }))];
  return {
    width: cells.length,
    names: cells,
    columns,
    columnNames: columns.map(({ column }) => column),
    template,
    readAmount: openAmountReader(template),
  };
}

type Names = ReturnType<typeof namesOf>;

/** The columns by the names that the file has for them, exactly and as people write them. */
function namesOf(template: Template) {
  const named = COLUMNS.map((column) => [nameOf(template, column), column] as const);
  // Maps, so that `__proto__` and `constructor` are names like any other.
  return {
    byName: new Map<string, Column>(named),
    byLooseName: new Map(named.map(([name]) => [looseNameOf(name), name])),
  };
}

function isSkipped(name: string, { ignored }: Template): boolean {
  return isMark(name) || ignored.has(name);
}

function missingColumns(found: readonly HeaderColumn[], template: Template): Column[] {
  const known = new Set([...found.map(({ column }) => column), ...template.fixed.keys()]);
  return COLUMNS.filter((column) => isDemanded(template, column) && !known.has(column));
}

type HeaderPlace = { readonly line: number; readonly template: Template };

function headerProblem({ line, template }: HeaderPlace, found: string, column?: string): Problem {
  const needed = COLUMNS.filter((name) => isDemanded(template, name) && !template.fixed.has(name));
  const others = COLUMNS.filter((name) => !isDemanded(template, name) || template.fixed.has(name));
  const listed = (columns: readonly Column[]): string => columns.map((name) => nameOf(template, name)).join(', ');
  const facts = { found, required: listed(needed), optional: listed(others) };
  return problemOf('E_HEADER', { line, facts, ...(column === undefined ? {} : { column }) });
}

/** A first line that stands blank above the header. */
export function blankFirstLine(template: Template): Problem {
  return headerProblem({ line: 1, template }, 'the first line is blank');
}

function nameOfDelimiter({ delimiter }: Template): string {
  return DELIMITER_NAMES.get(delimiter) ?? delimiter;
}

function otherDelimiterOf(text: string, byLooseName: Names['byLooseName'], template: Template): string | undefined {
  const hint = /^sep=(.)/u.exec(text)?.[1];
  if (hint !== undefined) return DELIMITER_NAMES.get(hint) ?? `"${escapeUnseen(hint)}"`;
  for (const [delimiter, name] of DELIMITER_NAMES) {
    if (delimiter === template.delimiter) continue;
    const names = text.split(delimiter, COLUMNS_MAX);
    if (names.length > 1 && names.some((cell) => byLooseName.has(looseNameOf(cell)))) return name;
  }
  return undefined;
}

function repeatedColumns(cells: readonly string[]): [string, number][] {
  const times = new Map<string, number>();
  for (const cell of cells) times.set(cell, (times.get(cell) ?? 0) + 1);
  return [...times].filter(([cell, count]) => count > 1 && cell !== '');
}

function unknownColumn(
  place: HeaderPlace,
  cell: string,
  { at, names, isFaulty }: { at: number; names: Names; isFaulty: boolean },
): Problem[] {
  if (isFaulty) return [headerProblem(place, `column ${at + 1} is named by something else than plain text`)];
  if (names.byName.has(cell) || isSkipped(cell, place.template)) return [];
  if (cell.trim() === '') return [headerProblem(place, `column ${at + 1} has no name`)];
  const meant = names.byLooseName.get(looseNameOf(cell)) ?? columnOf(cell);
  const name = showName(cell);
  const found = meant === undefined ? `there is no column ${name}` : hintOf(place.template, meant, name);
  return [headerProblem(place, found, name)];
}

/** A column under our own name where the template has another is no slip of the pen. */
function hintOf(template: Template, meant: string, name: string): string {
  const column = columnOf(meant);
  const expected = column === undefined ? meant : nameOf(template, column);
  return `write ${expected} exactly so, not ${name}`;
}

/** Names show whole; anything else may be a value that slid into the first line. */
function showName(name: string): string {
  return /^[\p{L}\s_-]{1,40}$/u.test(name) ? escapeUnseen(name) : showValue(null, name);
}
