import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { COLUMNS } from '../../intake/template/columns.ts';
import { parseTemplate, readTemplateText, type TemplateProblem } from '../../intake/template/file.ts';
import { samplesFolder } from '../../intake/template/shipped.ts';
import { nameOf, type Template } from '../../intake/template/template.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { print, printJson, safeText } from '../print.ts';
import { templateFile } from '../run/named-template.ts';

const SCHEMA_FILE = 'template.schema.json';

const checkCommand = command(
  'check',
  {
    about: 'show everything that is wrong with a template, or what it says',
    takes: { '<file>': 'the template: a JSON file, or a name of "payrun template list"' },
    options: { json: 'print what was found as JSON' },
    examples: ['payrun template check semicolon.json'],
  },
  async ({ file, json }) => {
    const parsed = parseTemplate(await readTemplateText(await templateFile(file)));
    const problems = Array.isArray(parsed) ? parsed : [];
    if (json) printJson({ file, valid: problems.length === 0, problems });
    else print(safeText(Array.isArray(parsed) ? describeProblems(file, parsed) : describeTemplate(parsed)));
    return problems.length === 0 ? EXIT.ok : EXIT.usage;
  },
);

const listCommand = command(
  'list',
  {
    about: 'list the templates of a folder',
    takes: { '[folder]': 'the folder (default: the samples that come with payrun)' },
    options: { json: 'print them as JSON' },
    examples: ['payrun template list', 'payrun template list ./templates'],
  },
  async ({ folder, json }) => await listTemplates(folder ?? (await samplesFolder()), json),
);

/** `payrun template`: what a template says, and which templates lie in a folder. Touches nothing. */
export const templateCommand = command('template', {
  examples: ['payrun template check semicolon.json', 'payrun template list'],
  parts: [checkCommand, listCommand],
});

function describeProblems(file: string, problems: readonly TemplateProblem[]): string {
  return [`Invalid template ${file}:`, ...problems].join('\n  ');
}

function describeTemplate(template: Template): string {
  const renamed = COLUMNS.filter((column) => nameOf(template, column) !== column);
  const { decimalMark, thousandsMark, delimiter } = template;
  return columns([
    ['template', template.name ?? ''],
    ['description', template.description],
    ['delimiter', JSON.stringify(delimiter)],
    ['amounts', `1${thousandsMark ?? ''}234${decimalMark}56`],
    ...renamed.map((column) => [column, `is called ${nameOf(template, column)}`]),
    ...[...template.fixed].map(([column, value]) => [column, `is always ${value}`]),
    ...[...template.required].map((column) => [column, 'has to be filled']),
    ['columns not read', String(template.ignored.size)],
  ]);
}

async function listTemplates(folder: string, json: boolean): Promise<undefined> {
  const files = (await namesIn(folder)).filter((name) => name.endsWith('.json') && name !== SCHEMA_FILE).toSorted();
  const found = [];
  for (const name of files) {
    const file = join(folder, name);
    const parsed = parseTemplate(await readTemplateText(file));
    found.push(
      Array.isArray(parsed)
        ? { file, name: null, description: null, valid: false }
        : { file, name: parsed.name, description: parsed.description, valid: true },
    );
  }
  if (json) printJson(found);
  else print(columns(found.map(({ file, name, description }) => [name ?? 'invalid', file, description ?? ''])));
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new Refusal(
      `The folder ${folder} cannot be read (${codeOf(cause) ?? 'reason unknown'}).`,
      'Name a folder with templates.',
      { cause },
    );
  }
}
