import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from '../../files.ts';
import { parseTemplate, readTemplateText } from '../../intake/template/file.ts';
import { Problem } from '../problem.ts';

/** A template that people may choose. */
export interface TemplateChoice {
  /** The name of its file, by which it is chosen. */
  readonly file: string;
  readonly name: string;
  readonly description: string;
}

/** The valid templates of the folder. */
export async function listTemplates(folder: string | null): Promise<TemplateChoice[]> {
  const choices = await Promise.all(
    (await namesIn(folder)).map(async (file) => {
      const template = parseTemplate(await readTemplateText(join(folder ?? '', file)));
      return Array.isArray(template)
        ? []
        : [{ file, name: template.name ?? file, description: template.description ?? '' }];
    }),
  );
  return choices.flat().toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** The text of a template of the folder. Throws a Problem (422) for a name that is none of its files. */
export async function templateText(folder: string | null, file: string): Promise<string> {
  // Only a name that was listed is ever part of a path.
  if ((await namesIn(folder)).includes(file)) return await readTemplateText(join(folder ?? '', file));
  const words = 'There is no such template.';
  throw new Problem(422, words, 'Choose one of those that the upload page offers.', { template: words });
}

async function namesIn(folder: string | null): Promise<string[]> {
  if (folder === null) return [];
  const names = (await ifThere(readdir(folder))) ?? [];
  return names.filter((name) => name.endsWith('.json') && name !== 'template.schema.json');
}
