import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { growthPlot } from './plot.ts';
import { cellsOf, coresText, machineTexts, markdown, type Results, type SectionRecord } from './results.ts';

const PAGE = 'docs/performance.md';
const PLOT_FOLDER = 'docs/performance';
const BEGIN = '<!-- npm run bench writes from here -->';
const END = '<!-- npm run bench writes to here -->';
const PLOT = '![Time per row at three sizes of a run](performance/growth.svg)';
const HEAD = ['figure', 'unit', 'median (lowest to highest)', 'limit', 'of the limit', 'target', ''];

/** Brings docs/performance.md and its plot up to date. */
export function writePages(results: Results): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no place for the result`);
  writeFileSync(PAGE, `${before}${BEGIN}\n${resultText(results)}\n${END}${after}`);
  const plot = growthPlot(results.sections.flatMap(({ figures }) => figures));
  if (plot === undefined) return;
  mkdirSync(PLOT_FOLDER, { recursive: true });
  writeFileSync(`${PLOT_FOLDER}/growth.svg`, plot);
}

function resultText(results: Results): string {
  return [`${machineTexts(results).join('; ')}.`, ...results.sections.map(sectionText)].join('\n\n');
}

function sectionText({ title, name, at, machine, notes, figures }: SectionRecord): string {
  const measured = `\`${name}\`, ${at.slice(0, 10)}, ${coresText(machine)}.`;
  const hasPlot = figures.some(({ point }) => point !== undefined);
  return [
    `### ${title}`,
    `${measured} ${notes.join(' ')}`,
    ...(hasPlot ? [PLOT] : []),
    markdown([HEAD, ...figures.map(cellsOf)]),
  ].join('\n\n');
}
