import type { LedgerState } from '../ledger/season/ledger-state.ts';

interface SeasonDeps {
  readonly state: Pick<LedgerState, 'season'>;
}

/** Data directories besides one's own that have yet to compare their intent logs since Redis was restarted: nothing is sent until then. */
export async function waitedFor({ state }: SeasonDeps, ownId: string): Promise<readonly string[]> {
  const { open, name, missing } = await state.season();
  return open || name === '' ? [] : missing.filter((id) => id !== ownId);
}

/** These data directories, within a sentence. */
export function dirsText(ids: readonly string[]): string {
  return `the data ${ids.length === 1 ? 'directory' : 'directories'} ${ids.join(', ')}`;
}

/** Why nothing is sent; `sinceText` tells from when on. */
export function waitedForWords(ids: readonly string[], sinceText = ''): string {
  return `Nothing is sent${sinceText}: Redis was restarted, and nobody has compared the intent logs of ${dirsText(ids)}.`;
}

/** What to do about them; `writeOff` is the command for an `ID`, for whoever has commands. */
export function waitedForRemedy(ids: readonly string[], writeOff?: string): string {
  const [where, which] = ids.length === 1 ? ['it', 'it does'] : ['each', 'one does'];
  const command =
    writeOff === undefined ? '' : `: ${ids.length === 1 ? writeOff.replace('ID', ids[0] ?? '') : writeOff}`;
  return `Start a worker on ${where}. If ${which} not come back, two people write it off${command}.`;
}
