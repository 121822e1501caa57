import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../payout.ts';

/** A report is one file of each of the first two, and its signature where there is a key. */
const REPORT_ENDINGS = ['csv', 'json', 'sig'] as const;

/** The files of the run's newest report that lie in a folder, its signature last. */
export async function reportPaths(folder: string, run: Run): Promise<string[]> {
  if (run.reportVersion === 0) return [];
  const paths = REPORT_ENDINGS.map((ending) => join(folder, `${run.id}.v${run.reportVersion}.${ending}`));
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => found[index]);
}
