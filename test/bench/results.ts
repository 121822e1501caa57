import { type Figure, isMet, type SectionResult, type Spread } from './figures.ts';

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly versions: Readonly<Record<string, string>>;
}

export interface SectionRecord extends SectionResult {
  readonly name: string;
  readonly title: string;
  /** RFC 3339. */
  readonly at: string;
  readonly seconds: number;
  readonly isQuick: boolean;
  /** Where it was measured: sections that were not asked for keep theirs. */
  readonly machine: Machine;
}

/** What test/bench/last.json holds. */
export interface Results {
  readonly sections: readonly SectionRecord[];
}

const HEAD = ['figure', 'unit', 'median (lowest to highest)', 'limit', 'of the limit', 'target', '', 'committed'];

/** The table: each figure with its spread, its limit, its target, and how the last committed result compares. */
export function tableOf(results: Results, before?: Results): string {
  const rows = results.sections.flatMap((section) =>
    section.figures.map((figure) => [
      `${section.name}, ${section.machine.cores} cores`,
      ...cellsOf(figure),
      changeOf(section.name, figure, before),
    ]),
  );
  const machines = machineTexts(results);
  return [...machines, '', markdown([['section', ...HEAD], ...rows])].join('\n');
}

/** The machines of a result, each once. */
export function machineTexts({ sections }: Results): string[] {
  const texts = sections.map(({ machine }) => {
    const named = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
    return `${coresText(machine)}, ${named.join(', ')}, everything on one machine`;
  });
  return [...new Set(texts)];
}

export function coresText({ cores, processor }: Machine): string {
  return `${cores} cores (${processor.trim()})`;
}

/** What a figure says, without its section. */
export function cellsOf(figure: Figure): string[] {
  const { name, unit, value, limit, ratio } = figure;
  return [
    name,
    unit,
    spreadText(value),
    limit === undefined ? '' : `${limit.name}: ${spreadText(limit.value)}`,
    ratio === undefined ? '' : spreadText(ratio),
    targetText(figure),
    metText(figure),
  ];
}

function metText(figure: Figure): string {
  const met = isMet(figure);
  if (met === undefined) return '';
  return met ? 'met' : 'missed';
}

function targetText({ target }: Figure): string {
  if (target === undefined) return '';
  const parts = [
    target.atLeast === undefined ? [] : [`≥ ${numberText(target.atLeast)}`],
    target.atMost === undefined ? [] : [`≤ ${numberText(target.atMost)}`],
  ];
  return [parts.flat().join(', '), ...(target.always ? ['always'] : [])].join(', ');
}

function spreadText({ median, min, max, rounds }: Spread): string {
  return rounds === 1 ? numberText(median) : `${numberText(median)} (${numberText(min)} to ${numberText(max)})`;
}

export function numberText(value: number): string {
  if (Number.isNaN(value)) return 'none';
  if (value !== 0 && Math.abs(value) < 20) return value.toFixed(Math.abs(value) < 2 ? 3 : 1).replace(/\.?0+$/, '');
  return Math.round(value).toLocaleString('en');
}

/** By how much the ratio, or the value where there is no ratio, differs from the committed one. */
function changeOf(section: string, figure: Figure, before: Results | undefined): string {
  const same = before?.sections
    .find(({ name }) => name === section)
    ?.figures.find(({ name, unit }) => name === figure.name && unit === figure.unit);
  if (same === undefined) return '';
  const now = (figure.ratio ?? figure.value).median;
  const then = (same.ratio ?? same.value).median;
  const percent = then === 0 ? 0 : Math.round((now / then - 1) * 100);
  return `${numberText(then)} (${percent >= 0 ? '+' : ''}${percent} %)`;
}

/** Rows as a Markdown table whose columns stand below each other. */
export function markdown(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [lineOf(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rest.map(lineOf)].join('\n');
}
