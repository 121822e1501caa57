import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { COLUMNS } from '../../intake/template/columns.ts';
import { parseTemplate, readTemplateText, type TemplateProblem } from '../../intake/template/file.ts';
import { nameOf, type Template } from '../../intake/template/template.ts';
import { codeOf, EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { parseOptions } from '../options.ts';
import { print, printJson, safeText } from '../print.ts';
import { samplesFolder } from '../run/named-template.ts';

const schema = z.object({ json: z.boolean() });
const SCHEMA_FILE = 'template.schema.json';

/** `payrun template`: what a template says, and which templates lie in a folder. Touches nothing. */
export function templateCommand(end: (code: ExitCode) => void): Command {
  const command = new Command('template').addHelpText(
    'after',
    '\nExamples:\n  payrun template check semicolon.json\n  payrun template list',
  );
  command
    .command('check')
    .description('show everything that is wrong with a template, or what it says')
    .argument('<file>', 'the template, a JSON file')
    .option('--json', 'print what was found as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun template check semicolon.json')
    .action(async (file: string, raw: unknown) => end(await checkTemplate(file, parseOptions(schema, raw))));
  command
    .command('list')
    .description('list the templates of a folder')
    .argument('[folder]', 'the folder (default: the samples that come with payrun)')
    .option('--json', 'print them as JSON', false)
    .addHelpText('after', '\nExamples:\n  payrun template list\n  payrun template list ./templates')
    .action(async (folder: string | undefined, raw: unknown) =>
      end(await listTemplates(folder ?? (await samplesFolder()), parseOptions(schema, raw))),
    );
  return command;
}

async function checkTemplate(file: string, { json }: z.infer<typeof schema>): Promise<ExitCode> {
  const parsed = parseTemplate(await readTemplateText(file));
  const problems = Array.isArray(parsed) ? parsed : [];
  if (json) printJson({ file, valid: problems.length === 0, problems });
  else print(safeText(Array.isArray(parsed) ? describeProblems(file, parsed) : describeTemplate(parsed)));
  return problems.length === 0 ? EXIT.ok : EXIT.usage;
}

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

async function listTemplates(folder: string, { json }: z.infer<typeof schema>): Promise<ExitCode> {
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
  return EXIT.ok;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new Refusal(`The folder ${folder} cannot be read (${codeOf(cause) ?? 'reason unknown'}).`, {
      exitCode: EXIT.usage,
      remedy: 'Name a folder with templates.',
      cause,
    });
  }
}
