import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readTemplate } from '../../intake/template/file.ts';
import type { Template } from '../../intake/template/template.ts';
import { Refusal } from '../../refusal.ts';

const NAME = /^[a-z0-9-]+$/;

/** The template of `--template`: a file, or the name of one that comes with payrun. Throws as `readTemplate` does. */
export async function namedTemplate(given: string): Promise<Template> {
  if (!NAME.test(given) || existsSync(given)) return await readTemplate(given);
  const shipped = join(await samplesFolder(), `${given}.json`);
  if (existsSync(shipped)) return await readTemplate(shipped);
  throw new Refusal(
    `There is no template ${given}.`,
    `Name a file, or one that comes with payrun: ${(await shippedNames()).join(', ')}.`,
  );
}

async function shippedNames(): Promise<string[]> {
  const files = await readdir(await samplesFolder());
  return files.flatMap((file) => /^([a-z0-9-]+)\.json$/.exec(file)?.[1] ?? []).toSorted();
}

/** The sources lie three folders below the package's own, what is built from them four. */
export async function samplesFolder(): Promise<string> {
  for (const up of ['../../..', '../../../..']) {
    const folder = resolve(import.meta.dirname, up, 'samples/templates');
    if (
      await readdir(folder)
        .then(() => true)
        .catch(() => false)
    )
      return folder;
  }
  throw new Refusal('The samples that come with payrun are not there.', 'Name the folder that holds your templates.');
}
