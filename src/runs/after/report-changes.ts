import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type Change, changesBetween } from '../../report/changes.ts';
import { openReportCopy } from './report-copy.ts';

/**
 * What turned a version of a run's report into its newest one, from the files in a folder, each checked by the SHA-256 that
 * the ledger noted. Throws a Refusal for a version that was never written, is not there, or was altered.
 */
export async function reportChanges(
  folder: string,
  run: Pick<Run, 'id' | 'reportHashes'>,
  since: number,
): Promise<{ readonly version: number; readonly changes: AsyncGenerator<Change, void> }> {
  const version = run.reportHashes.at(-1)?.version ?? 0;
  const older = await openVersion(folder, run, since);
  try {
    const newer = await openVersion(folder, run, version);
    return { version, changes: changesOf(older, newer) };
  } catch (error) {
    older.destroy();
    throw error;
  }
}

async function openVersion(folder: string, run: Pick<Run, 'id' | 'reportHashes'>, version: number): Promise<Readable> {
  const copy = await openReportCopy(folder, run, { version, ending: 'json' });
  if (copy.kind === 'found') return copy.content;
  const why = {
    'never-written': 'was never written',
    elsewhere: 'is not there',
    altered: 'is not the one that was written',
    unsigned: 'has no signature',
  };
  throw new Refusal(
    `The report ${run.id}.v${version}.json ${why[copy.kind]} (${folder}).`,
    'Name a version that was written, on the host that wrote it.',
  );
}

/** Closes both once they are compared, or whoever reads the changes has enough of them. */
async function* changesOf(older: Readable, newer: Readable): AsyncGenerator<Change, void> {
  try {
    yield* changesBetween(linesOf(older), linesOf(newer));
  } finally {
    older.destroy();
    newer.destroy();
  }
}

/** The interface is made when it is read: lines that come before are lost. */
async function* linesOf(content: Readable): AsyncGenerator<string, void> {
  yield* createInterface({ input: content, crlfDelay: Number.POSITIVE_INFINITY });
}
