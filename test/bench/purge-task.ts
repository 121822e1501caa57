import { EXIT } from '../../src/cli/exit-code.ts';
import { withLedger } from '../../src/cli/open.ts';
import { purgeRuns } from '../../src/runs/after/purge.ts';

/** Purges all that is final, however short a time ago it ended; sends how long that took. */
export interface PurgeTaken {
  readonly ms: number;
  /** What became of each run. */
  readonly results: readonly string[];
}

let taken: PurgeTaken = { ms: 0, results: [] };
await withLedger(async (app) => {
  const started = performance.now();
  const answers = await purgeRuns(app, { actor: 'bench', olderThanMs: 0 });
  taken = { ms: performance.now() - started, results: answers.map(({ result }) => result) };
  return EXIT.ok;
});
process.send?.(taken, () => process.exit(0));
