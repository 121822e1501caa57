import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RESULTS_VARIABLE, readResults, tableOf } from './results.ts';

/** Gives the test processes a folder for their results, unless they have one. */
export function setup(): void {
  process.env[RESULTS_VARIABLE] ??= mkdtempSync(join(tmpdir(), 'payrun-faults-'));
}

/** Prints the table when all rows have been tried. */
export function teardown(): void {
  const folder = process.env[RESULTS_VARIABLE];
  if (folder !== undefined) console.log(`\n${tableOf(readResults(folder))}\n`);
}
