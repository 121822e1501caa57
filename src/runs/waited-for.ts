import { escapeUnseen } from '../intake/problems/shown-value.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';

interface SeasonDeps {
  readonly state: Pick<LedgerState, 'season' | 'dirPlaces'>;
}

/** A data directory, and the folder and host where it was seen last. */
export interface WaitedDir {
  readonly id: string;
  readonly place: string | null;
}

/** Data directories besides one's own that have yet to compare their intent logs since Redis was restarted: nothing is sent until then. */
export async function waitedFor({ state }: SeasonDeps, ownId: string): Promise<readonly WaitedDir[]> {
  const { open, name, missing } = await state.season();
  const ids = open || name === '' ? [] : missing.filter((id) => id !== ownId);
  return await placesOf(state, ids);
}

/** Where data directories were seen last. */
export async function placesOf(state: Pick<LedgerState, 'dirPlaces'>, ids: readonly string[]): Promise<WaitedDir[]> {
  if (ids.length === 0) return [];
  const places = await state.dirPlaces(ids);
  return ids.map((id, index) => ({ id, place: places[index] ?? null }));
}

/** These data directories, within a sentence. */
export function dirsText(dirs: readonly WaitedDir[]): string {
  const names = dirs.map(({ id, place }) => (place === null ? id : `${id} (${escapeUnseen(place)})`));
  return `the data ${dirs.length === 1 ? 'directory' : 'directories'} ${names.join(', ')}`;
}

/** Why nothing is sent; `sinceText` tells from when on. */
export function waitedForWords(dirs: readonly WaitedDir[], sinceText = ''): string {
  const sent = sinceText === '' ? 'is sent' : `has been sent${sinceText}`;
  return `Nothing ${sent}: Redis was restarted, and nobody has compared the intent logs of ${dirsText(dirs)}.`;
}

/** What to do about them; `writeOff` is the command for an `ID`, for whoever has commands. */
export function waitedForRemedy(dirs: readonly WaitedDir[], writeOff?: string): string {
  const [where, which] = dirs.length === 1 ? ['it', 'it does'] : ['each', 'one does'];
  const command =
    writeOff === undefined ? '' : `: ${dirs.length === 1 ? writeOff.replace('ID', dirs[0]?.id ?? '') : writeOff}`;
  return `Start a worker on ${where}. If ${which} not come back, two people write it off${command}.`;
}
