import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ifThere, writeAtomically } from '../../files.ts';
import type { Log } from '../../log.ts';

const schema = z.object({ instance: z.string(), people: z.int(), blocked: z.int() });

/** A list of which each change has a higher version, under its seal. */
type VersionedList = 'people' | 'blocked';

/** The highest versions that were seen here: below them a list is a former one that somebody put back, with its true seal. */
export interface SeenVersions {
  highest(list: VersionedList): number;
  saw(list: VersionedList, version: number): Promise<void>;
}

/**
 * Remembers them in the data directory too, for the processes that start later. A disk that takes nothing keeps nobody out: then
 * only this process knows. Without a directory nothing is written down.
 */
export async function openSeenVersions(
  instance: string,
  { dataDir, log }: { readonly dataDir: string; readonly log: Pick<Log, 'warn'> },
): Promise<SeenVersions> {
  const path = join(dataDir, 'seen.json');
  const read = async () => {
    try {
      const text = await ifThere(readFile(path, 'utf8'));
      const noted = text === undefined ? undefined : schema.parse(JSON.parse(text));
      if (noted?.instance === instance) return noted;
    } catch (error) {
      log.warn('the versions of lists that were seen here cannot be read', { error });
    }
    return { people: 0, blocked: 0 };
  };
  const seen = seenVersions(await read());
  return {
    ...seen,
    async saw(list, version) {
      if (version <= seen.highest(list)) return;
      await seen.saw(list, version);
      try {
        const noted = await read();
        const highest = (one: VersionedList): number => Math.max(noted[one], seen.highest(one));
        const text = JSON.stringify({ instance, people: highest('people'), blocked: highest('blocked') });
        await writeAtomically(path, [`${text}\n`]);
      } catch (error) {
        log.warn('the version of a list could not be noted', { error });
      }
    },
  };
}

/** What one process has seen. */
export function seenVersions(noted: Readonly<Record<VersionedList, number>> = { people: 0, blocked: 0 }): SeenVersions {
  const versions = { people: noted.people, blocked: noted.blocked };
  return {
    highest: (list) => versions[list],
    async saw(list, version) {
      versions[list] = Math.max(versions[list], version);
    },
  };
}
