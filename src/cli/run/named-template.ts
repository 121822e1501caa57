import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readTemplate } from '../../intake/template/file.ts';
import { samplesFolder } from '../../intake/template/shipped.ts';
import type { Template } from '../../intake/template/template.ts';
import { Refusal } from '../../refusal.ts';

const NAME = /^[a-z0-9-]+$/;

/** The template of `--template`. Throws as `readTemplate` does. */
export async function namedTemplate(given: string): Promise<Template> {
  return await readTemplate(await templateFile(given));
}

/** The file of a template: itself, or that of one that comes with payrun and has the name. */
export async function templateFile(given: string): Promise<string> {
  if (!NAME.test(given) || existsSync(given)) return given;
  const shipped = join(await samplesFolder(), `${given}.json`);
  if (existsSync(shipped)) return shipped;
  throw new Refusal(
    `There is no template ${given}.`,
    `Name a file, or one that comes with payrun: ${(await shippedNames()).join(', ')}.`,
  );
}

async function shippedNames(): Promise<string[]> {
  const files = await readdir(await samplesFolder());
  return files.flatMap((file) => /^([a-z0-9-]+)\.json$/.exec(file)?.[1] ?? []).toSorted();
}
