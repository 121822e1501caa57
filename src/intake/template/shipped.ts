import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Refusal } from '../../refusal.ts';

/**
 * The folder of the templates that come with payrun. The sources lie three folders below the package's own, what is built from
 * them four.
 */
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
