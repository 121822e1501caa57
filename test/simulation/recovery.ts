import type { WriteOffAnswer } from '../../src/ledger/season/recovery.ts';
import { makeStub, openSeason, pauseForAll, proposalOf } from './head.ts';
import { hasAllRows, runOfContent } from './runs.ts';
import type { RunEntry, Store } from './store.ts';

/* What the scripts do when a part of the ledger is lost for good, in memory. */

/** Begins to write off a data directory, by two people; only once nobody else is missing. */
export function writeOff(
  store: Store,
  { dir, actor, doubtsCancelled = true }: { dir: string; actor: string; doubtsCancelled?: boolean },
): WriteOffAnswer {
  const { server, dirs } = store;
  const isOpen = store.season === server;
  const compared = dirs.get(dir);
  const { by, agreed } = proposalOf(store, dir);
  const answer = (result: WriteOffAnswer['result'], missing: readonly string[] = []): WriteOffAnswer => {
    return { result, proposedBy: result === 'proposed' ? actor : by, missing };
  };
  if (compared === undefined) return { ...answer('unknown'), proposedBy: '' };
  if (compared === server && !isOpen) return { ...answer('compared'), proposedBy: '' };
  if (by === actor && agreed === '') return answer('same-person');
  store.writeOffs.set(dir, { server, by: by === '' ? actor : by, agreed: by === '' || agreed !== '' ? agreed : actor });
  if (by === '') return answer('proposed');
  if (isOpen && compared !== '-') {
    forgetDir(store, dir, 'retired');
    return answer('retired');
  }
  const missing = [...dirs].filter(([id, of]) => isMissing(store, of) && proposalOf(store, id).agreed === '');
  if (missing.length > 0)
    return answer(
      'agreed',
      missing.map(([id]) => id),
    );
  store.halt ??= `the data directory ${dir} was written off`;
  store.releaseBy = null;
  for (const run of store.runs.values()) {
    if (run.state === 'paying') pauseForAll(run, 'a data directory was written off');
    doubtUnrecorded(run, doubtsCancelled);
  }
  return answer('begun');
}

/** Of rows that are not here yet nobody knows whether they were sent. */
function doubtUnrecorded(run: RunEntry, doubtsCancelled: boolean): void {
  const isPartial = doubtsCancelled && run.state === 'cancelled' && !hasAllRows(run);
  if (run.state === 'recording' || isPartial) run.fields['doubted'] = '1';
}

/** Takes what was agreed on out of the season, and opens it when nobody else is missing; gives those that are. */
export function forgetDirs(store: Store, doubtsCancelled = true): string[] {
  const { server, dirs, runs } = store;
  for (const [dir, of] of dirs) {
    if (of === server || proposalOf(store, dir).agreed === '') continue;
    forgetDir(store, dir, 'lost');
    for (const run of runs.values()) {
      run.fields['atLoss'] = '1';
      doubtUnrecorded(run, doubtsCancelled);
    }
  }
  const missing = [...dirs].filter(([, of]) => isMissing(store, of)).map(([dir]) => dir);
  if (missing.length === 0 && dirs.size > 0) openSeason(store);
  return missing;
}

/** In an open season a directory without a comparison has armed nothing yet, unless the season forgot it. */
function isMissing({ season, server }: Store, compared: string): boolean {
  return compared !== server && !(season === server && compared === '');
}

function forgetDir(store: Store, dir: string, how: 'lost' | 'retired'): void {
  store.dirs.delete(dir);
  store.peers.delete(dir);
  store.writeOffs.delete(dir);
  store.writtenOff.set(dir, how);
  store.late.delete(dir);
}

/** Makes a run known again of which only the audit log knows. */
export function restoreRun(
  store: Store,
  run: { id: string; fileSha256: string; contentHash: string },
  now: number,
): void {
  const known = store.runs.has(run.id) ? run.id : runOfContent(store, run.fileSha256, run.contentHash);
  if (run.fileSha256 !== '' && known === undefined) makeStub(store, run, now);
}
