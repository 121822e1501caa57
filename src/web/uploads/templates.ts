import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from '../../files.ts';
import { parseTemplate, readTemplateText } from '../../intake/template/file.ts';
import { samplesFolder } from '../../intake/template/shipped.ts';
import { Problem } from '../problem.ts';

/** A template that people may choose. */
export interface TemplateChoice {
  /** The name of its file, by which it is chosen. */
  readonly file: string;
  readonly name: string;
  readonly description: string;
}

/** The valid templates of the folder, and those that come with payrun where it has none of their name. */
export async function listTemplates(folder: string | null): Promise<TemplateChoice[]> {
  const choices = await Promise.all(
    [...(await pathsIn(folder))].map(async ([file, path]) => {
      const template = parseTemplate(await readTemplateText(path));
      return Array.isArray(template)
        ? []
        : [{ file, name: template.name ?? file, description: template.description ?? '' }];
    }),
  );
  return choices.flat().toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** The text of a template that is listed. Throws a Problem (422) for a name that is none of their files. */
export async function templateText(folder: string | null, file: string): Promise<string> {
  const path = (await pathsIn(folder)).get(file);
  if (path !== undefined) return await readTemplateText(path);
  const words = 'There is no such template.';
  throw new Problem(422, words, 'Choose one of those that the upload page offers.', { template: words });
}

async function pathsIn(folder: string | null): Promise<ReadonlyMap<string, string>> {
  const folders = [await samplesFolder(), ...(folder === null ? [] : [folder])];
  const paths = new Map<string, string>();
  for (const one of folders) {
    const names = (await ifThere(readdir(one))) ?? [];
    for (const name of names.filter(isTemplate)) paths.set(name, join(one, name));
  }
  return paths;
}

function isTemplate(name: string): boolean {
  return name.endsWith('.json') && name !== 'template.schema.json';
}
